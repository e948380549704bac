/* Copies figures of threads from the agent's shared memory into the recording. Functions return 0
 * or SPROF_ENOMEM, unless stated otherwise. */
#ifndef SPROF_CALLS_FIGURES_H
#define SPROF_CALLS_FIGURES_H

#include "counters/counters.h"
#include "probing/program.h"
#include "recording/recording.h"

struct calls_program;

/* The time during which a thread worked for a request. */
struct calls_request_part {
    uint64_t request;
    uint64_t begin, end; /* ticks; UINT64_MAX: not ended */
    uint32_t number;     /* of its row */
};

struct calls_note {
    uint64_t begin; /* ticks */
    uint32_t function;
    char *name, *value; /* owned */
};

/* What the program reports of a thread's calls (<sprof.h>). */
struct calls_remarks {
    SPROF_VEC(struct calls_request_part) parts;
    bool has_dropped;
    char *label; /* owned; of the last part; or NULL */
    SPROF_VEC(struct calls_note) notes;
};

/* Figures of one function in one thread. */
struct calls_cell {
    uint32_t function;
    uint32_t phase; /* of its sample row; 0: none */
    uint64_t calls, ended, untimed;
    int64_t self;
    struct counters_figures *base; /* owned; no longer counted, or in the shared row; or NULL */
    uint64_t cleared_ticks;        /* when a clear set `base`; 0: never */
    uint64_t sample, sample_ns;    /* id and time of the row */
    uint64_t phase_calls, before_calls;
    int64_t phase_self, before_self;
    struct probing_calls written; /* its part of the probe's sums */
    uint64_t path_calls;
    int64_t path_self;
    /* Timed calls: before paths were read, in all paths, in no path. */
    struct counters_sum seen, in_paths, alone;
    uint32_t stack;    /* a path's stack for the row; 0: none */
    uint32_t row_node; /* for rows of figures; one per function */
};

struct calls_path {
    uint32_t index;   /* the agent's node */
    uint32_t stack;   /* the recording's node */
    bool leaves;      /* into a module that is not traced: calls of its caller, `cell.function` */
    bool is_unplaced; /* leaves to where no module is: its stack is the caller's */
    struct counters_sum now;
    uint64_t base_calls;
    int64_t base_self;
    struct calls_cell cell;
};

/* A logged call whose end was not read yet. */
struct calls_open_call {
    uint64_t begin; /* ticks */
    uint64_t start_ns;
    uint32_t function, depth;
    uint64_t arguments[PROBE_ARGUMENTS];
};

/* A caller of kept calls whose end was not read yet. */
struct calls_open_caller {
    uint64_t begin;  /* ticks */
    uint32_t number; /* the agent's number */
    uint32_t row, caller_row;
    uint32_t function;
    uint16_t depth;   /* in the log; 0: it is not there */
    bool is_known;    /* `begin`, `function`, `depth`, `caller_row` are set */
    bool has_below;   /* a call below it has a row */
    bool has_request; /* `request` is known: see keep_requests.h */
    bool is_named;    /* … by a value of the call */
    uint64_t request;
    uint64_t asked_id; /* as in struct store_kept_call */
};

struct calls_thread {
    int32_t pid, tid;
    uint32_t slab_tid; /* differs from `tid` in a pid namespace */
    char name[16];
    uint32_t row;
    bool shares;  /* has no row of its own */
    bool is_idle; /* ended; the next thread takes its slab and figures */
    SPROF_VEC(struct calls_cell) cells;
    struct sprof_map index; /* function → cell */
    SPROF_VEC(struct calls_path) paths;
    struct sprof_map path_index; /* node → path */
    SPROF_VEC(struct calls_open_call) open;
    SPROF_VEC(struct calls_open_caller) callers;
    struct calls_remarks remarks;
    struct store_call_packer packer; /* logged calls that have ended */
    uint64_t last_ns;                /* start of the last logged call */
    uint64_t cleared_head;           /* the ring's head at the last clear */
    bool is_over;                    /* the thread or trace has ended */
    uint64_t waits_for;              /* position after an unfilled ring unit; 0: none */
    uint64_t waits_since_ns;
};

struct calls_threads {
    struct calls_thread *of_slab[PROBE_SLABS]; /* owned */
    size_t count;                              /* threads so far */
    uint64_t crowded_ns;                       /* until then, many threads begin and end */
    struct calls_thread others;                /* the shared row */
    struct counters_figures *others_figures;   /* by probe */
    bool others_changed;
    struct sprof_map ended_tids;
    double spent_ticks; /* of probes, while it is added up */
};

enum calls_collecting {
    CALLS_COLLECT_ENDED, /* threads that have ended */
    CALLS_COLLECT_ALL,   /* also other changed figures */
    CALLS_COLLECT_END,   /* also logged calls: the trace ends, the threads go on */
    CALLS_COLLECT_LAST,  /* the program has ended */
};

/* == threads.c == */

/* Begins the thread that holds a slab if it is new there. */
int calls_meet_thread(struct calls_program *program, uint32_t slab);

/* The same for a known holder. */
int calls_thread_see(struct calls_program *program, uint32_t slab, uint32_t tid);

/* Begins the row of threads without their own. */
int calls_shared_row_begin(struct calls_program *program);

/* Creates a missing cell. NULL: out of memory. */
struct calls_cell *calls_cell_of(struct calls_thread *thread, uint32_t function);

/* Returns an empty name if the thread is gone. */
void calls_thread_name(pid_t pid, int32_t tid, char name[16]);

int calls_thread_rename(struct calls_program *program, uint32_t slab);

int calls_thread_add_row(struct calls_program *program, struct calls_thread *thread);

/* == figures.c == */

/* Reads calls from the threads' rings. */
int calls_collect_log(struct calls_program *program);

int calls_collect(struct calls_program *program, enum calls_collecting what);

/* Estimates the cost of probes in live threads. */
double calls_spent_ticks(struct calls_program *program);

/* Drops all figures. Open calls count from `ticks` on. */
int calls_clear_figures(struct calls_program *program, uint64_t ticks);

void calls_figures_release(struct calls_program *program);

/* Empties some unused slabs, unless many threads begin and end. */
void calls_slabs_empty(struct calls_program *program);

/* == paths.c == */

bool calls_has_paths(const struct calls_program *program, const struct calls_thread *thread);

/* Writes rows of paths and adds them up by function. Cells must hold the previous figures. */
int calls_read_paths(struct calls_program *program, struct calls_thread *thread, uint32_t slab);
int calls_clear_paths(struct calls_program *program, struct calls_thread *thread, uint32_t slab);

/* == clocks.c == */

/* Measures clock.tick_ns once. */
void calls_find_tick(struct calls_program *program);

/* Works at most once a second. */
int calls_compare_clocks(struct calls_program *program);

/* Return a time in the run, and a length, in ns, at least 1. Clocks must have been compared. */
uint64_t calls_time_of(const struct calls_program *program, uint64_t ticks);
uint64_t calls_length_of(const struct calls_program *program, uint64_t ticks);

/* == nodes.c == */

/* Finds a function's stack below `caller` (0: none). SPROF_ENOTFOUND: the recording lacks its
 * module, so the function gets no rows. */
int calls_node_of(struct calls_program *program, uint32_t function, uint32_t caller,
                  uint32_t *node);

/* Opens modules now, because processes end and paths change. */
void calls_program_note_modules(struct calls_program *program);

/* The same of functions outside of the traced modules that were found since. Returns 0. */
int calls_outside_note_modules(struct calls_program *program);

/* == rows.c == */

/* Writes or updates the sample row. */
int calls_put_sample(struct calls_program *program, uint64_t calls, int64_t self, uint32_t thread,
                     uint32_t node, struct calls_cell *cell);

void calls_take_time(struct calls_program *program);

/* Returns an upper limit for calls and ticks of a thread. */
uint64_t calls_most_ticks(const struct calls_program *program);

/* Writes or updates the function's row. */
int calls_put_row(struct calls_program *program, uint32_t thread, struct calls_cell *cell,
                  const struct counters_figures *figures);

#endif
