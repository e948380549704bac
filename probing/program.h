/* A traced program as far as its probes go: files, functions with probes, and what is in force.
 * Functions of this library take a struct probing_program, which libraries above it extend. */
#ifndef SPROF_PROBING_PROGRAM_H
#define SPROF_PROBING_PROGRAM_H

#include "agent/probe.h"
#include "counters/counters.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "probing/gone_jumps.h"
#include "probing/options.h"
#include "probing/ranges.h"
#include "probing/rest.h"

struct probing_program;

/* What the way into a program permits, and what it does for probes. */
struct probing_way {
    bool has_agent;     /* else the kernel counts, in mode stats only */
    bool borrows;       /* enters through a thread of the running program */
    bool only_embedded; /* only probes in its files; a byte switches each, without a stop */
    bool is_live;       /* the program may run code while its jumps are written */
    bool can_rest;      /* probes that are off can rest */
    bool sees_loads;    /* libraries that are loaded later get probes */

    /* Whether a function without room for a jump can have a probe. NULL: none. */
    bool (*may_stand)(const struct plan_function *function);
    /* Returns a descriptor of the program's memory; the caller closes it. */
    int (*open_code)(struct probing_program *program, struct sprof_error *error);
    /* Sends a request to the agent, with `fd` unless it is -1. Returns an address or -errno. */
    int64_t (*ask)(struct probing_program *program, enum probe_request_kind kind, uint64_t address,
                   uint64_t size, int fd);
    /* Called after changes of process.shared->tiers. NULL: the agent sees them. */
    void (*switched)(struct probing_program *program);
};

/* What all programs of a trace have in common. */
struct probing_group {
    SPROF_VEC(struct probing_program *) programs; /* running, unordered */
    bool may_grow;                                /* later programs may have new functions */
    bool has_others; /* several processes: names in options may belong to others */
};

/* What the governor lets a probe do. */
enum probing_governed {
    PROBING_GOVERNED_NOT,
    PROBING_GOVERNED_COUNT,
    PROBING_GOVERNED_OFF, /* the probe is removed */
};

/* A file with probes, or with functions that leave other functions' frames. */
struct probing_file {
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
    struct probing_allocator *allocator;
};

/* Calls as in rows, of a function or of more. */
struct probing_calls {
    uint64_t calls, in_flight, abnormal;
    uint64_t timed, self_ns; /* of timed calls that have ended */
    uint64_t unlogged;       /* no room in the log */
};

/* A function with a probe. Its index is the number in its thunk. */
struct probing_probe {
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
    struct probing_calls sums; /* of all threads, also ended ones, as last written */
    uint64_t bad_results,
        bad_results_seen;    /* kept by a rule on results; of these, in drill-downs */
    uint64_t written_stack;  /* bytes, as last written */
    uint64_t written_heap;   /* blocks + bytes, as last written */
    uint8_t governed;        /* enum probing_governed */
    uint64_t governed_calls; /* at the last look */
    double governed_rate;    /* per nanosecond of CPU time */
    bool is_logged;
    bool is_described;           /* it has its own row */
    uint64_t unlogged_written;   /* … in rows of unlogged calls */
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

/* One moment in nanoseconds and in the program's ticks. */
struct probing_moment {
    uint64_t ns, ticks;
};

struct probing_times {
    struct probing_moment start;
    struct probing_moment cleared;
    uint64_t now_ns;    /* last time taken; finally the end */
    double ns_per_tick; /* as known at now_ns */
};

/* Why calls are only counted. */
struct probing_untimed {
    const char *runtime; /* walks stacks by itself */
    const char *copier;  /* copies stacks, or cannot unwind through thunks */
};

/* The program's file. */
struct probing_executable {
    const char *path; /* NULL: not known yet */
    dev_t device;
    ino_t inode;
    bool is_replaced; /* the process runs another file */
};

/* The jump to the agent, in the function by which the loader reports libraries. */
struct probing_hook {
    uint64_t at;     /* 0: not placed */
    uint64_t wanted; /* address for it in a running process; 0: none */
    uint8_t original[PLAN_JUMP_BYTES], jump[PLAN_JUMP_BYTES];
};

/* Of one program, as in its rows. */
struct probing_counts {
    uint64_t unplaced_calls, unplaced_warnings; /* no rows: unknown module or thread */
    size_t refused;                             /* chosen, without a probe */
};

/* Zero is a valid start. */
struct probing_program {
    struct trace_options options;
    const struct probing_way *way;
    struct probing_group *group;
    struct sprof_arena arena;
    struct inject_process process; /* executed the program */
    struct probing_executable executable;
    SPROF_VEC(struct probing_file) files;
    SPROF_VEC(struct probing_probe) probes;
    bool has_all_spares; /* all possible probes of chosen modules exist */
    uint32_t capacity;   /* probes in shared memory */
    uint32_t slab_count;
    SPROF_VEC(struct probing_range)
    ranges; /* by time; the last match decides */
    enum trace_mode mode;
    bool paused;
    bool is_out;                     /* the probes have left */
    bool stands_for_all;             /* has no probes; its ranges hold those of all programs */
    struct probing_points *points;   /* owned */
    struct probing_outside *outside; /* owned */
    struct probing_resting resting;
    struct probing_gone_jumps gone_jumps;
    struct probing_hook hook;
    struct probing_untimed untimed;
    struct probing_times times;
    struct probing_counts counts; /* kept by the reader of its calls */
};

static inline bool probing_has_others(const struct probing_program *program)
{
    return program->group->has_others;
}

#endif
