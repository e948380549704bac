/* Looks at the threads of targets that have no CPU, by the BPF programs of
 * sampler/bpf/waiting.bpf.c, loaded. */
#ifndef SPROF_SAMPLER_WAITING_LOOKS_H
#define SPROF_SAMPLER_WAITING_LOOKS_H

#include "base/base.h"
#include "sampler/bpf/waiting.h"

#include <sys/types.h>

struct waiting_bpf;

struct waiting_looks {
    struct waiting_bpf *programs; /* NULL: closed */
    uint64_t *processes;          /* the kernel's own memory: a bit for each process id */
};

/* Records as the kernel has written them, one behind the other. */
struct waiting_records {
    SPROF_VEC(uint64_t) words;
};

/* Loads the programs. only_tid: of the processes, look at this thread alone; 0: at all. Returns 0
 * or a negative errno: -ENOSYS in a build without BPF, -ENOENT in another pid namespace than the
 * first, -EPERM where it is not permitted. */
int waiting_looks_open(struct waiting_looks *looks, pid_t only_tid);
void waiting_looks_close(struct waiting_looks *looks);

/* This process, and what it starts from now on, is looked at. */
void waiting_looks_add(const struct waiting_looks *looks, pid_t pid);

/* Looks once, and adds the records. Takes some 9 µs for each of them, and 0.5 µs for each
 * other thread of the targets. Returns 0, SPROF_ENOMEM, or SPROF_EIO. */
int waiting_looks_look(const struct waiting_looks *looks, const struct waiting_look *look,
                       struct waiting_records *records, struct waiting_seen *seen);

#endif
