/* Address spaces as the unwinder wants them: the executable regions of each process, made from the
 * world's mappings and the images' tables. */
#ifndef SPROF_RECORDING_SPACES_H
#define SPROF_RECORDING_SPACES_H

#include "model/model.h"
#include "recording/images.h"
#include "unwind/unwind.h"

/* One executable mapping; `region.owner` points to its image, NULL for code without a file. */
struct record_region {
    struct unwind_region region;
    const struct model_mapping *mapping;
    struct record_image *image;
};

/* The regions of one process, in order of address; made anew when the process's mappings change.
 * The state of each one's image is asked for at every lookup. */
struct record_space {
    SPROF_VEC(struct record_region) regions;
    size_t last; /* index of the last hit */
    uint32_t generation;
    struct record_spaces *spaces;
    const struct model_process *process;
    uint64_t at_ns;               /* 0: now; else the time to look mappings up at */
    struct record_region scratch; /* the answer of a lookup in the past */
};

struct record_spaces {
    struct model_world *world;              /* borrowed */
    struct record_images *images;           /* borrowed */
    SPROF_VEC(struct record_space *) items; /* by process id - 1 - world->first_process */
    struct record_space past;               /* for samples that had to wait */
    bool hurried; /* code whose table is not there counts as code without one */
};

void record_spaces_release(struct record_spaces *spaces);

/* The space of a process now, ready for unwind_walk. `space->find` works
 * until the next record is applied to the world. Returns 0 or SPROF_ENOMEM. */
int record_spaces_get(struct record_spaces *spaces, const struct model_process *process,
                      struct unwind_space *space);

/* The space as it was at `time_ns`. */
void record_spaces_get_past(struct record_spaces *spaces, const struct model_process *process,
                            uint64_t time_ns, struct unwind_space *space);

#endif
