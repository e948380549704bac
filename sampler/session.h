/* The sampler from inside. */
#ifndef SPROF_SAMPLER_SESSION_H
#define SPROF_SAMPLER_SESSION_H

#include "sampler/counters.h"
#include "sampler/filter_bpf.h"
#include "sampler/merge.h"
#include "sampler/plan.h"
#include "sampler/rest.h"
#include "sampler/rest_bpf.h"
#include "sampler/sampler.h"
#include "sampler/stack_ends.h"
#include "sampler/targets.h"
#include "target/target.h"

struct sampler {
    struct sampler_facts facts;
    struct plan plan;
    const struct sprof_log *log; /* NULL once sampler_open has returned */

    struct target *target;
    struct targets targets;
    struct counters cpu_time;

    struct sprof_id_list cpus;
    size_t cpu_rings; /* the first rings of `merge`: one for each of `cpus`, in their order */
    struct sprof_id_list events; /* descriptors of sampling events */
    struct sprof_id_list
        trackers;            /* descriptors of further events that report mappings and forks */
    struct sprof_map owners; /* identifier of an event opened on a thread → tid */
    struct sprof_map owned;  /* tid of a thread with events of its own → 1 */
    struct sprof_map opened; /* tid of a thread taken in or born with its parent's events → when */
    struct sprof_map counted; /* tid of a thread with counters, its own or its parent's → when */
    struct sprof_map
        uncounted;      /* tid of a thread that could get none → CPU time before the start */
    bool counters_full; /* no more of them: the kernel refused one */
    int spare_fds[2];   /* held until then: for reading /proc when no others are left */
    struct filter_bpf filter;

    struct merge merge;
    struct rests rests;
    struct rest_bpf rest_bpf;
    struct stack_ends stack_ends;
    struct target_snapshot initial, final;
    bool started, stopped, final_made;
    uint64_t start_ns;   /* samples before it do not count */
    uint64_t seen_ns;    /* when the rings were looked at last */
    uint64_t horizon_ns; /* records up to it are surely in order */
    uint64_t last_ns;    /* time of the last record handed out */
    uint64_t lost_told;  /* how many the kernel's LOST records speak of */
    struct model_record record;
    struct model_record cpu_time_record; /* follows the EXIT just handed out, if has_cpu_time */
    bool has_cpu_time;
    void *buffer; /* for a record that wraps, or is not aligned */

    int interrupt_fd;
    struct pollfd *polls;
    size_t poll_capacity;
    bool busy;              /* the last look found something new */
    bool deaf;              /* the rings cannot be listened to any more */
    uint64_t nap_ns;        /* how long to let records gather while the targets are busy */
    uint64_t deep_until_ns; /* until then stacks deeper than their slices are expected: what follows
                               must be copied at once */

    struct sampler_counters counts;
};

/* open.c: events and rings in the best scope there is, for the targets already known. */
int session_open_events(struct sampler *sampler, const struct sampler_options *options,
                        struct sprof_error *error);

/* attach.c: takes in all threads of the attached processes, whatever they start meanwhile. */
int session_attach_tasks(struct sampler *sampler, struct sprof_error *error);
int session_attach_filter(struct sampler *sampler, struct sprof_error *error);

/* Opens the counters of the command or of all threads attached to. Missing ones are only reported.
 */
int session_open_counters(struct sampler *sampler, struct sprof_error *error);

/* deep.c: which stacks the kernel is to capture beyond their slices; maps what it captures; copies
 * what follows the slices of the records not looked at yet; gives the record just decoded its copy;
 * notes that it was a stack deeper than its slice; a thread has a new stack. */
struct filter_bpf_tails session_tails(const struct sampler *sampler);
void session_open_rests(struct sampler *sampler);
void session_copy_rests(struct sampler *sampler);
void session_attach_rest(struct sampler *sampler, size_t ring, uint64_t offset);
void session_expect_deep(struct sampler *sampler);
void session_forget_end(struct sampler *sampler, pid_t tid);

/* wait.c: how long records may gather before a ring fills or stacks grow stale. */
uint64_t session_nap_ns(const struct sampler *sampler);

/* final.c: what is known only when all rings are empty: losses at the very end, and the CPU time of
 * the threads still alive. Returns 0 or SPROF_ENOMEM. */
int session_make_final(struct sampler *sampler);

#endif
