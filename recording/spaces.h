/* Address spaces in the unwinder's form: the executable regions of each process, made from the
 * process table's mappings and the images' tables. */
#ifndef SPROF_RECORDING_SPACES_H
#define SPROF_RECORDING_SPACES_H

#include "model/model.h"
#include "recording/images.h"
#include "unwind/unwind.h"

/* One executable mapping; `region.owner` points to its image, NULL for code without a file. */
struct recording_region {
    struct unwind_region region; /* the first: found, it stands for the whole */
    const struct model_mapping *mapping;
    struct recording_image *image;
};

/* The regions of one process, in order of address; made anew when the process's mappings change.
 * The state of each one's image is read at every lookup. */
struct recording_space {
    SPROF_VEC(struct recording_region) regions;
    size_t last; /* index of the last hit */
    uint32_t generation;
    struct recording_spaces *spaces;
    const struct model_process *process;
    uint64_t at_ns;                  /* 0: now; else the time to look mappings up at */
    struct recording_region scratch; /* the answer of a lookup in the past */
};

struct recording_spaces {
    struct model_process_table *process_table; /* borrowed */
    struct recording_images *images;           /* borrowed */
    SPROF_VEC(struct recording_space *)
    items;                       /* by process id - 1 - process_table->first_process */
    struct recording_space past; /* for samples that had to wait */
    bool hurried;                /* code whose table is not there counts as code without one */
};

void recording_spaces_release(struct recording_spaces *spaces);

/* The space of a process now, ready for unwind_walk. `space->find` works
 * until the next record is applied to the process table. Returns 0 or SPROF_ENOMEM. */
int recording_spaces_get(struct recording_spaces *spaces, const struct model_process *process,
                         struct unwind_space *space);

/* The space as it was at `time_ns`. */
void recording_spaces_get_past(struct recording_spaces *spaces, const struct model_process *process,
                               uint64_t time_ns, struct unwind_space *space);

/* Whether the process has unmapped a region since, or become another program. */
bool recording_region_is_gone(const struct unwind_region *region);

/* Reads code of a region, which `find` has returned last, from its file. Returns 0, or SPROF_EIO
 * where it has none that is open by now. */
int recording_region_read(const struct unwind_region *region, uint64_t address, void *buffer,
                          size_t size);

#endif
