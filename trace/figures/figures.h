/* trace, inside: figures of threads, from the memory that sprof and the agent share into the
 * recording. */
#ifndef SPROF_TRACE_FIGURES_FIGURES_H
#define SPROF_TRACE_FIGURES_FIGURES_H

#include "counters/counters.h"
#include "recording/recording.h"

struct trace_session;

/* When a thread worked for a request. */
struct trace_request_part {
    uint64_t request;
    uint64_t begin, end; /* ticks; UINT64_MAX: it goes on */
    uint32_t number;     /* of its row */
};

/* A note of a call that has not ended, as far as the ring was read. */
struct trace_note {
    uint64_t begin; /* ticks, of the call */
    uint32_t function;
    char *name, *value; /* owned */
};

/* What the program has said of its calls in a thread. */
struct trace_remarks {
    SPROF_VEC(struct trace_request_part) parts; /* the last ones */
    bool has_dropped;                           /* there were others before */
    char *label;                                /* owned: of the last one; or NULL */
    SPROF_VEC(struct trace_note) notes;
};

/* The figures of one function in one thread, as last read and written. */
struct trace_cell {
    uint32_t function;
    uint32_t phase;                 /* of its sample row; 0: none */
    uint64_t calls, ended, untimed; /* as the agent counts */
    int64_t self;
    struct counters_figures
        *base; /* owned: figures that do not count any more, or are in the shared row; or NULL */
    uint64_t cleared_ticks;     /* when `base` was read, if all was cleared then; 0: never */
    uint64_t sample, sample_ns; /* id and time of its sample row */
    uint64_t phase_calls, before_calls; /* now, and before this phase */
    int64_t phase_self, before_self;
    uint64_t written_calls, written_in_flight, written_abnormal, written_timed, written_self;
    uint64_t written_unlogged, written_untimed, written_cuts;
    int64_t written_outside; /* ticks */
    uint64_t path_calls;     /* in paths, and so not in the row of its sample */
    int64_t path_self;
    /* With --paths and --callers: timed calls before paths were read, those in all of its paths,
     * and those in none. */
    struct counters_sum seen, in_paths, alone;
    uint32_t stack;    /* of one of its paths, which stands for it; 0: none */
    uint32_t row_node; /* of its row of figures: a row for each node would be too many */
};

/* A path of calls in one thread. */
struct trace_path {
    uint32_t index; /* of the agent's node */
    uint32_t stack; /* id of the recording's node */
    struct counters_sum now;
    uint64_t base_calls; /* do not count any more */
    int64_t base_self;
    struct trace_cell cell;
};

/* A logged call whose end has not been read. */
struct trace_open_call {
    uint64_t begin; /* ticks */
    uint64_t start_ns;
    uint32_t function, depth;
    uint64_t arguments[PROBE_ARGUMENTS];
};

/* A caller of kept calls that has not ended, as far as the ring was read. */
struct trace_open_caller {
    uint64_t begin;           /* ticks */
    uint32_t number;          /* as the agent has it */
    uint32_t row, caller_row; /* numbers of rows */
    uint32_t function;
    bool is_known;    /* `begin`, `function` and `caller_row` were read */
    bool has_below;   /* a call below it has a row */
    bool has_request; /* it is known to be in this one: see keep_requests.h */
    uint64_t request;
    uint64_t asked_id; /* as in struct store_kept_call */
};

/* A thread with figures. */
struct trace_thread {
    int32_t pid, tid;
    uint32_t slab_tid; /* in its slab; another number in a pid namespace */
    char name[16];
    uint32_t row; /* id of its row */
    bool shares;  /* it has no row of its own */
    bool is_idle; /* it has ended; the next thread takes its slab with the figures */
    SPROF_VEC(struct trace_cell) cells;
    struct sprof_map index; /* function → cell */
    SPROF_VEC(struct trace_path) paths;
    struct sprof_map path_index;                 /* node → path */
    SPROF_VEC(struct trace_open_call) open;      /* in the log, as they began */
    SPROF_VEC(struct trace_open_caller) callers; /* of kept calls */
    struct trace_remarks remarks;
    struct store_call_packer packer; /* of logged calls that have ended */
    uint64_t last_ns;                /* of the logged call that began last */
    uint64_t cleared_head; /* of its ring at the last clear: earlier ends are of calls before it */
    bool is_over;          /* the thread has ended, or the trace has */
    uint64_t waits_for;    /* number behind a unit of the ring that is not filled; 0: none */
    uint64_t waits_since_ns; /* since when */
};

/* The threads of a program. */
struct trace_threads {
    struct trace_thread *of_slab[PROBE_SLABS]; /* owned; the thread of each slab */
    size_t count;                              /* so far */
    uint64_t crowded_ns;                       /* until then they come and go in great numbers */
    struct trace_thread others;                /* a row for threads without a row of their own */
    struct counters_figures *others_figures;   /* its figures, by probe */
    bool others_changed;
    struct sprof_map ended_tids;
};

enum trace_collecting {
    TRACE_COLLECT_ENDED, /* threads that have ended */
    TRACE_COLLECT_ALL,   /* and all that has changed */
    TRACE_COLLECT_END,   /* and all that is logged: the trace ends, and threads go on */
    TRACE_COLLECT_LAST,  /* the program has ended, with all threads */
};

/* == threads.c == */

/* Gives the thread of a slab its row, where it has none. Returns 0 or SPROF_ENOMEM. */
int trace_meet_thread(struct trace_session *session, uint32_t slab);

/* Begins the thread `tid` of a slab where it is new there. Returns 0 or SPROF_ENOMEM. */
int trace_thread_see(struct trace_session *session, uint32_t slab, uint32_t tid);

/* Begins the row of threads without a row of their own. Returns 0 or SPROF_ENOMEM. */
int trace_shared_row_begin(struct trace_session *session);

/* The cell of a function, made where there is none; NULL: out of memory. */
struct trace_cell *trace_cell_of(struct trace_thread *thread, uint32_t function);

/* By the kernel; empty where it has no such thread any more. */
void trace_thread_name(pid_t pid, int32_t tid, char name[16]);

/* Renames the thread of a slab that has named itself since it was first seen. Returns 0 or
 * SPROF_ENOMEM. */
int trace_thread_rename(struct trace_session *session, uint32_t slab);

/* Gives a thread its row in the recording. Returns 0 or SPROF_ENOMEM. */
int trace_thread_add_row(struct trace_session *session, struct trace_thread *thread);

/* == figures.c == */

/* Takes calls out of the rings of threads. Returns 0 or SPROF_ENOMEM. */
int trace_collect_log(struct trace_session *session);

/* Writes rows of figures. Returns 0 or SPROF_ENOMEM. */
int trace_collect(struct trace_session *session, enum trace_collecting what);

/* An estimate of what probes have taken of live threads: calls times the cost of each. */
double trace_spent_ticks(struct trace_session *session);

/* Drops figures so far. Open calls count from `ticks` on. Returns 0 or SPROF_ENOMEM. */
int trace_clear_figures(struct trace_session *session, uint64_t ticks);

void trace_figures_release(struct trace_session *session);

/* Empties slabs that are not used any more, some at a time, once threads do not come and go by the
 * hundred. */
void trace_slabs_empty(struct trace_session *session);

/* == paths.c == */

/* Whether calls of a thread are counted by path. */
bool trace_has_paths(const struct trace_session *session, const struct trace_thread *thread);

/* Writes rows of a thread's call paths, and adds up by function what is in them. Cells have what
 * was seen before. */
int trace_read_paths(struct trace_session *session, struct trace_thread *thread, uint32_t slab);
int trace_clear_paths(struct trace_session *session, struct trace_thread *thread, uint32_t slab);

/* == clocks.c == */

/* Finds the length of a tick in `common`, for limits in ticks, where it is not known yet. */
void trace_find_tick(struct trace_session *session);

/* Compares the clocks, where that was a second ago. Returns 0 or SPROF_ENOMEM. */
int trace_compare_clocks(struct trace_session *session);

/* The time in the run of a moment, and the length of a time, in ticks, once clocks were compared;
 * at least 1. */
uint64_t trace_time_of(const struct trace_session *session, uint64_t ticks);
uint64_t trace_length_of(const struct trace_session *session, uint64_t ticks);

/* == nodes.c == */

/* The stack of a function's entry below its caller's (0: none). Returns 0, SPROF_ENOMEM, or
 * SPROF_ENOTFOUND where the recording has no module there: the function then counts as one without
 * rows. */
int trace_node_of(struct trace_session *session, uint32_t function, uint32_t caller,
                  uint32_t *node);

/* Notes the modules of its files, and opens them for their names: later the process may have
 * executed another program or be gone, and its paths may mean other files here. */
void trace_program_note_modules(struct trace_session *program);

/* == rows.c == */

/* Writes the sample row of a stack, or writes it again. */
int trace_put_sample(struct trace_session *session, uint64_t calls, int64_t self, uint32_t thread,
                     uint32_t node, struct trace_cell *cell);

/* Takes the time in both clocks. */
void trace_take_time(struct trace_session *session);

/* More ticks than have passed since the trace began. No thread has made so many calls or spent so
 * much time in a function. */
uint64_t trace_most_ticks(const struct trace_session *session);

/* Writes the row of a function in a thread, or writes it again. Returns 0 or SPROF_ENOMEM. */
int trace_put_row(struct trace_session *session, uint32_t thread, struct trace_cell *cell,
                  const struct counters_figures *figures);

#endif
