/* What lies where in one address space, now and earlier. It holds rows of mappings only; the caller
 * keeps whose space it is, and what its modules are. */
#ifndef SPROF_MODEL_ADDRESS_SPACE_H
#define SPROF_MODEL_ADDRESS_SPACE_H

#include "base/base.h"

struct model_mapping {
    uint32_t id, process, module;
    uint64_t start, end; /* addresses */
    uint64_t file_offset;
    uint64_t start_ns, end_ns; /* CLOCK_MONOTONIC; end_ns 0: still there */
};

/* A vector of ids. */
struct model_ids {
    uint32_t *items;
    size_t count, capacity;
};

/* The rows of all address spaces of a recording. Zero is valid and empty. Pointers handed out stay
 * valid. */
struct model_mappings {
    struct sprof_arena arena;
    SPROF_VEC(struct model_mapping *) rows;
    uint32_t first; /* added to every new id */
    uint32_t newest_generation;
};

struct model_address_space {
    uint32_t process;         /* what its rows name as theirs; 0: the kernel */
    uint32_t generation;      /* changes with every mapping, never repeats in a recording, never 0
                                 once it has changed */
    struct model_ids mapped;  /* the current mappings, sorted by address; those it has from a fork
                                 are its ancestors' rows */
    struct model_ids history; /* all mappings that were ever its own, by start time */
    const struct model_address_space *heir_of; /* whose mappings it had at first, from a fork, … */
    uint64_t inherited_ns;                     /* … as they were then; 0 where none */
    uint64_t exec_ns; /* of its first exec, which ends the inheritance; 0: none */
};

void model_mappings_release(struct model_mappings *mappings);
void model_address_space_release(struct model_address_space *space);

/* A generation that no space has had. */
uint32_t model_mappings_generation(struct model_mappings *mappings);

/* Ends every mapping: at an exit, or, with `exec`, where another program is executed. */
void model_address_space_clear(struct model_mappings *mappings, struct model_address_space *space,
                               bool exec, uint64_t time_ns);

/* Hands the parent's present mappings to a child that has none. Returns 0 or SPROF_ENOMEM. */
int model_address_space_inherit(struct model_mappings *mappings,
                                const struct model_address_space *parent,
                                struct model_address_space *child, uint64_t time_ns);

/* Enters a mapping from its start_ns on. What it covers of older ones ends there, split where need
 * be; one that is there already changes nothing. Its id, process and end are set here. Returns 0 or
 * SPROF_ENOMEM. */
int model_address_space_map(struct model_mappings *mappings, struct model_address_space *space,
                            const struct model_mapping *added);

/* The mapping that holds an address now, or (slower) at an earlier time, at_ns; 0: now. NULL where
 * there is none. */
const struct model_mapping *model_address_space_find(const struct model_mappings *mappings,
                                                     const struct model_address_space *space,
                                                     uint64_t address, uint64_t at_ns);

#endif
