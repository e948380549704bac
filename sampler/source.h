/* A source of samples: what a recording may be fed by. Perf events are one (sampler/perf/); an
 * agent inside the target is another. The sampler (sampler/sampler.c) uses sources through this
 * table only: it opens the first kind that can do what is wanted, merges what its sources hand out
 * by time, and waits for all of them at once.
 *
 * To add a kind: a struct that begins with `struct source`, a table of functions, and a line in
 * source_kinds.c. What a source hands out are model_records; one that reads records in perf's
 * format uses the rings, the merge and the decoder that lie beside this header (ring.h, merge.h,
 * decode.h).
 *
 * One thread calls all of these; none may block. Errors are SPROF_E… codes; a function with a
 * `struct sprof_error *` fills it with a message that says what was refused and what cures that. */
#ifndef SPROF_SAMPLER_SOURCE_H
#define SPROF_SAMPLER_SOURCE_H

#include "sampler/sampler.h"
#include "target/target.h"

#include <poll.h>

/* An open source. Each kind's own struct begins with it. */
struct source {
    const struct source_kind *kind;
    size_t poll_count;    /* the sampler's: how many descriptors it waits for now */
    uint32_t first_event; /* the sampler's: the number that its first event has among all */
};

/* What a source is opened for. The options and the log are valid until `open` returns; the target
 * outlives the source. A launched command was forked and waits for target_start: a source may give
 * it variables (target_set_environment) while it is opened. */
struct source_request {
    const struct sampler_options *options;
    struct target *target;
    const struct sprof_log *log;
};

/* The state of a source's next record. */
enum source_state {
    SOURCE_RECORD,         /* the next record is of time_ns, and may be taken */
    SOURCE_NOTHING_BEFORE, /* none so far, and none to come is older than time_ns: records of other
                              sources up to then need not wait */
    SOURCE_ENDED,          /* nothing will come any more */
};
struct source_next {
    enum source_state state;
    uint64_t time_ns;
};

/* What to wait for: descriptors that are ready when there is something to look at, and the time to
 * look at the latest. A source adds its own. */
struct source_wait {
    SPROF_VEC(struct pollfd) polls;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; UINT64_MAX: none */
};

struct source_kind {
    const char *name; /* as --source takes it */

    /* Whether this kind may be tried where the one before it in the table was refused; NULL: never.
     * Called only where the user named no source. */
    bool (*stands_in)(const struct sampler_options *options);

    /* Called in the forked child of a command before it waits, for what takes time there; NULL:
     * nothing. */
    void (*in_child)(void);

    /* Makes a source that is ready to start. Fails with SPROF_EPERMISSION or SPROF_EUNSUPPORTED
     * where this kind is refused here (another may be tried), with other codes where nothing helps.
     * Leaves nothing behind on failure. */
    int (*open)(struct source **source, const struct source_request *request,
                struct sprof_error *error);

    /* Ends what `open` has begun in other threads, before the start; NULL: nothing. Fails as `open`
     * does. What a source says before it about how it samples is not final. */
    int (*settle)(struct source *source, const struct sprof_log *log, struct sprof_error *error);

    /* What was requested and what was got. Called after open and each change of mode or rate. */
    void (*facts)(const struct source *source, struct sampler_facts *facts);

    /* Appends the source's events, in the order in which its records number them. NULL: it has none
     * of its own, and its samples belong to the first of all. Returns 0 or SPROF_ENOMEM. */
    int (*events)(const struct source *source, struct sampler_event_list *events);

    /* Begins to collect. A launched command is let go right after it. */
    int (*start)(struct source *source, struct sprof_error *error);

    /* Ends collecting. What was collected so far, and what is known only at the end (CPU times,
     * losses), is still handed out; then the source has ended. */
    void (*stop)(struct source *source);

    /* Adds to `wait` what to wait for, beginning now. What was taken so far is given back: its
     * pointers are dead. Returns 0 or SPROF_ENOMEM. */
    int (*wait_for)(struct source *source, uint64_t now_ns, struct source_wait *wait);

    /* Looks for new records, rings and connections, after a wait: `polls` are the descriptors this
     * source has added last, with what poll(2) said of them. */
    int (*look)(struct source *source, uint64_t now_ns, const struct pollfd *polls, size_t count);

    /* What comes next. Not called before the first look or stop. */
    struct source_next (*next_time)(struct source *source);

    /* Takes the record that next_time spoke of: 0 and *record, valid until the next call of take or
     * wait_for; 1 where it turned out to be none to hand out; or a negative code. The sampler may
     * change the record's time. */
    int (*take)(struct source *source, struct model_record **record);

    /* Weighs the sample just taken, in units of the event. NULL: it weighs what the record says. */
    void (*weigh)(struct source *source, struct model_sample *sample, uint64_t time_ns);

    /* CPU time of the targets since the start, in nanoseconds; 0 where it cannot be known. NULL:
     * never known. */
    uint64_t (*cpu_ns)(struct source *source);

    /* Hands out what each CPU was idle since the start, but for pauses, until `each` returns
     * another number than 0, which is returned. NULL: it is not known. */
    int (*each_idle)(struct source *source,
                     int (*each)(void *context, const struct sampler_cpu_idle *idle),
                     void *context);

    /* CPU time of a live thread since the start, in nanoseconds; 0 where it cannot be known. NULL:
     * never known. */
    uint64_t (*thread_cpu_ns)(struct source *source, pid_t pid, pid_t tid);

    /* Adds its numbers to the sampler's. NULL: none. */
    void (*count)(const struct source *source, struct sampler_counters *counters);

    /* What a walk of a thread's stack has shown (see sampler_stack_end). NULL: of no use. */
    void (*stack_end)(struct source *source, pid_t tid, uint64_t stack_pointer,
                      struct model_stack_extent extent);

    /* Changes while it runs. Each returns 0, or fails with a message and without having changed
     * anything. Records of before and after stay in order, and none is lost or doubled: what was
     * collected up to the return of the call belongs to the time before it. NULL: this kind cannot.
     *
     * Paused, a source hands out what happens to processes, but takes no samples, and the CPU time
     * it counts stands still; no sample weighs anything of the pause. */
    int (*set_paused)(struct source *source, bool paused, struct sprof_error *error);
    int (*set_rate)(struct source *source, uint64_t frequency_hz, struct sprof_error *error);
    int (*set_capture)(struct source *source, enum sampler_capture capture,
                       struct sprof_error *error);

    /* So much of each stack is copied with its sample from now on, at most what was asked for at
     * the beginning; nothing changes where samples carry no stacks. */
    int (*set_slice)(struct source *source, size_t stack_bytes, struct sprof_error *error);

    void (*free)(struct source *source);

    /* Kinds that add samples which this one cannot take, ended by NULL. Each is opened beside it
     * where its `is_wanted` returns true for the options. NULL: none. */
    const struct source_kind *const *beside;
    bool (*is_wanted)(const struct sampler_options *options);

    /* Of a kind beside another: it was refused, and the options, changed, let the other do a part
     * of its work. Returns what is missing then, static; NULL: nothing can. NULL: never. */
    const char *(*do_without)(struct sampler_options *options);
};

/* All kinds, the preferred first, ended by NULL. */
extern const struct source_kind *const sampler_source_kinds[];

#endif
