/* record: the recording session. Wires the libraries below into one path: rings → samples in time
 * order → stacks → calling-context tree → database → names. Also finishes what a killed recorder
 * left. */
#ifndef SPROF_RECORD_RECORD_H
#define SPROF_RECORD_RECORD_H

#include "base/base.h"
#include "model/model.h"

#include <stdbool.h>
#include <sys/types.h>

struct recording_namer;
struct sampler_choice;

/* Zero values take the defaults. All strings and arrays are borrowed until the call returns. */
struct record_options {
    enum model_mode mode; /* note: the zero value is MODEL_MODE_PC; set it */
    bool frame_app;       /* with MODEL_MODE_PC */
    bool drop_interior;   /* with MODEL_MODE_APP */
    struct model_kind_rules rules;
    const char *output; /* NULL: "sprof.db" */
    bool append;        /* add a run to an existing recording */
    bool overwrite;     /* a recording that is replaced is not kept */
    bool no_symbolize;
    bool no_cache;      /* neither read nor write what is kept from one recording to the next */
    bool keep_failed;   /* keep registers, stack and end reason of stacks that are not whole */
    const char *source; /* a kind of source by its name; NULL: the first that is not refused */
    bool wall_clock;    /* sample threads that wait, too */
    bool off_cpu;       /* record the times in which threads have no CPU, too */
    bool has_off_cpu_threshold;
    uint64_t off_cpu_threshold_ns; /* of these */
    bool wakers;                   /* and what ends them */
    bool off_cpu_stacks;           /* where they are not known with these, nothing is recorded */
    bool fine_clock;               /* an agent samples faster than the kernel's tick */
    const char *event;
    uint64_t frequency_hz, period;
    size_t stack_bytes, ring_budget_bytes;
    size_t table_budget_bytes; /* bound of all unwind tables together; 0: 64 MiB */
    char *const *command;
    const pid_t *pids;
    size_t pid_count;
    pid_t tid;
    bool all_cpus;                       /* whatever runs; beside it a command says for how long */
    const struct sampler_choice *choice; /* … of that; NULL: all */
    uint64_t delay_ns, duration_ns;      /* 0: none, no end */
    uint64_t first_flush_ns; /* when the file gets its first samples, for a reader that waits for
                                them; 0: after a second, as later ones */
    bool ends_command;       /* a command that outlives the recording is ended: by SIGTERM, and two
                                seconds later by SIGKILL */
    double max_overhead; /* the rate goes down until sprof and its samples cost no more than this
                            fraction of the targets' CPU time; 0: it stays */
    bool paused;         /* take no samples until a request over the control socket */
    bool thread_scope;   /* per-thread events even where per-CPU ones are permitted */
    const char *sprof_version;
    /* Called by record_run once samples are taken: the recording holds those from `time_ns`
     * (CLOCK_MONOTONIC) on. NULL: it begins when record_run does. */
    void (*began)(void *context, uint64_t time_ns);
    void *began_context;
    double chance; /* at which this stretch of time was chosen to be recorded, which is stored; 0:
                      it was not left to chance */
    struct recording_namer *namer; /* names are read in it; NULL: what reads them ends with each
                                      recording */
    const struct sprof_log *log;
};

/* How a recording ended. */
struct record_result {
    bool has_wait_status; /* a command was launched and has ended */
    int wait_status;      /* as from waitpid */
    bool interrupted;     /* by record_interrupt */
    bool without_names;   /* as asked for, or because record_hurry was called */
    uint32_t run_id;
    uint64_t samples;        /* of all events */
    const char *source_cure; /* what would let a better source be used, the session's; or empty */
    const char *source_gain; /* … and what would be better then */
};

struct record_session;
struct store;

/* Checks everything, creates the database, opens the events, forks the command: what can fail by
 * the user's doing fails here and leaves nothing behind (an existing database stays untouched until
 * everything else has succeeded). Errors as sampler_open and store_create. The caller frees. */
int record_open(struct record_session **session, const struct record_options *options,
                struct sprof_error *error);

/* Records until the targets end, the duration passed, or record_interrupt was called; then finishes
 * (symbolizes, derives). The calling thread drains the rings; three more look images up,
 * build tables and write. On failure what was committed stays readable. */
int record_run(struct record_session *session, struct record_result *result,
               struct sprof_error *error);

/* After record_run has succeeded: the recording, for reading. It is the session's until
 * record_free. */
struct store *record_store(const struct record_session *session);

/* Ends the recording in order. Async-signal-safe. */
void record_interrupt(struct record_session *session);

/* Ends it in order at a time (CLOCK_MONOTONIC), which may have passed: samples from then on are
 * left out. From any thread, while record_run runs. */
void record_end_at(struct record_session *session, uint64_t time_ns);

/* As record_interrupt, without waiting for unwind tables and names: then
 * record_result.without_names is set. Returns false where that cannot help any more: all samples
 * are written, and names are being found. Async-signal-safe. */
bool record_hurry(struct record_session *session);

/* The launched command's process, 0 where there is none: for passing signals on. */
pid_t record_command_pid(const struct record_session *session);

void record_free(struct record_session *session);

/* Runs the samples kept by `--keep-failed` again with today's unwinder, and counts their end
 * reasons: `report` is called once a sample. */
struct record_replay {
    uint64_t id;
    const char *was, *now; /* end reasons */
    size_t frames;
    const char *const *stack; /* "found-by module+0xoffset" a frame, innermost first */
};
int record_replay_failed(const char *path, int (*report)(void *, const struct record_replay *),
                         void *context, struct sprof_error *error);

#include "record/loop.h"

#endif
