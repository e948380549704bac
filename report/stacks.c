#include "report/stacks.h"

#include "report/utf8_text.h"

#include <string.h>

void stacks_release(struct stacks *stacks)
{
    sprof_vec_release(&stacks->nodes);
    sprof_vec_release(&stacks->frames);
    sprof_vec_release(&stacks->functions);
    sprof_vec_release(&stacks->modules);
    sprof_vec_release(&stacks->mappings);
    sprof_map_release(&stacks->node_indexes);
    sprof_map_release(&stacks->frame_indexes);
    sprof_map_release(&stacks->function_indexes);
    sprof_map_release(&stacks->module_indexes);
    sprof_map_release(&stacks->process_parents);
    sprof_map_release(&stacks->thread_processes);
    sprof_arena_release(&stacks->arena);
}

static uint32_t index_of(const struct sprof_map *map, uint32_t id)
{
    const uint64_t *index = id ? sprof_map_get(map, id) : NULL;
    return index ? (uint32_t)*index : 0;
}

static int add_module(void *context, const struct store_module *row)
{
    struct stacks *stacks = context;
    const char *name = report_utf8_copy(&stacks->arena, row->name ? row->name : "");
    if (!name || sprof_vec_push(&stacks->modules, name))
        return SPROF_ENOMEM;
    return sprof_map_put(&stacks->module_indexes, row->id, stacks->modules.count);
}

static int add_function(void *context, const struct store_function *row)
{
    struct stacks *stacks = context;
    const char *name = report_utf8_copy(&stacks->arena, row->name ? row->name : "");
    if (!name || sprof_vec_push(&stacks->functions, name))
        return SPROF_ENOMEM;
    return sprof_map_put(&stacks->function_indexes, row->id, stacks->functions.count);
}

/* Source files are few and frames are many: the last name is often the next one too. */
static const char *file_text(struct stacks *stacks, const char *file)
{
    const size_t count = stacks->frames.count;
    const char *last = count ? stacks->frames.items[count - 1].file : NULL;
    return last && !strcmp(last, file) ? last : report_utf8_copy(&stacks->arena, file);
}

static int add_frame(void *context, const struct store_frame *row)
{
    struct stacks *stacks = context;
    const struct stacks_frame frame = {
        .module = index_of(&stacks->module_indexes, row->module_id),
        .function = index_of(&stacks->function_indexes, row->function_id),
        .outer = row->inline_parent_id, /* an id until all are read */
        .line = row->line,
        .depth = row->inline_depth,
        .file = row->file ? file_text(stacks, row->file) : NULL,
        .file_offset = row->file_offset,
    };
    if (!frame.module)
        return SPROF_EFORMAT;
    if ((row->file && !frame.file) || sprof_vec_push(&stacks->frames, frame))
        return SPROF_ENOMEM;
    return sprof_map_put(&stacks->frame_indexes, row->id, stacks->frames.count);
}

/* Ids become indexes. Depths must grow outwards, so that a damaged file cannot make a circle. */
static void link_inlined(struct stacks *stacks)
{
    struct stacks_frame *frames = stacks->frames.items;
    for (size_t i = 0; i < stacks->frames.count; i++) {
        const uint32_t outer = index_of(&stacks->frame_indexes, frames[i].outer);
        frames[i].outer = outer && frames[outer - 1].depth > frames[i].depth ? outer : 0;
    }
}

static int add_node(void *context, const struct store_node *row)
{
    struct stacks *stacks = context;
    const struct stacks_node node = {
        .parent = index_of(&stacks->node_indexes, row->parent_id),
        .frame = index_of(&stacks->frame_indexes, row->frame_id),
    };
    if (!node.frame || (row->parent_id && !node.parent))
        return SPROF_EFORMAT;
    if (sprof_vec_push(&stacks->nodes, node))
        return SPROF_ENOMEM;
    return sprof_map_put(&stacks->node_indexes, row->id, stacks->nodes.count);
}

static int add_mapping(void *context, const struct store_mapping *row)
{
    struct stacks *stacks = context;
    const struct stacks_mapping mapping = {
        .process = row->process_id,
        .module = index_of(&stacks->module_indexes, row->module_id),
        .start = row->start,
        .size = row->end - row->start,
        .file_offset = row->file_offset,
        .start_ns = row->start_ns,
        .end_ns = row->end_ns,
    };
    return sprof_vec_push(&stacks->mappings, mapping);
}

static int add_process(void *context, const struct store_process *row)
{
    struct stacks *stacks = context;
    return sprof_map_put(&stacks->process_parents, row->id, row->parent_id);
}

static int add_thread(void *context, const struct store_thread *row)
{
    struct stacks *stacks = context;
    return sprof_map_put(&stacks->thread_processes, row->id, row->process_id);
}

static int compare_mappings(const void *a, const void *b)
{
    const struct stacks_mapping *first = a, *second = b;
    if (first->process != second->process)
        return first->process < second->process ? -1 : 1;
    if (first->module != second->module)
        return first->module < second->module ? -1 : 1;
    if (first->start_ns != second->start_ns)
        return first->start_ns < second->start_ns ? -1 : 1;
    return first->start < second->start ? -1 : first->start > second->start;
}

int stacks_load(struct stacks *stacks, struct store *store, uint32_t run_id,
                struct sprof_error *error)
{
    *stacks = (struct stacks){0};
    int result = store_each_module(store, add_module, stacks, error);
    if (!result)
        result = store_each_function(store, add_function, stacks, error);
    if (!result)
        result = store_each_frame(store, add_frame, stacks, error);
    if (!result)
        result = store_each_node(store, add_node, stacks, error);
    if (!result)
        result = store_each_mapping(store, run_id, add_mapping, stacks, error);
    if (!result)
        result = store_each_process(store, run_id, add_process, stacks, error);
    if (!result)
        result = store_each_thread(store, run_id, add_thread, stacks, error);
    if (result)
        return result;
    link_inlined(stacks);
    if (stacks->mappings.count)
        qsort(stacks->mappings.items, stacks->mappings.count, sizeof *stacks->mappings.items,
              compare_mappings);
    return 0;
}

const struct stacks_node *stacks_node_of(const struct stacks *stacks, uint32_t id)
{
    const uint32_t index = index_of(&stacks->node_indexes, id);
    return index ? &stacks->nodes.items[index - 1] : NULL;
}

/* The first mapping of a process and module in the sorted list. */
static size_t first_mapping(const struct stacks *stacks, uint32_t process, uint32_t module)
{
    size_t low = 0, high = stacks->mappings.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct stacks_mapping *mapping = &stacks->mappings.items[middle];
        if (mapping->process < process || (mapping->process == process && mapping->module < module))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool address_in(const struct stacks *stacks, const struct stacks_frame *frame,
                       uint32_t process, uint64_t time_ns, uint64_t *address)
{
    for (size_t i = first_mapping(stacks, process, frame->module); i < stacks->mappings.count;
         i++) {
        const struct stacks_mapping *mapping = &stacks->mappings.items[i];
        if (mapping->process != process || mapping->module != frame->module)
            return false;
        const uint64_t offset = frame->file_offset - mapping->file_offset;
        if (offset >= mapping->size || (mapping->end_ns && time_ns >= mapping->end_ns))
            continue;
        *address = mapping->start + offset;
        return true;
    }
    return false;
}

bool stacks_address(const struct stacks *stacks, const struct stacks_frame *frame,
                    uint32_t thread_id, uint64_t time_ns, uint64_t *address)
{
    enum { ANCESTORS = 64 };
    uint32_t process = index_of(&stacks->thread_processes, thread_id);
    for (int i = 0; process && i < ANCESTORS; i++) {
        if (address_in(stacks, frame, process, i ? 0 : time_ns, address))
            return true;
        process = index_of(&stacks->process_parents, process);
    }
    return address_in(stacks, frame, 0, 0, address);
}
