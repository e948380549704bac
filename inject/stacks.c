/* Walks the stacks of stopped threads. */
#include "inject/stacks.h"
#include "plan/plan.h"
#include "target/target.h"

#include <stdlib.h>
#include <string.h>

enum { STACK_BYTES = 64 << 10 };

struct inject_stacks {
    pid_t pid;
    uint8_t bytes[STACK_BYTES];
    struct cache *cache;
    struct unwind_walker *walker;
    SPROF_VEC(struct inject_stacks_module *) modules; /* owned */
    SPROF_VEC(struct unwind_region) regions;
    inject_stacks_find *find;
    void *context;
};

/* == Files == */

static struct inject_stacks_module *find_known(const struct inject_stacks *stacks,
                                               const struct model_mmap *mapping)
{
    for (size_t i = 0; i < stacks->modules.count; i++) {
        struct inject_stacks_module *module = stacks->modules.items[i];
        if (!strcmp(module->path, mapping->file.path) &&
            module->address - module->file_offset == mapping->address - mapping->file_offset)
            return module;
    }
    return NULL;
}

static int open_module(struct inject_stacks *stacks, struct inject_stacks_module *module,
                       const struct model_mmap *mapping)
{
    struct image *image;
    const struct image_request request = plan_request_of(stacks->pid, mapping);
    if (recording_open_image(&image, &request, NULL))
        return 0;
    uint64_t vaddr = mapping->file_offset;
    image_vaddr_of_mapping(image, mapping->file_offset, &vaddr);
    module->bias = mapping->address - vaddr;
    if (!recording_find_built(&module->built, image, stacks->cache))
        recording_build(&module->built, image, stacks->cache, NULL);
    const int result = stacks->find ? stacks->find(stacks->context, module, mapping, image) : 0;
    image_free(image);
    return result;
}

static struct inject_stacks_module *module_of(struct inject_stacks *stacks,
                                              const struct model_mmap *mapping)
{
    struct inject_stacks_module *module = find_known(stacks, mapping);
    if (module)
        return module;
    module = calloc(1, sizeof *module);
    if (!module || !(module->path = strdup(mapping->file.path)) ||
        sprof_vec_push(&stacks->modules, module)) {
        free(module ? module->path : NULL);
        free(module);
        return NULL;
    }
    module->address = mapping->address;
    module->file_offset = mapping->file_offset;
    return open_module(stacks, module, mapping) ? NULL : module;
}

static int take_mapping(void *context, const struct model_mmap *mapping)
{
    struct inject_stacks *stacks = context;
    const bool is_file =
        mapping->file.path && (!strcmp(mapping->file.path, "[vdso]") ||
                               (*mapping->file.path == '/' && mapping->file.path[1] != '/'));
    struct inject_stacks_module *module = is_file ? module_of(stacks, mapping) : NULL;
    if (is_file && !module)
        return SPROF_ENOMEM;
    const struct unwind_region region = {
        .start = mapping->address,
        .end = mapping->address + mapping->size,
        .bias = module ? module->bias : 0,
        .kind = !module               ? UNWIND_REGION_JIT
                : module->built.table ? UNWIND_REGION_TABLE
                                      : UNWIND_REGION_BARE,
        .table = module ? module->built.table : NULL,
        .owner = module,
    };
    return sprof_vec_push(&stacks->regions, region) ? SPROF_ENOMEM : 0;
}

int inject_stacks_open(struct inject_stacks **out, pid_t pid, struct cache *cache,
                       inject_stacks_find *find, void *context)
{
    struct inject_stacks *stacks = *out = calloc(1, sizeof *stacks);
    if (!stacks)
        return SPROF_ENOMEM;
    stacks->pid = pid;
    stacks->cache = cache;
    stacks->find = find;
    stacks->context = context;
    stacks->walker = unwind_walker_new(0);
    if (stacks->walker && !target_each_mapping(pid, take_mapping, stacks))
        return 0;
    inject_stacks_free(stacks);
    *out = NULL;
    return SPROF_ENOMEM;
}

void inject_stacks_free(struct inject_stacks *stacks)
{
    if (!stacks)
        return;
    for (size_t i = 0; i < stacks->modules.count; i++) {
        unwind_table_free(stacks->modules.items[i]->built.table);
        free(stacks->modules.items[i]->path);
        free(stacks->modules.items[i]);
    }
    sprof_vec_release(&stacks->modules);
    sprof_vec_release(&stacks->regions);
    unwind_walker_free(stacks->walker);
    free(stacks);
}

/* == Walking == */

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct inject_stacks *stacks = context;
    for (size_t i = 0; i < stacks->regions.count; i++)
        if (address - stacks->regions.items[i].start <
            stacks->regions.items[i].end - stacks->regions.items[i].start)
            return &stacks->regions.items[i];
    return NULL;
}

const struct inject_stacks_module *inject_stacks_module(const struct inject_stacks *stacks,
                                                        uint64_t address)
{
    const struct unwind_region *region = find_region((void *)stacks, address);
    return region ? region->owner : NULL;
}

/* The file has its code even for pages given back. */
static int read_memory(void *context, uint64_t address, void *buffer, size_t size)
{
    const struct inject_stacks *stacks = context;
    const struct unwind_region *region = find_region(context, address);
    const size_t got = region && region->owner
                           ? target_read_memory(stacks->pid, address, buffer, size)
                           : target_read_existing(stacks->pid, address, buffer, size);
    return got == size ? 0 : SPROF_EIO;
}

struct unwind_stack inject_stacks_walk(struct inject_stacks *stacks,
                                       const struct arch_remote *remote,
                                       struct unwind_memory *memory)
{
    struct unwind_registers registers;
    const uint64_t sp = arch_remote_sp(remote);
    const struct unwind_space space = {find_region, stacks, 1};
    const struct unwind_memory all = {
        .slice = stacks->bytes,
        .slice_address = sp,
        .slice_size = target_read_existing(stacks->pid, sp, stacks->bytes, sizeof stacks->bytes),
        .read = read_memory,
        .context = stacks};
    arch_remote_registers(remote, registers.value);
    if (memory)
        *memory = all;
    return unwind_walk(stacks->walker, &space, &all, &registers);
}

const char *inject_stacks_doubt(const struct unwind_stack *stack)
{
    if (stack->end != MODEL_END_ROOT)
        return "has a stack whose end cannot be found";
    for (size_t i = 0; i < stack->count; i++)
        if (stack->frames[i].found_by == MODEL_BY_SCAN)
            return "has a stack that cannot be walked";
    return NULL;
}
