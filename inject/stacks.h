/* inject, inside: the code of a process, file by file, and the stacks of its threads. */
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

/* A file of which a process has mapped parts. */
struct inject_stacks_module {
    int kind;                      /* the caller's; 0 where its file cannot be read */
    uint64_t address, file_offset; /* of the mapping by which it was found */
    uint64_t bias;
    char *path;
    struct recording_built built;
};

/* Called for each when it is found. Returns 0 or SPROF_ENOMEM. */
typedef int inject_stacks_find(void *context, struct inject_stacks_module *module,
                               const struct model_mmap *mapping, struct image *image);

/* Reads the mappings of a process and opens the unwind tables of its files, calling `find` (may be
 * NULL) for each. Returns 0 or SPROF_ENOMEM. The caller frees. */
int inject_stacks_open(struct inject_stacks **stacks, pid_t pid, struct cache *cache,
                       inject_stacks_find *find, void *context);
void inject_stacks_free(struct inject_stacks *stacks);

/* The file of an address; NULL: none. */
const struct inject_stacks_module *inject_stacks_module(const struct inject_stacks *stacks,
                                                        uint64_t address);

/* Walks the stack of a stopped thread. The result, and *memory, where it is not NULL, are valid
 * until the next call. */
struct unwind_stack inject_stacks_walk(struct inject_stacks *stacks,
                                       const struct arch_remote *registers,
                                       struct unwind_memory *memory);

/* Why a stack may have frames that the walk has not found; NULL: it has none. */
const char *inject_stacks_doubt(const struct unwind_stack *stack);

#endif
