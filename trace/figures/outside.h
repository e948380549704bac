/* trace, inside: slots of the GOT with thunks, and what was measured by them. */
#ifndef SPROF_TRACE_FIGURES_OUTSIDE_H
#define SPROF_TRACE_FIGURES_OUTSIDE_H

#include "trace/tracing.h"

/* A slot through which a traced module calls others. */
struct trace_outside_slot {
    uint64_t address;
    uint64_t import, name; /* hashes of its symbol, with and without the version: see imports.h */
    uint64_t seen;         /* what it held when nothing could be done with it; 0: nothing */
    uint64_t target;       /* the function; 0: none is known yet */
    uint32_t index;        /* of its thunk, where it has a target */
    uint32_t file;
    bool was_loaded; /* its file can be unloaded */
};

struct trace_outside_slots {
    struct trace_outside_slot *items;
    size_t count, capacity;
};

/* Figures of calls through one slot. Ticks. */
struct trace_outside_sum {
    uint64_t calls; /* that ended */
    int64_t self, total;
    uint64_t max;
};

/* The function that a thunk calls. */
struct trace_outside_target {
    uint64_t address;
    uint32_t node;                /* of its row; 0: none yet */
    bool is_off;                  /* to hold --max-overhead */
    struct trace_outside_sum sum; /* of all threads, since the last clear */
    uint64_t written;             /* calls in its row */
    uint64_t looked_calls;        /* at the governor's last look */
    int64_t looked_self;
};

struct trace_outside {
    uint32_t first, room; /* numbers of thunks */
    bool is_on;
    struct trace_outside_slots slots;
    SPROF_VEC(struct trace_outside_target) targets; /* by index */
    SPROF_VEC(struct trace_file) files;             /* planned for this */
    size_t files_seen;                              /* of the session's: their slots are known */
    uint64_t next_ns;
    uint32_t looks;
    struct trace_outside_sum *read[PROBE_SLABS]; /* owned: as last read, `room` each; NULL: never */
    uint64_t calls;                              /* of all */
};

#endif
