/* Samples that get other nodes when their recording has ended. */
#ifndef SPROF_STORE_MOVED_H
#define SPROF_STORE_MOVED_H

#include "store/writer.h"

/* A sample that is there, and another node for it. */
struct store_sample_node {
    uint64_t id;
    uint32_t node_id;
};

/* Writes a batch and gives samples that are there nodes of it, in one transaction. */
int store_move_samples(struct store *store, const struct store_batch *batch,
                       const struct store_sample_node *moved, size_t count,
                       struct sprof_error *error);

#endif
