/* Internal: walks the stacks of a process's threads. */
#ifndef SPROF_INJECT_STACKS_H
#define SPROF_INJECT_STACKS_H

#include "arch/arch.h"
#include "base/base.h"
#include "cache/cache.h"
#include "recording/recording.h"
#include "unwind/unwind.h"

#include <stdbool.h>
#include <sys/types.h>

struct inject_stacks;

struct inject_stacks_module {
    int kind;                      /* the caller's; 0: unreadable file */
    uint64_t address, file_offset; /* of the first mapping */
    uint64_t bias;
    char *path;
    struct recording_built built;
};

/* Called for a new module. Returns 0 or SPROF_ENOMEM. */
typedef int inject_stacks_find(void *context, struct inject_stacks_module *module,
                               const struct model_mmap *mapping, struct image *image);

/* Returns 0 or SPROF_ENOMEM. `find` may be NULL. The caller frees. */
int inject_stacks_open(struct inject_stacks **stacks, pid_t pid, struct cache *cache,
                       inject_stacks_find *find, void *context);
void inject_stacks_free(struct inject_stacks *stacks);

/* NULL: none. */
const struct inject_stacks_module *inject_stacks_module(const struct inject_stacks *stacks,
                                                        uint64_t address);

/* Result and *memory (may be NULL) are valid until the next call. */
struct unwind_stack inject_stacks_walk(struct inject_stacks *stacks,
                                       const struct arch_remote *registers,
                                       struct unwind_memory *memory);

/* Why frames may be missing, or NULL. */
const char *inject_stacks_doubt(const struct unwind_stack *stack);

#endif
