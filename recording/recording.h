/* recording: a recording while it grows, and what is derived from it.
 *
 * The source of samples owns one and feeds it: a sampling loop, an importer, a tracer. It follows
 * the processes, opens their images and builds unwind tables in a thread of its own, walks stacks,
 * keeps samples whose tables are not there yet, and writes all of it to the database in another
 * thread. It does not depend on the kind of source. Apart from recording_hurry, all calls come
 * from one thread. */
#ifndef SPROF_RECORDING_RECORDING_H
#define SPROF_RECORDING_RECORDING_H

#include "base/base.h"
#include "model/model.h"
#include "recording/build.h"
#include "store/store.h"

#include <stdbool.h>

struct recording;

/* What reads names for several recordings, one after the other or at once. The log is borrowed.
 * `no_cache`: what is read is neither found in the user's cache nor put there. NULL where memory
 * runs out. Freeing NULL is fine. */
struct recording_namer;
struct recording_namer *recording_namer_open(bool no_cache, const struct sprof_log *log);
void recording_namer_free(struct recording_namer *namer);

/* A sample that was walked and has become a row. */
struct recording_sampled {
    uint32_t event;
    uint64_t time_ns; /* since the start of the run */
    uint64_t weight;
    int64_t late; /* struct model_sample's */
    pid_t tid;
    bool has_extent; /* there was a user stack: */
    uint64_t stack_pointer;
    size_t stack_bytes;               /* copied with the sample */
    struct model_stack_extent extent; /* where the walk saw it end */
};

/* All is borrowed until recording_free. */
struct recording_options {
    const char *output;     /* path of the database; NULL: none, or none yet */
    bool append;            /* adds a run, where there is a recording already */
    bool overwrite;         /* one that is replaced is not kept (store/former.h) */
    struct model_view view; /* the mode; its function ids are not used */
    struct model_kind_rules rules;
    bool keep_failed;  /* keep registers, stack and end reason of stacks that are not whole */
    bool no_cache;     /* neither read nor write what is kept from one recording to the next */
    bool only_sampled; /* rows of processes that have samples, and of those that have started them:
                          not of all that was fed */
    bool early_names;  /* debug information is read while the recording goes on */
    struct recording_namer *namer; /* keeps what names were read with; NULL: nothing does */
    size_t table_budget_bytes;     /* bound of all unwind tables together; 0: 64 MiB */
    /* Called for each sample row, in the order in which they are added, which is not that of time
     * where samples had to wait. Non-zero ends the call that added it, and is returned by it. */
    int (*sampled)(void *context, const struct recording_sampled *sampled);
    void *context;
    const struct sprof_log *log;
};

/* Creates the database, or opens it to append to: then it must hold no imported run, and its runs
 * must be of the same mode (else SPROF_EUSAGE). Errors as store_create. The caller frees. */
int recording_open(struct recording **recording, const struct recording_options *options,
                   struct sprof_error *error);

/* Creates the database of a recording that was opened without one, when its input has turned out to
 * be good: rows added before are kept, and written from recording_start on. `path` is borrowed.
 * Errors as store_create. */
int recording_create(struct recording *recording, const char *path, struct sprof_error *error);

/* Stops the threads and frees. What was flushed stays in the database. NULL is fine. A builder that
 * hangs after recording_hurry keeps the memory. */
void recording_free(struct recording *recording);

/* Undoes recording_open: a database that it made is removed, one that it replaced is put back, and
 * the run is taken out of one that it was appended to. Nothing but recording_free may follow. */
void recording_abandon(struct recording *recording);

/* == The rows that the owner fills == */

/* The row of the run, with its id, a random key and the words of the mode. The owner fills the rest
 * in, and may change it at any time: each flush writes it as it is then. Its texts must live until
 * recording_free. */
struct store_run *recording_run(struct recording *recording);

/* Adds an event; its id and run id are given here. *id is what samples name it by. Its name must
 * live until recording_free. Returns 0 or SPROF_ENOMEM. */
int recording_add_event(struct recording *recording, const struct store_event *event, uint32_t *id);

/* Describes what samples of an event bring in `fields`. The list must live until recording_free.
 * Returns 0 or SPROF_ENOMEM. */
int recording_add_fields(struct recording *recording, uint32_t event,
                         const struct model_field *fields, size_t count);

/* The event of that id is another one from now on: its row is written anew. Returns 0 or
 * SPROF_ENOMEM. */
int recording_change_event(struct recording *recording, const struct store_event *event);

/* Begins a phase at `phase->start_ns` of the run, and ends the one before; its id and run id are
 * given here, its texts must live until recording_free. Samples from then on are of its mode, those
 * from before that come late or wait are not; the run's row is for the least detailed of the modes,
 * which the owner sets. A run without any phase has one, as its row says. Returns 0 or
 * SPROF_ENOMEM. */
int recording_add_phase(struct recording *recording, const struct store_phase *phase);

/* Notes an option of the phase that has begun. The value is copied. Returns 0
 * or SPROF_ENOMEM. */
int recording_add_phase_option(struct recording *recording, const char *name, const char *value);

/* Samples and phases from before `time_ns` (CLOCK_MONOTONIC) go, written ones too, as if the
 * recording began then; what is known of processes stays. Returns 0 or SPROF_ENOMEM. */
int recording_clear(struct recording *recording, uint64_t time_ns);

/* The rows that the next flush writes: for those of tables that the recording does not fill, such
 * as ledger and counters. */
struct store_batch *recording_batch(struct recording *recording);

/* For bytes of those rows: released when they are written. */
struct sprof_arena *recording_batch_arena(struct recording *recording);

/* == Feeding == */

/* Starts the writer. `start_ns` (CLOCK_MONOTONIC) is the run's time 0; samples before `delay_ns` of
 * it have passed are counted as delayed and dropped. */
int recording_start(struct recording *recording, uint64_t start_ns, uint64_t delay_ns,
                    struct sprof_error *error);

/* Applies what happened to a process: a fork, an exec, a name, an exit, a mapping, CPU time known.
 * Other records are not for it. In order of time. Returns 0 or SPROF_ENOMEM. */
int recording_event(struct recording *recording, const struct model_record *record);

/* A process has executed another program: from now on it has a row of its own. Returns 0 or
 * SPROF_ENOMEM. */
int recording_replace_process(struct recording *recording, pid_t pid, uint64_t time_ns);

/* Takes a captured sample. It becomes a row at once, or once the tables that its stack needs are
 * built. Returns 0, SPROF_ENOMEM, or what `sampled` returned. */
int recording_sample(struct recording *recording, const struct model_record *record,
                     uint32_t event);

/* Takes over what the builder has finished, and tries again the samples that waited for it. Returns
 * as recording_sample. */
int recording_collect(struct recording *recording);

/* Becomes readable when there is something to collect. */
int recording_collect_fd(const struct recording *recording);

/* Bytes of the samples that wait. */
size_t recording_waiting_bytes(const struct recording *recording);

/* Collects until at most `bytes` of samples wait, waiting for the builder as long as it takes; 0:
 * until none does. After recording_hurry it does not wait: samples whose tables are missing are
 * walked without them. Returns as recording_sample. */
int recording_settle(struct recording *recording, size_t bytes);

/* Lets recording_settle and recording_finish give up whatever would take long: tables that are
 * being built, and names. Returns false where it comes too late: everything is written, and only
 * names are being found. Async-signal-safe, from any thread. */
bool recording_hurry(struct recording *recording);
bool recording_hurried(const struct recording *recording);

/* == Rows without a captured stack: importers, and CPU time that was not sampled == */

const struct model_process_table *recording_processes(const struct recording *recording);

/* The process and thread of these numbers, made where there are none. NULL: out of memory. */
struct model_thread *recording_thread(struct recording *recording, pid_t pid, pid_t tid,
                                      const char *name, uint64_t time_ns);

/* Where the process of this number belongs; texts are copied. Returns 0 or SPROF_ENOMEM. */
int recording_add_origin(struct recording *recording, pid_t pid,
                         const struct store_process_origin *origin);

/* A frame below `parent` (0: the root), in a module that is known by its path, and build id where
 * it has one (its code is never opened). *node is what sample rows name the stack by. Returns 0 or
 * SPROF_ENOMEM. */
int recording_child(struct recording *recording, uint32_t parent,
                    const struct sprof_file_id *module, bool in_kernel, uint64_t offset,
                    uint32_t *node);

/* The same for an address of a live process, in a module known by its mapping. SPROF_ENOTFOUND
 * where nothing is mapped there. */
int recording_child_at(struct recording *recording, uint32_t parent, pid_t pid, uint64_t address,
                       uint64_t time_ns, uint32_t *node);

/* The module that is mapped at an address of a live process, and which offset of its file; 0: none.
 * The second function is the first one's second half, and works when it is unmapped, too. */
uint32_t recording_module_at(struct recording *recording, pid_t pid, uint64_t address,
                             uint64_t time_ns, uint64_t *offset);
int recording_child_in(struct recording *recording, uint32_t parent, uint32_t module,
                       uint64_t offset, uint32_t *node);

/* The stack of a pseudo-function. Returns 0 or SPROF_ENOMEM. */
int recording_pseudo(struct recording *recording, enum model_pseudo which, uint32_t *node);

/* The largest id of a sample in the database that is appended to; 0: in no other. */
uint64_t recording_last_sample(const struct recording *recording);

/* Adds a row as it is, but for its run. An id that is given must be larger than the last. */
int recording_add_sample(struct recording *recording, const struct store_sample *row);

/* == Flushing and finishing == */

/* Hands everything new or changed to the writer, where that is idle; else it stays for the next
 * flush. Returns 0, SPROF_ENOMEM, or what the first failed write returned. */
int recording_flush(struct recording *recording, struct sprof_error *error);

/* Whether the writer is not idle: what is added now waits, and takes memory. */
bool recording_is_writing(struct recording *recording);

/* Waits until the writer is idle: what was handed to it is in the database. Returns as
 * recording_flush. */
int recording_wait_written(struct recording *recording, struct sprof_error *error);

/* Calls `put` for each number that the recording and what it uses count, until it returns non-zero,
 * which is returned. Names are static. */
int recording_counters_each(const struct recording *recording,
                            int (*put)(void *context, const char *name, uint64_t value),
                            void *context);

/* Writes what the writer has and closes the database: after a failure, where there is nothing to
 * finish. Nothing but recording_free may follow. */
int recording_close(struct recording *recording, struct sprof_error *error);

/* A function at an imported address. NULL texts and line 0 are unknown. */
struct recording_level {
    const char *name;          /* NULL: it has none, and counts for its module as a whole */
    const char *linkage_name;  /* NULL: as `name` */
    const char *declared_file; /* where the function is declared … */
    uint32_t declared_line;
    uint64_t start;   /* of the function, as the ELF file numbers addresses; 0 unknown */
    bool is_unnamed;  /* the name says where it is, as no symbol does */
    const char *file; /* … and the line that ran, or the call that is inlined */
    uint32_t line;
};

/* What came with imported stacks: for each address, numbered from 1, its functions, innermost
 * first. A frame is added with such a number as its offset. */
struct recording_names {
    SPROF_VEC(struct recording_level)
    levels; /* texts are borrowed until recording_finish returns */
    SPROF_VEC(struct recording_named {
        size_t end;       /* of its levels, which begin at the end of the one before */
        uint64_t address; /* 0 unknown: then its number stands for it */
    })
    addresses;
};

/* How a recording is finished. Zero: its addresses are looked up. */
struct recording_end {
    bool no_symbolize;                   /* not now: recording_derive is called later */
    const struct recording_names *names; /* imported stacks */
};

/* Writes what is left, derives functions, paths and costs, and finishes the database. Everything
 * that waits must have been settled. On failure what was written stays readable. */
int recording_finish(struct recording *recording, const struct recording_end *end,
                     struct sprof_error *error);

/* The database of a recording that is finished, for reading: what was just written need not be
 * opened again. It is the recording's until recording_free. */
struct store *recording_store(struct recording *recording);

/* == Afterwards == */

/* Symbolizes a recording and derives functions, paths and costs. For recordings made with
 * --no-symbolize and those whose recorder was killed. Complete ones stay as they are, unless what
 * has no name, or everything, shall be looked up again. */
struct recording_derive_options {
    bool again;                    /* everything, and without what was kept of other recordings */
    bool unnamed;                  /* of complete runs, too, what has no name */
    bool no_cache;                 /* neither read nor write that */
    struct model_kind_rules rules; /* replaces the kinds of modules when count > 0 */
    const char
        *root; /* a directory that stands for /, in which files are looked for first; or NULL */
    const struct sprof_log *log;
};
int recording_derive(const char *path, const struct recording_derive_options *options,
                     struct sprof_error *error);

/* The same for an open store: a copy of a recording that goes on. It stays open. */
int recording_derive_copy(struct store *store, const struct recording_derive_options *options,
                          struct sprof_error *error);

/* A recording that goes on, looked at again and again. */
struct recording_live;

/* `lines`: costs of source lines will be needed. The caller frees. */
int recording_live_open(struct recording_live **live, const char *path, bool lines,
                        struct sprof_error *error);

/* The recording as it is now, with all that is derived: an open store (store_running says whether
 * it goes on), which is borrowed until the next look. Of a run that goes on, SQL sees less of it
 * than the functions store_each_NAME do: see store_hold. `log` may be NULL. Errors as
 * store_open_copy; after one of them the next look begins anew. */
int recording_live_look(struct recording_live *live, const struct sprof_log *log,
                        struct store **store, struct sprof_error *error);
void recording_live_free(struct recording_live *live);

/* == Replay == */

struct recording_frame {
    const struct model_module *module;
    uint64_t offset;
    enum model_found_by found_by;
};

struct recording_walked {
    enum model_end end;
    size_t count;
    const struct recording_frame *frames; /* innermost first */
};

/* Walks a captured sample in the address space as it was at its time, waiting for the tables that
 * it needs, and adds no row. Only its registers and its slice are used. The frames are valid until
 * the next call. Returns 0, SPROF_ENOMEM, or SPROF_EFORMAT where the registers are not this
 * machine's. */
int recording_walk_only(struct recording *recording, const struct model_record *record,
                        struct recording_walked *walked);

#endif
