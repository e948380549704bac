/* GOT slots with thunks, and their figures. */
#ifndef SPROF_PROBING_OUTSIDE_SLOTS_H
#define SPROF_PROBING_OUTSIDE_SLOTS_H

#include "probing/program.h"

struct probing_outside_slot {
    uint64_t address;
    uint64_t import, name; /* hashes of its symbol with and without version */
    uint64_t seen;         /* value that was examined in vain; 0: none */
    uint64_t target;       /* function; 0: unknown */
    uint32_t index;        /* of the thunk, if `target` is set */
    uint32_t file;
    bool was_loaded; /* the file can be unloaded */
};

struct probing_outside_slots {
    struct probing_outside_slot *items;
    size_t count, capacity;
};

/* Calls through one slot, in ticks. */
struct probing_outside_sum {
    uint64_t calls; /* ended */
    int64_t self, total;
    uint64_t max;
};

struct probing_outside_target {
    uint64_t address;
    uint32_t module; /* recorded while its process has it; 0: not yet */
    uint64_t offset;
    uint32_t node;    /* of its row; 0: none */
    bool is_off;      /* switched off for --max-overhead */
    bool is_unplaced; /* in no recorded module, so without a row */
    struct probing_outside_sum sum;
    uint64_t written;        /* calls in its row */
    uint64_t governed_calls; /* at the governor's last check */
    int64_t governed_self;
};

struct probing_outside {
    uint32_t first, room; /* thunk numbers */
    bool is_on;
    bool is_new; /* slots were looked at since the reader of calls last saw them */
    struct probing_outside_slots slots;
    SPROF_VEC(struct probing_outside_target) targets; /* by index */
    SPROF_VEC(struct probing_file) files;             /* planned only for this */
    size_t files_seen;                                /* whose slots are listed */
    uint64_t next_ns;
    uint32_t rounds;
    struct probing_outside_sum *read[PROBE_SLABS]; /* owned; `room` figures each; or NULL */
    uint64_t calls;                                /* of all */
};

#endif
