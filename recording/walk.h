/* One sample's registers, stack bytes and kernel chain → one node of the calling-context tree. */
#ifndef SPROF_RECORDING_WALK_H
#define SPROF_RECORDING_WALK_H

#include "model/model.h"
#include "recording/spaces.h"
#include "unwind/unwind.h"

/* An address already resolved in one state of one address space. */
struct recording_known {
    uint64_t address;
    uint32_t generation, frame;
};

/* The nodes of a thread's last stacks by their depth, 0: none. Its next stack begins in the same
 * way, and is found here sooner than in a map. Several threads may share one. */
struct recording_trail {
    uint32_t nodes[1024];
};

/* The mode of samples from a time on (CLOCK_MONOTONIC). */
struct recording_moded {
    uint64_t from_ns;
    struct model_view view;
};

struct recording_walk {
    struct model_process_table *process_table; /* borrowed */
    struct model_stacks stacks;
    struct recording_spaces spaces;
    struct unwind_walker *walker;
    SPROF_VEC(struct recording_moded) modes; /* the oldest first, from time 0 on */
    struct model_view view;                  /* of the sample at hand */
    bool pc_only;
    struct recording_known *known; /* direct-mapped by address and generation */
    SPROF_VEC(uint32_t) line;      /* frames of the sample at hand, innermost first */
    SPROF_VEC(uint8_t) line_found_by;
    SPROF_VEC(bool) line_is_app; /* root first */
    struct recording_trail *trails;
    uint32_t none_module, unknown_module, kernel_module;
    uint64_t kernel_start; /* of the kernel's text; 0 where it is hidden */
    bool saw_kernel;       /* a frame of the kernel was added */
    uint64_t walk_ns;      /* spent unwinding */
};

/* What became of a sample. */
struct recording_outcome {
    uint32_t node;
    enum model_end end;
    bool stitched, user_stack, guessed;
    bool unknown_code;   /* an address lay in no mapping that is known */
    bool inherited_code; /* … in code made at run time that the process has from a fork */
    struct model_stack_extent extent;
};

/* `table` and `images` are borrowed; `view` is the mode from the beginning on. Returns 0 or
 * SPROF_ENOMEM. */
int recording_walk_init(struct recording_walk *walk, struct model_process_table *table,
                        struct recording_images *images, const struct model_view *view);
void recording_walk_release(struct recording_walk *walk);

/* Unwinds one sample of a process in the mode of its time, as samples come late. Returns 0 and the
 * outcome (whose `end` may be MODEL_END_PENDING: then there is no node, and a table that is needed
 * is being built), or SPROF_ENOMEM. */
int recording_walk_sample(struct recording_walk *walk, const struct model_process *process,
                          const struct model_sample *sample, uint64_t time_ns,
                          struct recording_outcome *outcome);

/* The same for a sample that had to wait: the address space is looked up as it was then. */
int recording_walk_past(struct recording_walk *walk, const struct model_process *process,
                        const struct model_sample *sample, uint64_t time_ns,
                        struct recording_outcome *outcome);

/* Samples from a time on are of that mode; times ascend. Returns 0 or SPROF_ENOMEM. */
int recording_walk_add_view(struct recording_walk *walk, uint64_t from_ns,
                            const struct model_view *view);

/* The node of a frame below `parent` (0: the root) that needed no walk. */
int recording_walk_child(struct recording_walk *walk, uint32_t parent, uint32_t module,
                         uint64_t offset, uint32_t *node);

/* The node of a pseudo-function. */
int recording_walk_pseudo(struct recording_walk *walk, enum model_pseudo which, uint32_t *node);

#endif
