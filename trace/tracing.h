/* Internal header of trace: struct trace_session and shared functions. Functions return 0 or a
 * negative SPROF_E code. Zero and NULL in a struct mean none or unknown. */
#ifndef SPROF_TRACE_TRACING_H
#define SPROF_TRACE_TRACING_H

#include "agent/agent.h"
#include "agent/probe.h"
#include "control/control.h"
#include "counters/counters.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "recording/recording.h"
#include "rules/rules.h"
#include "target/target.h"
#include "trace/compiled.h"
#include "trace/executed.h"
#include "trace/figures/coverage.h"
#include "trace/figures/figures.h"
#include "trace/figures/log.h"
#include "trace/figures/memory.h"
#include "trace/figures/values.h"
#include "trace/governor.h"
#include "trace/history.h"
#include "trace/loader.h"
#include "trace/membership.h"
#include "trace/probe_backend.h"
#include "trace/probes/gone_jumps.h"
#include "trace/probes/ranges.h"
#include "trace/probes/rest.h"
#include "trace/processes.h"
#include "trace/spent.h"
#include "trace/totals.h"
#include "trace/trace.h"

/* A file with probes, or with functions that leave other functions' frames. */
struct trace_file {
    struct plan plan;
    const char *path;
    uint64_t identity;
    uint64_t bias;
    bool is_chosen;
    bool on_demand; /* nothing is chosen at the start */
    uint64_t island, island_bytes;
    size_t first, count; /* its probes */
    bool stays;          /* it cannot be unloaded */
    /* Of files that were loaded later: */
    bool is_loaded;
    uint64_t loaded_at; /* of its code */
    uint32_t module;    /* row id; 0: loaded at the start */
    uint64_t offset;    /* in the file, less the vaddr of the code */
    uint32_t *callers;  /* number of direct callers, by function of the plan */
    struct trace_allocator *allocator;
};

/* A function with a probe. Its index is the number in its thunk. */
struct trace_probe {
    uint64_t further; /* added to the file's `offset` for code in another segment */
    uint32_t file;
    const struct plan_function *function;
    uint32_t thunk;    /* index of its thunk; not its own index if an earlier trace left thunks */
    uint8_t tier;      /* enum probe_tier */
    uint8_t operation; /* of an allocator, as in struct probe_heap */
    bool is_chosen;    /* else spare, or leaves frames */
    bool is_spare;     /* rests until a command chooses it */
    bool is_added;     /* was spare; its values have not been looked for */
    bool is_on;
    bool is_placed;
    uint8_t jump[PLAN_JUMP_BYTES];
    uint8_t pass_at, pass_byte; /* index of the jump byte that selects thunk or copy, and its other
                                   value; pass_at 0: none */
    uint32_t node;
    uint64_t calls; /* as last written */
    uint64_t bad_results,
        bad_results_seen;          /* kept by a rule on results; of these, in drill-downs */
    uint64_t written_stack;        /* bytes, as last written */
    uint64_t written_heap;         /* blocks + bytes, as last written */
    uint64_t timed_calls, self_ns; /* of timed calls that have ended */
    uint8_t governed;              /* enum trace_governed */
    uint64_t governed_calls;       /* at the last look */
    double governed_rate;          /* per nanosecond of CPU time */
    bool is_logged;
    bool is_described;           /* it has its own row */
    uint64_t unlogged;           /* calls since the last row of unlogged calls */
    uint32_t unlogged_second;    /* to which that row belongs, in the run */
    uint64_t unlogged_in_second; /* calls in that row */
    uint64_t first_ns;           /* of its first call, in time of the run */
    bool has_coverage_row;       /* has a row of coverage */
    bool is_unplaced;            /* in no recorded module, so without rows */
    bool is_restored;            /* original bytes are back in some process */
    bool was_off;                /* at the last pass of passed.c */
    bool is_passed;              /* thunk or jump skips the agent */
    bool rests;                  /* original bytes are back while it is off */
    uint64_t off_ns;             /* when it was turned off; 0: on or at rest */
    bool is_beyond;              /* a row notes that its calls are only counted */
    uint32_t drill_number;       /* number in a drill-down + 1 */
    bool is_drilled;             /* on by a drill-down */
};

/* A rule for kept calls. Agent and rows use its number, which is never reused. */
struct trace_rule {
    struct rules_keep rule;
    char *text;
    struct plan_expressions *functions, *by[RULES_KEEP_EXPRESSIONS]; /* NULL: all; owned */
    uint64_t from_ns, to_ns; /* in time of the run; to_ns 0: in force */
    bool is_over;
};

/* Kept calls of all programs. */
struct trace_kept {
    SPROF_VEC(struct trace_rule) rules; /* also ended ones */
    uint32_t rows;                      /* last number given to a row */
    uint64_t flush_ns;                  /* few rows wait until then */
    uint32_t request_parts;             /* last number given to a row */
    uint64_t calls, callers;
    uint64_t lost;            /* ends of callers without room */
    uint64_t remarks_lost;    /* requests and notes without room, or that could not be read */
    uint64_t requests_unread; /* calls of --request whose value could not be read */
    bool requests_refused;    /* the program's own ones, beside --request */
    uint64_t fired[PROBE_KEEP_RULES], dropped[PROBE_KEEP_RULES];
    uint64_t tested[PROBE_KEEP_RULES]; /* calls of the rule's functions */
    uint64_t unread[PROBE_KEEP_RULES]; /* calls with unreadable values */
};

/* Calls that met all other conditions of a rule that only the tracer can decide. The agent counts
 * those of other rules. */
struct trace_late_counts {
    uint64_t seen; /* for `every` */
    struct trace_late_taken {
        uint64_t start, calls;
    } taken[PROBE_KEEP_STARTS]; /* for `next`; start: of struct probe_keep_starts */
    struct {
        uint64_t number, calls;
    } seconds[2]; /* for `first`: last odd and even second */
};

/* What was last read from one program's agent. */
struct trace_kept_read {
    uint64_t dropped[PROBE_KEEP_RULES], tested[PROBE_KEEP_RULES], lost, remarks_lost;
    struct trace_late_counts late[PROBE_KEEP_RULES];
    uint64_t (*ended)[PROBE_BUCKETS]; /* calls by rule and duration; owned */
    uint64_t calls, cpu_ns, ns;       /* for `while LOAD` */
    SPROF_VEC(bool) requests;         /* by function: each call is a request */
};

/* One moment in nanoseconds and in the program's ticks. */
struct trace_moment {
    uint64_t ns, ticks;
};

struct trace_times {
    struct trace_moment start;
    struct trace_moment cleared;
    uint64_t now_ns;    /* last time taken; finally the end */
    double ns_per_tick; /* as known at now_ns */
};

/* Why calls are only counted. */
struct trace_untimed {
    const char *runtime; /* walks stacks by itself */
    const char *copier;  /* copies stacks, or cannot unwind through thunks */
};

struct trace_choice {
    const struct probe_backend *backend;
    const char *reason; /* why the agent cannot enter ("is linked statically") */
};

/* Threads with rows; eight times as many with forks. */
enum { TRACE_THREADS = 512 };

/* Shared by all programs of a trace. */
struct trace {
    SPROF_VEC(struct trace_session *) programs; /* running, unordered */
    const struct trace_membership *membership;
    struct trace_children *children; /* owned */
    struct target *target;
    struct inject_keeper keeper;
    struct inject_hold hold;
    int child_fd; /* the command's end of the agent's socket pair; -1: closed */
    struct control_server control;
    struct sprof_urgency urgency; /* while a control command waits */
    bool ends;                    /* by a command */
    bool pauses;                  /* this phase is to end */
    uint64_t off_ns;              /* when to pause */
    uint64_t cleared_cpu_ns;      /* at the last clear */
    uint64_t own_cpu_start_ns;
    uint64_t next_flush_ns;
    uint32_t phase; /* counted from 1 */
    uint64_t last_sample;
    struct probe_cost known_cost; /* from another program */
    struct {
        double tick_ns;                   /* for limits in ticks */
        uint64_t opened_ns, opened_ticks; /* the same moment */
    } clock;
    struct {
        uint64_t rows, lines; /* lines: also suppressed ones */
        uint64_t flushed;     /* rows given to the writer */
    } warned;
    struct {
        size_t count;           /* called functions */
        struct sprof_map nodes; /* node of an entry → time of its first call */
    } covered;
    struct {
        uint64_t cpu_ns;
        struct trace_sums calls;
        struct trace_result probes;
    } ended;
    struct trace_kept kept;
    struct trace_states *states; /* of calls with rows; owned */
    struct trace_memory_sums memory;
    struct trace_overhead overhead;
    struct trace_history history;
    bool has_reported_compiled;
    struct trace_drilling *drilling; /* owned */
    const char *reason;
};

/* The trace of one program: of a process and its forks. trace_open makes the common session; others
 * borrow from it. */
struct trace_session {
    struct trace_options options;
    const struct probe_backend *backend;
    struct trace_session *common;      /* maybe this one */
    struct trace *trace;               /* owned by `common` */
    struct trace_warnings *warnings;   /* owned */
    struct trace_points *points;       /* owned */
    struct trace_outside *outside;     /* owned */
    struct trace_below_program *below; /* owned */
    struct trace_processes processes;
    struct recording *recording;
    struct store_run *run;
    struct sprof_arena arena;
    uint32_t event;
    struct inject_process process; /* executed the program */
    struct trace_resting resting;
    struct trace_gone_jumps gone_jumps;
    SPROF_VEC(struct trace_file) files;
    SPROF_VEC(struct trace_probe) probes;
    bool has_all_spares; /* all possible probes of chosen modules exist */
    uint32_t capacity;   /* probes in shared memory */
    struct trace_uprobes *uprobes;
    struct trace_loads *loads; /* NULL: later libraries are not followed */
    struct trace_loader loader;
    struct trace_governor governor;
    SPROF_VEC(struct trace_range)
    ranges; /* by time; the last match decides */
    enum trace_mode mode;
    uint32_t slab_count;
    struct trace_call_log log;
    struct trace_kept_read kept;
    struct trace_values values;
    struct trace_coverage coverage;
    bool paused;
    bool is_out;    /* the probes have left */
    bool has_lease; /* its lease has an end */
    struct trace_threads threads;
    struct trace_memory memory;
    struct trace_counts counts;
    struct trace_executable executable;
    pid_t leaves; /* executes another program; its last figures are being read */
    struct trace_untimed untimed;
    struct trace_times times;
    uint64_t next_round_ns;
    struct trace_compiled compiled;
    struct trace_history_states history;
};

static inline struct counters_pages trace_pages(const struct trace_session *session)
{
    return (struct counters_pages){session->process.shared, session->process.memory_fd,
                                   session->slab_count, session->capacity};
}

/* == detach.c == */

/* Marks whether the trace is about to end, for tracers that wait for its processes. */
void trace_owner_end(struct trace_session *session, bool is_ending);

/* Removes all probes and their memory. Stops threads for milliseconds; open calls stay open. Errors
 * as of inject_take_out. */
int trace_detach(struct trace_session *session, struct sprof_error *error);

/* Removes the probes from a process that goes on. Logs failures. */
void trace_leave_process(struct trace_session *session);

/* == stack_copiers.c == */

/* Stops timing if a library copies stacks, or nongnu libunwind unwinds a listening process. */
int trace_stack_copiers_find(struct trace_session *session);

/* True for the first mapping of a library that copies stacks; then call trace_switch. */
bool trace_stack_copier_came(struct trace_session *session, const struct model_mmap *mapping);

/* == lease.c == */

void trace_lease_make(struct trace_session *session);

/* Sets when all programs pause; 0: never. */
void trace_lease_set_deadline(struct trace_session *session, uint64_t off_ns);

/* Renews all leases and restarts probes after a lease ended. Reports unplanned ends. */
int trace_lease_serve(struct trace_session *session, struct sprof_error *error);

/* == phases.c == */

/* True if shares do not count this time: in pauses and in mode coverage. */
bool trace_is_unmeasured(const struct trace_session *session);

/* The phase starts at session->times.now_ns. `mark` may be NULL. */
int trace_begin_phase(struct trace_session *session, const char *mark, struct sprof_error *error);

int trace_begin_first_phase(struct trace_session *session, struct sprof_error *error);

/* Records the last `gap_ns` as a pause. */
int trace_note_gap(struct trace_session *session, uint64_t gap_ns, struct sprof_error *error);

/* Switches all programs' probes to this session's state. */
void trace_switch_all(struct trace_session *session);

/* == command.c == */

/* Only a trace that starts paused needs a socket. */
int trace_commands_begin(struct trace_session *session, struct sprof_error *error);

int trace_serve_commands(struct trace_session *session, struct sprof_error *error);

/* == flush.c == */

int trace_clear(struct trace_session *session);

/* Writes figures: each second, or less often if that is slow. Later ones are lost if sprof dies. */
int trace_flush(struct trace_session *session, struct sprof_error *error);

int trace_collect_program(struct trace_session *session, enum trace_collecting what);

/* Updates duration and CPU time in the run's row. */
void trace_account(struct trace_session *session, uint64_t target_cpu_ns);

/* == backend.c == */

struct trace_entry {
    struct trace_choice choice;
    int agent_fd, lock_fd; /* -1: none */
};

/* Chooses the way in and locks a process. Changes a process only if a killed trace has left probes
 * in it. */
int trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                     struct sprof_error *error);
void trace_entry_close(struct trace_entry *entry);

/* Changes nothing. SPROF_EUNSUPPORTED: no back end fits the program or the options. */
int trace_backend_choose(const struct trace_options *options, struct trace_choice *choice,
                         struct sprof_error *error);

#endif
