/* The BPF programs of sampler/bpf/off_cpu.bpf.c, loaded, and the ring that their records come by.
 */
#ifndef SPROF_SAMPLER_OFF_CPU_PROGRAMS_H
#define SPROF_SAMPLER_OFF_CPU_PROGRAMS_H

#include "base/base.h"
#include "sampler/bpf/off_cpu.h"

#include <sys/types.h>

struct off_cpu_bpf;

struct off_cpu_programs {
    struct off_cpu_bpf *bpf; /* NULL: closed */
    uint64_t *processes;     /* the kernel's own memory: a bit for each process to take in */
    uint64_t *read;          /* shared with the kernel: up to where records were read, */
    const uint8_t *written;  /* … and the page with up to where they are, before the records */
    uint64_t position;       /* behind the record that was read last */
    size_t ring_bytes;
    int probe_fd; /* of the kprobe that older kernels need; -1: none */
};

/* What to measure. */
struct off_cpu_wanted {
    pid_t only_tid;    /* of the processes this thread alone; 0: all, and what they start */
    pid_t command_pid; /* a process that counts from its execve on; 0: none */
    bool all;          /* every thread that is not the kernel's */
    const pid_t *pids; /* processes that count as they are */
    size_t pid_count;
    size_t ring_bytes; /* a power of two */
    bool only_gaps;    /* each wait is a struct off_cpu_gap, whatever the settings say */
};

/* Loads the programs and takes the processes in; nothing is measured before
 * off_cpu_programs_settings says so. Returns 0 or a negative errno: -ENOSYS in a build without BPF,
 * -ENOENT in another pid namespace than the first, -EPERM where it is not permitted. */
int off_cpu_programs_open(struct off_cpu_programs *programs, const struct off_cpu_wanted *wanted);
void off_cpu_programs_close(struct off_cpu_programs *programs);

/* Shared with the programs: sprof writes the settings, the programs write the counts. */
struct off_cpu_settings *off_cpu_programs_settings(const struct off_cpu_programs *programs);
const struct off_cpu_counts *off_cpu_programs_counts(const struct off_cpu_programs *programs);

/* The next record of the ring: valid until the next call; NULL: none. */
const struct off_cpu_record *off_cpu_programs_next(struct off_cpu_programs *programs);

/* The same where only gaps are written. */
const struct off_cpu_gap *off_cpu_programs_next_gap(struct off_cpu_programs *programs);

/* Records of what threads without a CPU have waited so far, one behind the other: `take` is called
 * for each until it returns non-zero, which is returned. Else returns 0, SPROF_ENOMEM or SPROF_EIO.
 */
int off_cpu_programs_end_waits(const struct off_cpu_programs *programs,
                               int (*take)(void *context, const struct off_cpu_record *record),
                               void *context);

/* Whether a record of so many bytes is whole. */
bool off_cpu_record_is_whole(const struct off_cpu_record *record, size_t bytes);

#endif
