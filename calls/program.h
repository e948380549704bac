/* A traced program with the calls that were read from it. */
#ifndef SPROF_CALLS_PROGRAM_H
#define SPROF_CALLS_PROGRAM_H

#include "calls/coverage.h"
#include "calls/figures.h"
#include "calls/history.h"
#include "calls/log.h"
#include "calls/memory.h"
#include "calls/processes.h"
#include "calls/totals.h"
#include "calls/values.h"
#include "probing/probing.h"
#include "rules/rules.h"
#include "target/target.h"

struct calls_program;
struct calls_trace;

/* How a program's figures come into the shared memory. NULL: the agent writes them. Functions with
 * int return 0 or SPROF_ENOMEM. */
struct calls_reader {
    bool in_nanoseconds;   /* else ticks; only the kernel writes nanoseconds */
    const char *mechanism; /* of all probes; NULL: as planned */
    /* Copies figures to the shared memory, as the agent would. */
    int (*read)(struct calls_program *program, bool at_once);
    int (*clear)(struct calls_program *program);
    bool (*has_ended)(const struct calls_program *program, uint32_t tid);
    struct probe_cost (*cost)(const struct calls_program *program, uint32_t function);
};

/* A rule for kept calls. Agent and rows use its number, which is never reused. */
struct calls_rule {
    struct rules_keep rule;
    char *text;
    struct plan_expressions *functions, *by[RULES_KEEP_EXPRESSIONS]; /* NULL: all; owned */
    uint64_t from_ns, to_ns; /* in time of the run; to_ns 0: in force */
    bool is_over;
    uint64_t asked_ticks; /* of the last `sprof ctl keep-next RE`; 0: none */
    bool is_answered;     /* a call that began later was read */
};

/* Kept calls of all programs. */
struct calls_kept {
    SPROF_VEC(struct calls_rule) rules; /* also ended ones */
    uint32_t rows;                      /* last number given to a row */
    uint64_t flush_ns;                  /* few rows wait until then */
    uint32_t request_parts;             /* last number given to a row */
    uint64_t calls, callers;
    uint64_t lost, cut;       /* ends of callers without room; calls without their callers */
    uint64_t remarks_lost;    /* requests and notes without room, or that could not be read */
    uint64_t requests_unread; /* calls of --request whose value could not be read */
    bool requests_refused;    /* the program's own ones, beside --request */
    uint64_t looked_up, bound, unbound_told; /* rules by value: some function was looked at, some
                                                can meet it, none can and that was said */
    bool has_described;                      /* a function whose debug information was found */
    struct sprof_suggestions near[PROBE_KEEP_RULES]; /* classes and parameters of all programs, to
                                                        those that each rule names */
    struct sprof_arena names;                        /* … of `near` */
    uint64_t fired[PROBE_KEEP_RULES], dropped[PROBE_KEEP_RULES];
    uint64_t tested[PROBE_KEEP_RULES]; /* calls of the rule's functions */
    uint64_t unread[PROBE_KEEP_RULES]; /* calls with unreadable values */
};

/* Calls that met all other conditions of a rule that only the tracer can decide. The agent counts
 * those of other rules. */
struct calls_late_counts {
    uint64_t seen; /* for `every` */
    struct calls_late_taken {
        uint64_t start, calls;
    } taken[PROBE_KEEP_STARTS + 1]; /* for `next`; start: of struct probe_keep_starts, or 0 */
    struct {
        uint64_t number, calls;
    } seconds[2]; /* for `first`: last odd and even second */
};

/* What was last read from one program's agent. */
struct calls_kept_read {
    uint64_t dropped[PROBE_KEEP_RULES], tested[PROBE_KEEP_RULES], lost, cut, remarks_lost;
    uint64_t rested; /* rules that rested before the rings were read */
    struct calls_late_counts late[PROBE_KEEP_RULES];
    uint64_t (*ended)[PROBE_BUCKETS]; /* calls by rule and duration; owned */
    uint64_t calls, cpu_ns, ns;       /* for `while LOAD` */
    SPROF_VEC(bool) requests;         /* by function: each call is a request */
};

/* Threads with rows; eight times as many with forks. */
enum { CALLS_THREADS = 512 };

/* Calls of a session that has more to do while they are read. NULL: nothing. */
struct calls_events {
    void (*look)(struct calls_program *program); /* now and then, while figures are read */
    void (*thread_ends)(struct calls_program *program, uint32_t slab); /* before it is given back */
    void (*slab_is_empty)(struct calls_program *program, uint32_t slab);
};

/* What all programs of a trace have in common. */
struct calls_trace {
    union {
        struct probing_group;
        struct probing_group probing;
    };
    struct calls_events events;
    struct target *target;
    struct inject_keeper keeper;
    uint32_t phase; /* counted from 1 */
    uint64_t last_sample;
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
        struct calls_sums calls;
    } ended;
    struct calls_kept kept;
    struct calls_states *states; /* of calls with rows; owned */
    struct calls_memory_sums memory;
    struct calls_history history;
};

/* Zero is a valid start. */
struct calls_program {
    union {
        struct probing_program;
        struct probing_program probing;
    };
    const struct calls_reader *reader;
    struct calls_trace *all;
    struct recording *recording;
    struct store_run *run;
    uint32_t event;
    struct calls_processes processes;
    struct calls_warnings *warnings; /* owned */
    struct calls_log log;
    struct calls_kept_read kept;
    struct calls_values values;
    struct calls_coverage coverage;
    struct calls_threads threads;
    struct calls_memory memory;
    struct calls_history_states history;
    pid_t leaves; /* executes another program; its last figures are being read */
};

static inline struct counters_pages calls_pages(const struct calls_program *program)
{
    return (struct counters_pages){program->process.shared, program->process.memory_fd,
                                   program->slab_count, program->capacity};
}

static inline struct calls_program *calls_program_at(const struct calls_trace *all, size_t index)
{
    return (struct calls_program *)all->programs.items[index];
}

#endif
