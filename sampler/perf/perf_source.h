/* The source of perf events, from inside. */
#ifndef SPROF_SAMPLER_PERF_SOURCE_H
#define SPROF_SAMPLER_PERF_SOURCE_H

#include "sampler/merge.h"
#include "sampler/perf/clock_period.h"
#include "sampler/perf/counters.h"
#include "sampler/perf/early_copies.h"
#include "sampler/perf/event_config.h"
#include "sampler/perf/filter_bpf.h"
#include "sampler/perf/filter_loading.h"
#include "sampler/perf/hotplug.h"
#include "sampler/perf/machine.h"
#include "sampler/perf/members.h"
#include "sampler/perf/stack_tail_bpf.h"
#include "sampler/perf/switches.h"
#include "sampler/source.h"
#include "sampler/stack_mapping.h"
#include "sampler/stack_tail.h"
#include "sampler/stack_tail_copies.h"

extern const struct source_kind perf_source_kind;

/* The rings that events write to: open.c opens them, alone. */
struct perf_rings {
    struct sampler_merge merge;
    size_t of_cpus;           /* the first rings of `merge`: one for each CPU, in their order */
    size_t of_events;         /* the first of those that new sampling events write to, likewise */
    SPROF_VEC(size_t) larger; /* the first of each such set that was opened later */
    size_t budget_bytes;
    int result;               /* of opening them in the thread that loads programs; */
    struct sprof_error error; /* … why it failed */
};

/* When events of threads count that others came before or after. */
struct perf_generation {
    uint64_t from_ns, to_ns;
};

/* Events that were opened on threads: attach.c. */
struct perf_thread_events {
    struct sprof_map event_tid;                    /* identifier of an event → tid */
    struct sprof_map tids;                         /* perf_attach_key of a thread → 1 */
    SPROF_VEC(struct perf_generation) generations; /* none: they were never replaced */
    struct sprof_map event_generation;             /* identifier → its index there */
    struct sprof_map told; /* since then: tid → 1, its birth is reported; 2: its death */
    int layout;            /* of the newest */
};

/* Threads that are taken in while they run: attach.c. */
struct perf_taken_in {
    struct sprof_map tids; /* of one taken in, or born with its parent's events → when */
    struct sprof_map tids_with_counter; /* of one with counters, its own or its parent's → when */
    struct sprof_map cpu_before_start; /* of one that could get none → CPU time before the start */
    bool counters_full;                /* no more of them: the kernel refused one */
    int spare_fds[2]; /* held until then: for reading /proc when no others are left */
};

/* The BPF programs that filter and copy stacks, and how they arrive: open.c, filter_arrival.c. */
struct perf_programs {
    const char *missing_why; /* in a few words; NULL: a program filters, or none was wanted */
    bool wanted;
    bool early;                /* as the options have it */
    bool come;                 /* they are being loaded while the target runs */
    uint64_t waited_ns;        /* the opening thread for a CPU, when it began */
    uint64_t filtered_from_ns; /* samples from then on have passed the program; 0: all have, or none
                                  ever will */
    struct perf_filter_loading loading;
    struct perf_early_copies early_copies; /* until then */
    struct perf_filter_bpf filter;
};

/* What follows the slices of stacks, and where stacks end: stack_tail_capture.c. */
struct perf_stack_tails {
    struct stack_tail_copies copies;
    struct perf_stack_tail_bpf bpf;
    struct sampler_stack_tails found;
    struct stack_mapper *mapper; /* NULL where the kernel's program finds mappings */
    uint64_t deep_until_ns;      /* until then stacks deeper than their slices are expected: what
                                    follows must be copied at once */
};

/* Periods of clocks with a rate, changed at random: jitter.c. */
struct perf_jitter {
    bool is_on;
    SPROF_VEC(struct perf_clock) clocks; /* where events are on CPUs, for each of `events` */
    struct sprof_map event_index;        /* identifier of such an event → its index */
    uint64_t random, next_ns;
};

/* Pauses of the recording: control.c begins and ends them. */
struct perf_pauses {
    bool now;
    SPROF_VEC(struct perf_pause) items; /* of events that go on: their samples are dropped */
    size_t next;                        /* the first that samples yet to be read may lie in */
};

/* What an event on a CPU, and those before it there, have lost. */
struct perf_loss {
    uint64_t of_closed; /* by events that are closed */
    uint64_t told;      /* samples that were reported as lost */
};

/* What is lost: losses.c. */
struct perf_losses {
    uint64_t of_closed;                 /* records that events closed since had no room for */
    uint64_t told;                      /* how many the kernel's LOST records speak of */
    SPROF_VEC(struct perf_loss) events; /* for each of `events`, where they are on CPUs */
};

/* Up to when records were read: batch.c looks at the rings, record_reader.c reads. */
struct perf_progress {
    bool stopped;
    uint64_t start_ns;   /* samples before it do not count */
    uint64_t seen_ns;    /* when the rings were looked at last */
    uint64_t horizon_ns; /* records up to it are surely in order */
    uint64_t last_ns;    /* time of the last record handed out */
};

/* What the next wait depends on: batch.c. */
struct perf_batch {
    bool active;           /* the last look found something new */
    bool rings_unpollable; /* a ring says that it is ready all the time */
    uint64_t interval_ns;  /* how long to let records gather while the targets are busy */
};

/* Records that were made here, to be handed out before others are read. */
struct perf_made_records {
    SPROF_VEC(struct model_record) items;
    size_t next; /* the first that was not handed out */
};

static inline bool perf_made_records_wait(const struct perf_made_records *made)
{
    return made->next < made->items.count;
}

struct perf_source {
    struct source source;
    struct sampler_facts facts; /* its part of them */
    enum sampler_scope scope;
    struct perf_config config;
    struct sampler_layouts layouts;
    const struct sprof_log *log; /* NULL once it is open */

    struct target *target;
    struct perf_machine machine;
    struct perf_members members;
    struct perf_counters counters;
    struct perf_switches switches;

    struct sprof_id_list cpus;
    struct perf_rings rings;
    struct sprof_id_list events;    /* descriptors of sampling events; where they are on CPUs, for
                                       each of config.events one on each of `cpus` */
    struct sprof_map event_numbers; /* identifier of such an event → its index in config.events;
                                       of the first none is needed */
    struct sprof_id_list trackers;  /* descriptors of further events that report mappings and
                                       forks */
    struct perf_thread_events thread_events;
    struct perf_taken_in taken_in;
    struct perf_programs programs;
    struct perf_stack_tails tails;
    struct perf_jitter jitter;
    struct perf_pauses pauses;
    struct perf_losses losses;
    struct perf_hotplug hotplug;

    struct perf_progress progress;
    struct perf_batch batch;
    struct model_record record;
    uint64_t sample_event;              /* identifier of the event of the sample just taken */
    struct perf_made_records following; /* what follows `record`: the CPU time of a thread that
                                           ended, losses of further events */
    bool end_records_made;
    struct perf_made_records end_records; /* what follows the last of the rings */
    void *buffer;                         /* for a record that wraps, or is not aligned */

    struct sampler_counters counts;
};

/* open.c: events and rings in the best scope there is, for the targets already known. On whole CPUs
 * the sampling events and counters are opened by the second, which waits for the BPF programs, but
 * not those of a launched command, which may run before they are loaded. */
int perf_source_open_events(struct perf_source *source, const struct sampler_options *options,
                            struct sprof_error *error);
int perf_source_settle_events(struct perf_source *source, struct sprof_error *error);

/* filter_arrival.c: puts the programs on the events of a command that runs, waiting for them where
 * they are not loaded yet; gives them up where the command has ended before. Nothing where they do
 * not come, or have come. Returns 0 or SPROF_ENOMEM. */
int perf_filter_arrival_take(struct perf_source *source);
void perf_filter_arrival_give_up(struct perf_source *source);

/* Which of config.events the event at an index of `events` is, and which of `cpus` it is on: where
 * they are on CPUs. */
static inline size_t perf_source_event_of(const struct perf_source *source, size_t index)
{
    return index / source->cpus.count;
}
static inline size_t perf_source_cpu_of(const struct perf_source *source, size_t index)
{
    return index % source->cpus.count;
}

/* A sampling event was opened: it is the one at an index of config.events. Returns 0 or
 * SPROF_ENOMEM.
 */
static inline int perf_source_number_event(struct perf_source *source, int fd, size_t number)
{
    const struct model_field field = source->config.events.items[number].weight_field;
    const struct sampler_weight weight = {field.offset, field.bytes,
                                          field.kind == MODEL_FIELD_SIGNED};
    if (field.bytes && sampler_layouts_weigh(&source->layouts, perf_event_id(fd), weight))
        return SPROF_ENOMEM;
    return number ? sprof_map_put(&source->event_numbers, perf_event_id(fd), number) : 0;
}

/* Opens the sampling event for an index of `events`, disabled, into its CPU's ring; period 0: as
 * configured. Returns a descriptor or a negative errno. */
int perf_source_open_cpu_event(struct perf_source *source, size_t index, uint64_t period);

/* Opens larger rings beside those there are, for sampling events that `config` describes and that
 * are opened from then on; leaves things as they are where the budget or the kernel allows no more.
 */
void perf_source_enlarge_rings(struct perf_source *source, const struct perf_config *config);

/* facts.c: works out the facts; how long records may gather before a ring fills or stacks grow
 * stale. */
void perf_source_state_facts(struct perf_source *source);
uint64_t perf_source_batch_interval_ns(const struct perf_source *source);

/* control.c: the functions of a source that change what it does. */
int perf_control_pause(struct source *source, bool paused, struct sprof_error *error);
int perf_control_rate(struct source *source, uint64_t frequency_hz, struct sprof_error *error);
int perf_control_slice(struct source *source, size_t stack_bytes, struct sprof_error *error);
int perf_control_capture(struct source *source, enum sampler_capture capture,
                         struct sprof_error *error);

/* attach.c: takes in all threads of the attached processes, whatever they start meanwhile. */
int perf_attach_tasks(struct perf_source *source, struct sprof_error *error);
int perf_attach_filter(struct perf_source *source, struct sprof_error *error);

/* Makes all threads of the targets members of a filter that is loaded while they run. Returns 0 or
 * SPROF_ENOMEM. */
int perf_attach_filter_later(struct perf_source *source);

/* Replaces the events of threads by those of `config`, on all threads of all targets; both run
 * until all are open. Returns 0 or a negative errno, and then the former ones go on. */
int perf_attach_again(struct perf_source *source, const struct perf_config *config, int layout);

/* Whether a record counts, of an event of threads that was replaced, or replaced one. Call it
 * once for each, in the order of time. */
bool perf_attach_counts(struct perf_thread_events *events, const struct model_record *record,
                        uint64_t event_id);

/* A thread with events of its own in the generation of an event. */
uint64_t perf_attach_key(const struct perf_thread_events *events, uint64_t event_id, pid_t tid);

/* Opens the counters of the command or of all threads attached to. Missing ones are only reported.
 */
int perf_attach_counters(struct perf_source *source, struct sprof_error *error);

/* record_reader.c: the two functions of a source that read records. */
struct source_next perf_record_next_time(struct source *source);
int perf_record_take(struct source *source, struct model_record **record);

/* batch.c: the two functions of a source that wait for records. */
int perf_batch_wait_for(struct source *source, uint64_t now_ns, struct source_wait *wait);
int perf_batch_look(struct source *source, uint64_t now_ns, const struct pollfd *polls,
                    size_t count);

/* jitter.c: prepares for changing periods at random, and says whether those of an event vary; gives
 * the event at an index of `events`, the next to be opened, a clock, and its first period (0: as
 * configured); it was opened; all are enabled now; changes those for which it is time; the weight
 * of the sample just taken. Two return 0 or SPROF_ENOMEM. */
void perf_jitter_open(struct perf_source *source);
bool perf_jitter_varies(const struct perf_source *source, const struct perf_event *event);
int perf_jitter_add(struct perf_source *source, size_t index, uint64_t *period);
int perf_jitter_bind(struct perf_source *source, int fd, size_t index);
void perf_jitter_start(struct perf_source *source);
void perf_jitter_look(struct perf_source *source, uint64_t now_ns);

/* Disables or enables the event at an index; gives it a period of the new rate; puts another event
 * in its place, at once. What runs in between is weighed by the next sample, a pause by none. */
void perf_jitter_pause(struct perf_source *source, size_t index, bool paused);
void perf_jitter_rate(struct perf_source *source, size_t index);
void perf_jitter_replace(struct perf_source *source, size_t index, int fd);
void perf_jitter_weigh(struct source *source, struct model_sample *sample, uint64_t time_ns);

/* == losses.c == */

/* Keeps account of what is lost on each CPU. Returns 0 or SPROF_ENOMEM. */
int perf_losses_open(struct perf_source *source);

/* An event is about to be closed; `index` is its own among `events`, SIZE_MAX: it is a thread's. */
void perf_losses_close_event(struct perf_source *source, size_t index, int fd);

/* A ring reports a loss: leaves the samples in it, of the first event that lost any, adds records
 * of those of others to `following`, and counts the rest apart, where that is known: all of it in
 * the ring of a counter. Returns 0 or SPROF_ENOMEM. */
int perf_losses_tell(struct perf_source *source, size_t ring, struct model_record *record);

/* How many samples were lost that no ring has reported: adds them to lost[event], one for each of
 * config.events. */
void perf_losses_at_the_end(struct perf_source *source, uint64_t *lost);

/* end_records.c: what is known only when all rings are empty: losses at the very end, and the CPU
 * time of the threads still alive (0 or SPROF_ENOMEM); that of one of them. */
int perf_end_records_make(struct perf_source *source);
uint64_t perf_end_records_thread_cpu_ns(struct source *source, pid_t pid, pid_t tid);

/* stack_tail_capture.c: which stacks the kernel is to capture beyond their slices; maps what it
 * captures, or makes ready to copy it, where samples carry stacks, from now on at the latest; does
 * so once more, for the kernel captures them now, or is known not to; copies what follows the
 * slices of the records not looked at yet; gives the record just decoded its copy; notes that it
 * was a stack deeper than its slice; learns where a stack ends; a thread has a new stack. */
struct perf_filter_bpf_tails perf_stack_tail_wanted(const struct perf_source *source);
void perf_stack_tail_open(struct perf_source *source);
void perf_stack_tail_begin(struct perf_source *source);
void perf_stack_tail_begin_anew(struct perf_source *source);
void perf_stack_tail_copy(struct perf_source *source);
void perf_stack_tail_attach(struct perf_source *source, size_t ring, uint64_t offset);
void perf_stack_tail_expect(struct perf_stack_tails *tails, const struct model_record *record);
void perf_stack_tail_learn(struct source *source, pid_t tid, uint64_t stack_pointer,
                           struct model_stack_extent extent);
void perf_stack_tail_forget(struct perf_stack_tails *tails, pid_t tid);

#endif
