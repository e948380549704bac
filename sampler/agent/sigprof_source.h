/* The source of samples that agents inside the targets write. */
#ifndef SPROF_SAMPLER_AGENT_SIGPROF_SOURCE_H
#define SPROF_SAMPLER_AGENT_SIGPROF_SOURCE_H

#include "sampler/agent/events.h"
#include "sampler/agent/process.h"
#include "sampler/agent/rendezvous.h"
#include "sampler/agent/shared_tails.h"
#include "sampler/decode.h"
#include "sampler/source.h"
#include "sampler/stack_tail.h"

/* A ring with records, by the time of its first. */
struct sigprof_entry {
    uint64_t time_ns;
    struct sigprof_process *process;
    size_t ring;
};

/* A time in which no samples count. */
struct sigprof_pause {
    uint64_t from_ns, to_ns; /* UINT64_MAX: it goes on */
};

struct sigprof_source {
    struct source base;
    struct target *target;
    struct sampler_layouts layouts;
    enum sampler_clock clock;
    bool fine; /* helpers in the processes, see AGENT_CLOCK_FINE */
    uint64_t frequency_hz, period_ns, tick_ns;
    size_t slice_bytes, slice_wanted, ring_budget_bytes;
    struct sigprof_rendezvous rendezvous;
    int epoll_fd; /* the listener and the processes' descriptors */
    SPROF_VEC(struct sigprof_process *) processes;
    struct sprof_map pids; /* of all processes that had an agent so far */
    struct sigprof_events events;
    SPROF_VEC(struct sigprof_entry) heap; /* the earliest first */
    void *buffer;                         /* for one record */
    struct sigprof_tails shared_tails;
    struct sampler_stack_tails tails; /* of which the shared ones are the provider */
    struct model_record record;
    bool started, stopped, busy, begins_paused, paused;
    SPROF_VEC(struct sigprof_pause) pauses;
    uint64_t paused_at_cpu_ns; /* CPU time that was used when the pause began */
    uint64_t paused_cpu_ns;    /* … and in all pauses that are over */
    uint64_t command_cpu_ns;   /* the command had used when it was let go */
    uint64_t dead_cpu_ns;      /* processes that have ended have used */
    uint64_t horizon_ns;       /* up to it order is sure */
    uint64_t last_ns;          /* time of the record taken last */
    uint64_t seen_ns;
    struct sampler_counters counts;
};

/* life.c: processes come and go. */
int sigprof_look_for_processes(struct sigprof_source *source, uint64_t now_ns);
int sigprof_end_all(struct sigprof_source *source, uint64_t now_ns);
void sigprof_drop_ended(struct sigprof_source *source);

/* account.c: CPU time of all processes so far; reads what one has used, as far as its clock and its
 * agent can be believed; adds up what its agent counted since the last time: samples without room,
 * threads without a timer, programs without an agent. The last returns 0 or SPROF_ENOMEM.
 * Before it: counts an agent that does not sample, by its reason. */
uint64_t sigprof_used_ns(struct sigprof_source *source);
void sigprof_look_at_clock(struct sigprof_process *process);
void sigprof_count_standing(struct sigprof_source *source, uint32_t standing);
int sigprof_tell_losses(struct sigprof_source *source, struct sigprof_process *process,
                        uint64_t now_ns);

/* threads.c: their names, and those that came or went past the agent. */
size_t sigprof_count_strangers(struct sigprof_process *process);
int sigprof_scan_threads(struct sigprof_source *source, uint64_t now_ns);

/* control.c. For how much CPU time one sample is due: the tick, where more was asked for; 0 where
 * samples are taken by time. */
uint64_t sigprof_due_ns(const struct sigprof_source *source);
int sigprof_most_hz(enum sampler_clock clock, bool fine);
void sigprof_control_process(const struct sigprof_source *source, struct sigprof_process *process);
bool sigprof_is_paused(const struct sigprof_source *source, struct model_record *sample);
int sigprof_set_paused(struct source *source, bool paused, struct sprof_error *error);
int sigprof_set_rate(struct source *source, uint64_t frequency_hz, struct sprof_error *error);
int sigprof_set_capture(struct source *source, enum sampler_capture capture,
                        struct sprof_error *error);
int sigprof_set_slice(struct source *source, size_t stack_bytes, struct sprof_error *error);

/* maps.c: what a process has mapped by now and was not reported, as records of `time_ns`. Returns 0
 * or SPROF_ENOMEM. */
int sigprof_maps_tell(struct sigprof_source *source, struct sigprof_process *process,
                      uint64_t time_ns, uint64_t now_ns);
int sigprof_maps_look(struct sigprof_source *source, struct sigprof_process *process,
                      uint64_t now_ns);

/* reader.c: rings in the order of time. */
int sigprof_look_at_rings(struct sigprof_source *source);
struct source_next sigprof_next_time(struct source *source);
int sigprof_take(struct source *source, struct model_record **record);

extern const struct source_kind sampler_sigprof_kind;

#endif
