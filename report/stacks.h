/* What `sprof script` needs to spell out stacks: nodes, frames, functions, modules and mappings of
 * a recording as arrays, read once. */
#ifndef SPROF_REPORT_STACKS_H
#define SPROF_REPORT_STACKS_H

#include "base/base.h"
#include "store/store.h"

#include <stdbool.h>

struct stacks_node {
    uint32_t parent, frame; /* index + 1; 0: none */
};

/* Physical frames and those of functions inlined there. */
struct stacks_frame {
    uint32_t module, function, outer; /* index + 1; outer: the frame it is inlined into */
    uint32_t line, depth;             /* depth: of inlining */
    const char *file;                 /* clean; NULL unknown */
    uint64_t file_offset;
};

struct stacks_mapping {
    uint32_t process; /* database id; 0: the kernel */
    uint32_t module;  /* index + 1 */
    uint64_t start, size, file_offset, start_ns, end_ns;
};

/* Zero is a valid empty value. */
struct stacks {
    struct sprof_arena arena;
    SPROF_VEC(struct stacks_node) nodes;
    SPROF_VEC(struct stacks_frame) frames;
    SPROF_VEC(const char *) functions, modules; /* names, clean */
    SPROF_VEC(struct stacks_mapping) mappings;  /* sorted by process, module, time */
    struct sprof_map node_indexes, frame_indexes, function_indexes,
        module_indexes;               /* id → index + 1 */
    struct sprof_map process_parents; /* database ids */
    struct sprof_map thread_processes;
};

/* 0, SPROF_ENOMEM, SPROF_EFORMAT, or what the store says. The caller releases, also on failure. */
int stacks_load(struct stacks *stacks, struct store *store, uint32_t run_id,
                struct sprof_error *error);
void stacks_release(struct stacks *stacks);

/* The node of a database id; NULL where there is none. */
const struct stacks_node *stacks_node_of(const struct stacks *stacks, uint32_t id);

/* Where a frame was in a thread's process at a time: true and the address. A process that never
 * called execve has its mappings from its parent. */
bool stacks_address(const struct stacks *stacks, const struct stacks_frame *frame,
                    uint32_t thread_id, uint64_t time_ns, uint64_t *address);

#endif
