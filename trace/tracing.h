/* trace, inside: the struct of a session, and functions that its files share. */
#ifndef SPROF_TRACE_TRACING_H
#define SPROF_TRACE_TRACING_H

#include "agent/agent.h"
#include "agent/probe.h"
#include "control/control.h"
#include "counters/counters.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "recording/recording.h"
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
#include "trace/keep_rule.h"
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

/* A file of the command that has probes, or functions that leave frames. */
struct trace_file {
    struct plan plan;
    const char *path;  /* when it was found */
    uint64_t identity; /* see plan_identity */
    uint64_t bias;
    bool is_chosen;
    bool on_demand;                /* no function of it is chosen at the start */
    uint64_t island, island_bytes; /* of the copies of its functions' beginnings */
    size_t first, count;           /* its functions, as a range of the probes */
    bool stays;                    /* it cannot be unloaded; see passed.c */
    /* Where it was loaded later: */
    bool is_loaded;
    uint64_t loaded_at; /* address of its code */
    uint32_t module;    /* id of its row; 0: it was there from the start */
    uint64_t offset;    /* of its code in the file, less the vaddr */
    uint32_t *callers;  /* of each function of the plan: see history.c; NULL: not counted yet */
    struct trace_allocator
        *allocator; /* for --heap and --heap-check, see heap.c; NULL: it is no allocator */
};

/* A function with a probe. Its number is the one in its thunk. */
struct trace_probe {
    uint64_t further; /* by which its offset in the file exceeds what `offset` of the file says: its
                         code lies in another segment than that of the file's first function */
    uint32_t file;
    const struct plan_function *function;
    uint32_t thunk;    /* place of its thunk: its number, unless an earlier trace has left thunks */
    uint8_t tier;      /* enum probe_tier */
    uint8_t operation; /* of an allocator, as in struct probe_heap; 0: none */
    bool is_chosen;    /* else it has a probe because it leaves frames, or as a spare one */
    bool is_spare;     /* it rests until a command adds it, and is chosen from then on */
    bool is_on;        /* by the ranges */
    bool is_placed;    /* its jump was written */
    uint8_t jump[PLAN_JUMP_BYTES]; /* the bytes of that */
    uint8_t pass_at,
        pass_byte;          /* the byte of the jump that leads past the thunk; 0: there is none */
    uint32_t node;          /* of its entry; 0: none yet */
    uint64_t calls;         /* of all threads, as last written */
    uint64_t written_stack; /* bytes, in its row; 0: it has none */
    uint64_t written_heap;  /* blocks and bytes, added up, in its row; 0: it has none */
    uint64_t timed_calls, self_ns; /* timed calls that ended */
    uint8_t governed;              /* enum trace_governed */
    uint64_t governed_calls;       /* at the governor's last look */
    double governed_rate;          /* calls in a nanosecond of CPU time, when there were some */
    bool is_logged;                /* blocks of calls may name it */
    bool is_described;             /* it has a row of its own */
    uint64_t unlogged;             /* of all threads, since the last row of it */
    uint32_t unlogged_second;      /* of the run, in which they were */
    uint64_t unlogged_in_second;   /* calls in that second that its row holds */
    uint64_t first_ns;             /* time in the run of its first call; 0: none is known */
    bool is_looked_for;            /* it has a row of coverage */
    bool is_unplaced;              /* the recording has no module there, so it has no rows */
    bool is_restored;              /* its original bytes are back, in one process at least */
    bool was_off;                  /* at the last look of passed.c */
    bool is_passed;                /* its thunk, or its jump, leads past the agent: see passed.c */
    bool rests;            /* its original bytes are back until it is to be on: see rest.c */
    uint64_t off_ns;       /* when it was seen to be off; 0: it is on or at rest */
    bool is_beyond;        /* a row says that its calls are only counted: see memory.c */
    uint32_t drill_number; /* in a drill-down, + 1; 0: it has none yet */
    bool is_drilled;       /* a drill-down wants it to be on */
};

/* A rule for calls that are kept. Its number, which the agent and rows have, is never another's. */
struct trace_rule {
    struct trace_keep_rule rule; /* owned, as is its text */
    char *text;
    struct plan_expressions *functions, *by[TRACE_KEEP_EXPRESSIONS]; /* NULL: all; owned */
    uint64_t from_ns, to_ns; /* of the run; to_ns 0: it is in force */
    bool is_over;
};

/* Calls that were kept, of all programs. */
struct trace_kept {
    SPROF_VEC(struct trace_rule) rules; /* also those that are over */
    uint32_t rows;                      /* numbers that rows have */
    uint64_t flush_ns;                  /* not before this rows are written, unless they are many */
    uint32_t request_parts;             /* the same of parts of requests */
    uint64_t calls, callers;
    uint64_t lost;         /* ends of callers without room */
    uint64_t remarks_lost; /* requests and notes without room, or that could not be read */
    bool requests_refused; /* the program's own ones, beside --request */
    uint64_t fired[PROBE_KEEP_RULES], dropped[PROBE_KEEP_RULES];
    uint64_t tested[PROBE_KEEP_RULES]; /* calls of functions to which a rule applies */
    uint64_t unread[PROBE_KEEP_RULES]; /* calls whose values, which decide, could not be read */
};

/* Calls that have met all else of a rule about which the tracer decides. The agent counts those of
 * other rules. */
struct trace_late_counts {
    uint64_t seen, taken;
    struct {
        uint64_t number, calls;
    } seconds[2]; /* the latest odd and even one */
};

/* What the agent of one program had dropped, and what its functions had been called, when that was
 * last read. */
struct trace_kept_read {
    uint64_t dropped[PROBE_KEEP_RULES], tested[PROBE_KEEP_RULES], lost, remarks_lost;
    struct trace_late_counts late[PROBE_KEEP_RULES];
    uint64_t (*ended)[PROBE_BUCKETS]; /* by rule, how long calls took; NULL: no rule needs it; owned
                                       */
    uint64_t calls, cpu_ns, ns;       /* for load, when that was last looked at */
    SPROF_VEC(bool) requests;         /* by function, whether each call is a request */
};

/* A moment, also by the command's clock. */
struct trace_moment {
    uint64_t ns, ticks;
};

/* The times of a program. */
struct trace_times {
    struct trace_moment start;
    struct trace_moment cleared; /* the last clear; 0: there was none */
    uint64_t now_ns;             /* when time was last taken; at the end the time of the end */
    double ns_per_tick;          /* as known at `now_ns` */
};

/* Why calls of the program are only counted. */
struct trace_untimed {
    const char *runtime; /* name of a runtime that walks stacks by itself; NULL: none */
    const char *copier;  /* name of a library that copies stacks, or cannot unwind through thunks;
                            NULL: none */
};

/* What is to count the calls. */
struct trace_choice {
    const struct probe_backend *backend;
    const char *reason; /* why the agent cannot be put into the program ("is linked statically");
                           NULL: it can, or uprobes are asked for */
};

/* Threads with rows of their own. With forked processes eight times as many. */
enum { TRACE_THREADS = 512 };

/* What all programs of a trace have in common. */
struct trace {
    SPROF_VEC(struct trace_session *) programs; /* those that run, in any order */
    const struct trace_membership *membership;
    struct trace_children *children; /* with --children; owned */
    struct target *target;
    struct inject_keeper keeper;
    struct inject_hold hold; /* a command that waits for its probes */
    int child_fd;            /* the command's end of the agent's socket pair; -1: closed */
    struct control_server control;
    struct sprof_urgency urgency; /* while a control command waits */
    bool ends;                    /* by a control command */
    bool pauses;                  /* figures are to be read, and the next phase begun */
    uint64_t off_ns;              /* when to pause; 0: no deadline */
    uint64_t cleared_cpu_ns;      /* of the programs at the last clear */
    uint64_t own_cpu_start_ns;
    uint64_t next_flush_ns;
    uint32_t phase;               /* counted from 1 */
    uint64_t last_sample;         /* id */
    struct probe_cost known_cost; /* measured in another program; 0: not known */
    struct {
        double tick_ns;                   /* for limits in ticks; 0: not known */
        uint64_t opened_ns, opened_ticks; /* one moment in both clocks */
    } clock;
    struct {
        uint64_t rows, lines; /* lines, or what would be lines */
        uint64_t flushed;     /* rows that the writer has */
    } warned;
    struct {
        size_t count;           /* functions that were called, in mode coverage */
        struct sprof_map nodes; /* node of an entry → time of its first call; see coverage.c */
    } covered;
    struct {
        uint64_t cpu_ns;
        struct trace_sums calls;
        struct trace_result probes;
    } ended; /* programs */
    struct trace_kept kept;
    struct trace_states
        *states; /* of calls with rows, see states.h; NULL: none were wanted; owned */
    struct trace_memory_sums memory;
    struct trace_overhead overhead;
    struct trace_history history;
    bool has_reported_compiled;      /* see compiled.c */
    struct trace_drilling *drilling; /* with --adaptive; owned */
    const char *reason;              /* why uprobes count, as in struct trace_choice */
};

/* The trace of one program: of the process that executed it and those that were forked from it. The
 * session that trace_open makes (`common`) owns what all have in common. For a single process
 * without --children it is the only program. The others borrow from it. */
struct trace_session {
    struct trace_options options;
    const struct probe_backend *backend;
    struct trace_session *common;      /* made by trace_open; may be this one */
    struct trace *trace;               /* owned by `common` */
    struct trace_warnings *warnings;   /* NULL: none are wanted; owned */
    struct trace_points *points;       /* NULL: without --all-points; owned */
    struct trace_outside *outside;     /* NULL: time outside is not measured; owned */
    struct trace_below_program *below; /* of a drill-down; owned */
    struct trace_processes processes;
    struct recording *recording;
    struct store_run *run;
    struct sprof_arena arena;
    uint32_t event;
    struct inject_process process; /* that executed the program */
    struct trace_resting resting;
    struct trace_gone_jumps gone_jumps;
    SPROF_VEC(struct trace_file) files;
    SPROF_VEC(struct trace_probe) probes;
    bool has_all_spares;           /* all functions of chosen modules that can have one */
    uint32_t capacity;             /* probes that have room in the shared memory */
    struct trace_uprobes *uprobes; /* of that back end; else NULL */
    struct trace_loads *loads;     /* NULL: libraries that are loaded later are not followed */
    struct trace_loader loader;
    struct trace_governor governor;
    SPROF_VEC(struct trace_range)
    ranges; /* #1 first, then as they were said; the last one decides */
    enum trace_mode mode;
    uint32_t slab_count;
    struct trace_call_log log;
    struct trace_kept_read kept;
    struct trace_values values; /* see values.h */
    struct trace_coverage coverage;
    bool paused;    /* by commands */
    bool is_out;    /* the process has no probes any more */
    bool has_lease; /* see lease.c */
    struct trace_threads threads;
    struct trace_memory memory;
    struct trace_counts counts;
    struct trace_executable executable;
    pid_t leaves; /* a process that has executed another program, while its last figures are read */
    struct trace_untimed untimed;
    struct trace_times times;
    uint64_t next_round_ns;
    struct trace_compiled compiled;
    struct trace_history_states history;
};

/* The memory that a program's agent shares with the session. */
static inline struct counters_pages trace_pages(const struct trace_session *session)
{
    return (struct counters_pages){session->process.shared, session->process.memory_fd,
                                   session->slab_count, session->capacity};
}

/* == detach.c == */

/* Notes that the trace is about to end or not, for tracers that wait for its processes. */
void trace_owner_end(struct trace_session *session, bool is_ending);

/* Takes out all probes and what was mapped for them. Threads stand still for milliseconds. Open
 * calls stay open. Errors as of inject_take_out. */
int trace_detach(struct trace_session *session, struct sprof_error *error);

/* Takes the probes out of a process that goes on. A reason why they stay in it is reported. */
void trace_leave_process(struct trace_session *session);

/* == stack_copiers.c == */

/* Has calls counted alone in a process where something copies stacks, or in a listening one where
 * nongnu libunwind unwinds for exceptions. Returns 0, or a negative code where its mappings cannot
 * be read. */
int trace_stack_copiers_find(struct trace_session *session);

/* True where a mapping is the first of such a library; the caller then calls trace_switch. */
bool trace_stack_copier_came(struct trace_session *session, const struct model_mmap *mapping);

/* == lease.c == */

/* Begins the lease of new shared memory, without an end. */
void trace_lease_make(struct trace_session *session);

/* Sets when all programs are to pause; 0: never by themselves. */
void trace_lease_set_deadline(struct trace_session *session, uint64_t off_ns);

/* Renews the leases of all programs. Probes whose lease has ended go on; that is reported where it
 * was not meant. Returns 0 or a negative code. */
int trace_lease_serve(struct trace_session *session, struct sprof_error *error);

/* == phases.c == */

/* Whether time that passes now is no base of shares: in pauses, and in mode coverage, which times
 * no calls. */
bool trace_is_unmeasured(const struct trace_session *session);

/* Begins a phase of the run at session->times.now_ns. `mark` may be NULL. Returns 0 or
 * SPROF_ENOMEM. */
int trace_begin_phase(struct trace_session *session, const char *mark, struct sprof_error *error);

/* Begins the first phase of the run, a pause where that was asked for. */
int trace_begin_first_phase(struct trace_session *session, struct sprof_error *error);

/* Notes that nothing was measured for so long, as a pause. Returns 0 or a negative code. */
int trace_note_gap(struct trace_session *session, uint64_t gap_ns, struct sprof_error *error);

/* Switches the probes of all programs as their sessions say. */
void trace_switch_all(struct trace_session *session);

/* == command.c == */

/* Opens the control socket. */
int trace_commands_begin(struct trace_session *session, struct sprof_error *error);

/* Carries out commands that have come in, and what is due. */
int trace_serve_commands(struct trace_session *session, struct sprof_error *error);

/* == flush.c == */

/* Drops what was measured so far. Returns 0 or SPROF_ENOMEM. */
int trace_clear(struct trace_session *session);

/* Reads figures and has them written, so that a death loses a second at most. Where this takes long
 * it is done less often. */
int trace_flush(struct trace_session *session, struct sprof_error *error);

/* Takes all that one program has called. Returns 0 or SPROF_ENOMEM. */
int trace_collect_program(struct trace_session *session, enum trace_collecting what);

/* Writes the run's duration and CPU time, since the start or the last clear, into its row. */
void trace_account(struct trace_session *session, uint64_t target_cpu_ns);

/* == backend.c == */

/* How a program is entered. */
struct trace_entry {
    struct trace_choice choice;
    int agent_fd, lock_fd; /* of a process; -1: there is none */
};

/* Decides how a program is entered, and locks a process. It only changes a process that a killed
 * trace has left probes in. Errors say what is in the way. */
int trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                     struct sprof_error *error);
void trace_entry_close(struct trace_entry *entry);

/* Which back end it is to be, before anything is done. SPROF_EUNSUPPORTED: none can be, or not with
 * these options. */
int trace_backend_choose(const struct trace_options *options, struct trace_choice *choice,
                         struct sprof_error *error);

#endif
