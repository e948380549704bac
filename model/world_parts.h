/* What the files of the world share among themselves. */
#ifndef SPROF_MODEL_WORLD_PARTS_H
#define SPROF_MODEL_WORLD_PARTS_H

#include "model/world.h"

#include <stdbool.h>

static inline struct model_process *world_process_by_id(const struct model_world *world,
                                                        uint32_t id)
{
    return world->processes.items[id - 1 - world->first_process];
}

static inline struct model_mapping *world_mapping_by_id(const struct model_world *world,
                                                        uint32_t id)
{
    return world->mappings.items[id - 1 - world->first_mapping];
}

/* Gives the process a new generation: its address space has changed. */
void world_touch(struct model_world *world, struct model_process *process);

/* Ends every mapping of a process that exits or executes another program. */
void world_unmap_all(struct model_world *world, struct model_process *process, uint64_t time_ns);

/* Hands the parent's present mappings to a child. Returns 0 or SPROF_ENOMEM. */
int world_inherit(struct model_world *world, const struct model_process *parent,
                  struct model_process *child, uint64_t time_ns);

#endif
