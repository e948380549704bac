/* What a thread waits for: kinds of waits, each of which is an event of its own. */
#ifndef SPROF_SAMPLER_OFF_CPU_KINDS_H
#define SPROF_SAMPLER_OFF_CPU_KINDS_H

#include "sampler/bpf/off_cpu.h"
#include "sampler/sampler.h"

#include <stddef.h>

/* How many there are. */
size_t off_cpu_kind_count(void);

/* The word of a kind, such as "futex"; static. */
const char *off_cpu_kind_word(size_t kind);

/* Of a thread that is ready and has no CPU. */
enum { OFF_CPU_KIND_READY = 0 };

/* … and of one that waits: by its system call, or how else it entered the kernel; where it waits
 * for a disk, or is stopped, that. Both as records have them. */
size_t off_cpu_kind_of(int entry, unsigned is);

/* Adds an event for each kind, in their order. What waits for a word of memory has these fields.
 * Returns 0 or SPROF_ENOMEM. */
int off_cpu_kind_events(struct sampler_event_list *events, const struct model_field *of_futex,
                        size_t of_futex_count);

/* That of a wait for a word of memory: of locks, conditions and joins. */
size_t off_cpu_kind_futex(void);

/* The number behind all of them: of threads that end a wait of another. */
size_t off_cpu_kind_wakeup(void);

/* That of a wait of which nothing is known. */
size_t off_cpu_kind_other(void);

#endif
