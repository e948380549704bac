/* trace, inside: what threads have called, as it is read from the memory that sprof and the agent
 * share, and written into the recording. */
#ifndef SPROF_TRACE_FIGURES_FIGURES_H
#define SPROF_TRACE_FIGURES_FIGURES_H

#include "agent/probe.h"
#include "recording/recording.h"

struct trace_session;

/* Figures of one function in one thread. */
struct trace_figures {
    struct probe_stat stat;
    struct probe_histogram histogram;
};

/* Calls of one function in one thread, since the thread began. */
struct trace_sum {
    uint64_t calls, ended;
    int64_t self; /* ticks */
};

/* What one thread has called of one function, as it was last read and written. */
struct trace_cell {
    uint32_t function;
    uint32_t phase;                 /* of its sample row; 0: there is none */
    uint64_t calls, ended, untimed; /* as the agent counts */
    int64_t self;
    struct trace_figures *base; /* owned; what counts no more, or is in the shared row; or NULL */
    uint64_t cleared_ticks;     /* when `base` was read, if all was cleared then; 0: never */
    uint64_t sample, sample_ns; /* id and time of its sample row */
    uint64_t phase_calls, before_calls; /* now, and before the phase */
    int64_t phase_self, before_self;
    uint64_t written_calls, written_in_flight, written_abnormal, written_timed, written_self;
    uint64_t written_unlogged, written_untimed, written_cuts;
    uint64_t path_calls; /* in paths: what is in them is not in the row of its sample */
    int64_t path_self;
    /* With --paths and --callers: timed calls as they were before paths were read, those in all of
     * its paths, and those that are in none. */
    struct trace_sum seen, in_paths, alone;
    uint32_t stack;    /* of one of its paths, which stands for it; 0: it is in none */
    uint32_t row_node; /* that its row of figures has: each node would have a row of its own */
};

/* A function below those that called it, in one thread. */
struct trace_path {
    uint32_t index; /* of the agent's node */
    uint32_t stack; /* id of the recording's node */
    struct trace_sum now;
    uint64_t base_calls; /* what counts no more */
    int64_t base_self;
    struct trace_cell cell;
};

/* A call in the log whose end has not been read. */
struct trace_open_call {
    uint64_t begin; /* ticks */
    uint64_t start_ns;
    uint32_t function, depth;
    uint64_t arguments[PROBE_ARGUMENTS];
};

/* A process that runs the program, or one that was forked from such and runs it on. */
struct trace_process {
    pid_t pid;
    int fd;             /* pidfd: readable when it has ended; -1: none */
    bool is_over;       /* it has ended, or executed another program … */
    bool is_left;       /* … which was seen before that program connected */
    bool is_out;        /* it lives on without probes, and may need what was mapped for them */
    bool is_back;       /* it has all jumps to probes again: see coverage.c */
    uint64_t cpu_ns;    /* that it has used, when that was read last … */
    uint64_t before_ns; /* … of which so much before the trace began */
};

/* A thread that has figures. */
struct trace_thread {
    int32_t pid, tid;
    uint32_t slab_tid; /* as its slab has it: another one in a pid namespace of its own */
    char name[16];
    uint32_t row; /* id of its row */
    bool shares;  /* it has none of its own */
    bool is_idle; /* it has ended, and its slab is the next thread's with the figures in it */
    SPROF_VEC(struct trace_cell) cells;
    struct sprof_map index; /* function → cell */
    SPROF_VEC(struct trace_path) paths;
    struct sprof_map path_index;            /* node → path */
    SPROF_VEC(struct trace_open_call) open; /* of the log, as they began */
    struct store_call_packer packer;        /* of those that have ended */
    uint64_t last_ns;                       /* of the call in the log that began last */
    uint64_t cleared_head;   /* of its ring, when all was cleared: ends before may be of that */
    bool is_over;            /* the thread has ended, or the trace has */
    uint64_t waits_for;      /* what follows a place in the ring that is not filled in; 0: none */
    uint64_t waits_since_ns; /* … since when */
};

enum trace_collecting {
    TRACE_COLLECT_ENDED, /* threads that have ended, whose memory others need */
    TRACE_COLLECT_ALL,   /* … and whatever has changed */
    TRACE_COLLECT_END,   /* … and all that is logged: the trace ends, and threads go on */
    TRACE_COLLECT_LAST,  /* the program has ended, and all its threads */
};

/* == figures.c == */

/* Gives the thread that has taken a slab its row, if it has none yet. Returns 0 or SPROF_ENOMEM. */
int trace_meet_thread(struct trace_session *session, uint32_t slab);

/* Takes what threads have logged. Returns 0 or SPROF_ENOMEM. */
int trace_collect_log(struct trace_session *session);

/* Writes rows of figures. Returns 0 or SPROF_ENOMEM. */
int trace_collect(struct trace_session *session, enum trace_collecting what);

/* What probes have taken of the threads that live, about: calls times what each takes. */
double trace_spent_ticks(struct trace_session *session);

/* What was called so far counts no more; calls in flight count from `ticks` on. Returns 0 or
 * SPROF_ENOMEM. */
int trace_clear_figures(struct trace_session *session, uint64_t ticks);

/* Its cell, which is made where there is none; NULL: out of memory. */
struct trace_cell *trace_cell_of(struct trace_thread *thread, uint32_t function);

/* As the kernel tells; empty where it does not know any more. */
void trace_thread_name(pid_t pid, int32_t tid, char name[16]);

/* As the thread has named itself under a probe, which is known after its end, too; empty where it
 * has not. `pid` and `tid` as the agent has them. */
void trace_thread_own_name(const struct trace_session *session, pid_t pid, int32_t tid,
                           char name[16]);

void trace_figures_release(struct trace_session *session);

/* Where parts of the shared memory are. */
uint64_t trace_slab_offset(const struct trace_session *session, uint32_t slab);
/* The next pages from `at` on and before `end` that were written to, from *first to *behind; false:
 * there are none. Reading elsewhere would make pages of zeros. */
bool trace_next_pages(const struct trace_session *session, uint64_t at, uint64_t end,
                      uint64_t *first, uint64_t *behind);
/* Takes the figures out of slabs that nobody uses any more, some at a time, once threads come and
 * go no longer by the hundred. */
void trace_slabs_empty(struct trace_session *session);

/* The slabs that may be in use. */
uint32_t trace_slab_count(const struct trace_session *session);

/* The row that threads share which have none of their own. Returns 0 or SPROF_ENOMEM. */
int trace_rest_begin(struct trace_session *session);

/* == sums.c == */

/* What a thread has called since `base`. Extremes are not differences: they are begun anew where
 * something is cleared. */
void trace_figures_subtract(struct trace_figures *figures, const struct trace_figures *base);
void trace_figures_add(struct trace_figures *sum, const struct trace_figures *figures);

/* Counts and times beyond `most`, as trace_most_ticks says it, are 0: the command has written them,
 * and sums over rows would overflow. */
void trace_figures_limit(struct trace_figures *figures, uint64_t most);
uint64_t trace_limited(uint64_t count, uint64_t most);
int64_t trace_limited_time(int64_t ticks, uint64_t most);

/* == memory.c == */

/* Gives up percentiles, then figures of their own for functions that threads have not called yet,
 * where the figures of all programs take more than they may. Returns 0 or SPROF_ENOMEM. */
int trace_memory_look(struct trace_session *session);

/* Adds calls that found no room of their own to the row that threads share. */
int trace_memory_collect(struct trace_session *session);

/* The pages of a slab do not exist any more, or may be made again. */
void trace_memory_forget(struct trace_session *session, uint32_t slab);

/* They count no more. */
void trace_memory_clear(struct trace_session *session);

/* What has been given up stays so after a clear: its rows are written again. Returns 0 or
 * SPROF_ENOMEM. */
int trace_memory_tell_again(struct trace_session *session);

/* == paths.c == */

/* Whether calls of a thread are counted by path. */
bool trace_has_paths(const struct trace_session *session, const struct trace_thread *thread);

/* Writes rows of a thread's call paths, and adds up by function what is in them; begins them anew.
 * Cells have what was seen before. `nodes`: where its nodes are in the shared memory. */
int trace_read_paths(struct trace_session *session, struct trace_thread *thread, uint64_t nodes);
int trace_clear_paths(struct trace_session *session, struct trace_thread *thread, uint64_t nodes);

/* == rows.c == */

/* The stack of a function's entry below that of its caller (0: none). Returns 0, SPROF_ENOMEM, or
 * SPROF_ENOTFOUND where the recording knows no module at its place: then it is counted among the
 * functions that have no rows. */
int trace_node_of(struct trace_session *session, uint32_t function, uint32_t caller,
                  uint32_t *node);

/* Writes what adds up, for a stack, or writes it again. */
int trace_put_sample(struct trace_session *session, uint64_t calls, int64_t self, uint32_t thread,
                     uint32_t node, struct trace_cell *cell);

/* Notes what time it is, in both clocks. */
void trace_take_time(struct trace_session *session);

/* More ticks than have passed since the trace began: no thread has made so many calls, or spent so
 * much time in a function. */
uint64_t trace_most_ticks(const struct trace_session *session);

/* Writes the row of a function of a thread, or writes it again. Returns 0 or SPROF_ENOMEM. */
int trace_put_row(struct trace_session *session, uint32_t thread, struct trace_cell *cell,
                  const struct trace_figures *figures);

/* Notes that a probe does less or more from now on: "timed", "counted" or "off". `share`: what
 * probes took of the CPU time, in 0 … 1; 0: for lack of memory, and what is timed then has no
 * percentiles. Returns 0 or SPROF_ENOMEM. */
int trace_put_probe_event(struct trace_session *session, uint32_t number, const char *tier,
                          double share);

#endif
