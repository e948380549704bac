/* A process that an agent called from: its memory, what was read of it, and what is known of its
 * mappings. Everything in that memory is untrusted. */
#ifndef SPROF_SAMPLER_AGENT_PROCESS_H
#define SPROF_SAMPLER_AGENT_PROCESS_H

#include "agent/agent.h"
#include "base/base.h"
#include "model/model.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <sys/types.h>

/* A thread's ring, as far as it was looked at. */
struct sigprof_ring {
    uint64_t tail, head; /* read up to; written up to when looked last */
    uint64_t published;  /* the tail that was given to the agent */
    uint64_t last_ns;    /* time of its last record */
    pid_t tid;           /* of the thread that has it now; 0: none */
    pid_t gone_tid;      /* … which ended without a word, as was reported; 0: it did not */
    uint64_t missing_ns; /* since then it is not among the process's threads; 0: it is */
    bool queued;         /* it stands among those with records */
};

/* A thread that works without the agent: clone was called past it. */
struct sigprof_stranger {
    pid_t tid;
    uint64_t seen_ns;
    bool asked; /* the agent to sample it */
};

struct sigprof_process {
    pid_t pid, inner_pid; /* for the recorder; as the process sees itself */
    dev_t device;         /* of its program's file; inode 0: unknown */
    ino_t inode;
    uint64_t stack; /* where its program's stack began; 0: not known */
    int pidfd;
    struct agent_shared *shared;
    unsigned ring_shift;
    uint64_t begin_ns;    /* its hello: nothing of it is older */
    uint64_t cpu_base_ns; /* had been used when its time began to count */
    uint64_t cpu_ns;      /* used since then, when it was looked at last, without the helper's */
    uint64_t helper_ns;   /* … and what the helpers of images that execve replaced have used */
    bool has_cpu;         /* counts; an image that execve replaced does no more */
    bool ended;           /* heads do not move any more */
    bool left;            /* … and all that its end means was said */
    bool unmaps;          /* it unmapped code before: its mappings need looking after */
    uint64_t maps_changes, looked_ns;
    struct sprof_map mappings; /* hash of an executable mapping → 1: it was reported */
    struct sprof_map tids;     /* threads that records spoke of → 1 */
    SPROF_VEC(struct sigprof_stranger) strangers;
    uint64_t named_ns, scanned_ns,
        scan_again_ns;   /* threads: reported the names; looked for strangers */
    size_t thread_count; /* there were at the last scan */
    struct sigprof_ring *rings;
    size_t ring_count;
    uint64_t lost, blocked_ns, left_out[AGENT_LEFT_OUT_REASONS],
        refused[AGENT_REFUSALS]; /* reported so far … */
    uint64_t lost_until_ns;      /* … up to this time */
    uint32_t standing;
};

/* Makes the memory of a process, of which *memory_fd is the descriptor to give away (and to close).
 * Returns NULL where there is none. */
struct sigprof_process *sigprof_process_new(pid_t pid, const struct agent_hello *hello,
                                            unsigned ring_shift, int *memory_fd);
void sigprof_process_free(struct sigprof_process *process);

/* Looks how far each ring was written. Returns 0 or SPROF_ENOMEM. */
int sigprof_process_refresh(struct sigprof_process *process);

/* The time of a ring's first record that was not read, never before the one before it; ring->head
 * must not be its tail. */
uint64_t sigprof_process_time_ns(struct sigprof_process *process, size_t ring);

/* Copies the first record of a ring that was not read into `buffer` (65 536 bytes, aligned to
 * eight) and goes on behind it. Returns its header there, or NULL where the bytes cannot be a
 * record: then all that is in the ring is passed over. */
const struct perf_event_header *sigprof_process_take(struct sigprof_process *process, size_t ring,
                                                     void *buffer);

/* Gives read room back. */
void sigprof_process_publish(struct sigprof_process *process);

/* Whether all that was written has been read. */
bool sigprof_process_drained(const struct sigprof_process *process);

/* CPU time the process has used by its clock since it began; 0 where it is gone. */
uint64_t sigprof_process_clock_ns(pid_t pid);

/* CPU time of the agent's own thread, and of those before execve, as the agent says. */
uint64_t sigprof_process_helper_ns(const struct sigprof_process *process);

/* A thread's number for the recorder; in another namespace only the main thread's is known. */
pid_t sigprof_process_tid(const struct sigprof_process *process, pid_t said);

/* Bytes of rings that were ever taken. */
size_t sigprof_process_ring_bytes(const struct sigprof_process *process);

#endif
