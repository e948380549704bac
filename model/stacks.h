/* The address-level calling-context tree of a recording: distinct frames and distinct stacks. */
#ifndef SPROF_MODEL_STACKS_H
#define SPROF_MODEL_STACKS_H

#include "base/base.h"

#include <stdbool.h>

/* An address in a module. `offset` is a file offset (for code without a file, the address itself;
 * for the kernel, the distance from its text's start): the instruction's own for an interrupted
 * one, one byte before the return address for a caller, so that it always lies inside the
 * instruction. */
struct model_frame {
    uint32_t id, module;
    uint64_t offset;
};

struct model_node {
    uint32_t id, parent; /* parent 0: a root (outermost frame) */
    uint32_t frame;
    uint32_t depth;   /* 1 for a root */
    uint8_t found_by; /* enum model_found_by */
    uint32_t guessed; /* frames found by scanning, from this one outwards */
};

/* Zero is a valid empty tree. `first_*` are added to every new id (for appending). */
struct model_stacks {
    SPROF_VEC(struct model_frame) frames; /* [id - 1 - first_frame] */
    SPROF_VEC(struct model_node) nodes;   /* [id - 1 - first_node] */
    struct sprof_map *frame_index;        /* per module: offset → id */
    size_t frame_index_count;
    struct sprof_map node_index;
    uint32_t *node_next; /* collision chain of node_index */
    size_t node_next_capacity;
    uint32_t first_frame, first_node;
};

void model_stacks_release(struct model_stacks *stacks);

/* Finds or makes. Each returns 0 or SPROF_ENOMEM; new ones are at the end of the vectors. `*node`
 * may say which node it is likely to be, which is looked at first; 0: no idea. */
int model_stacks_frame(struct model_stacks *stacks, uint32_t module, uint64_t offset,
                       uint32_t *frame);
int model_stacks_node(struct model_stacks *stacks, uint32_t parent, uint32_t frame,
                      uint8_t found_by, uint32_t guessed, uint32_t *node);

/* Content identity, stored in recordings: of a frame in a module of a key. */
uint64_t model_frame_key(uint64_t module_key, uint64_t offset);

#endif
