/* Mappings: what lies where in a process, now and earlier. */
#include "model/world.h"

#include "model/path_names.h"
#include "model/world_parts.h"

#include <string.h>

/* Where a mapping is entered: the lists of a process or of the kernel (process 0). */
struct place {
    uint32_t process;
    struct model_ids *mapped, *history;
};

static struct place place_of(struct model_world *world, struct model_process *process)
{
    if (!process)
        return (struct place){0, &world->kernel_mapped, &world->kernel_history};
    return (struct place){process->id, &process->mapped, &process->history};
}

/* The index of the first mapping that ends after `address`. */
static size_t first_after(const struct model_world *world, const struct model_ids *mapped,
                          uint64_t address)
{
    size_t low = 0, high = mapped->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (world_mapping_by_id(world, mapped->items[middle])->end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Ends a mapping, unless it belongs to an ancestor, who still has it. */
static void mapping_end(struct model_world *world, uint32_t id, uint32_t process, uint64_t time_ns)
{
    struct model_mapping *mapping = world_mapping_by_id(world, id);
    if (mapping->process == process && !mapping->end_ns)
        mapping->end_ns = time_ns ? time_ns : 1;
}

void world_unmap_all(struct model_world *world, struct model_process *process, uint64_t time_ns)
{
    for (size_t i = 0; i < process->mapped.count; i++)
        mapping_end(world, process->mapped.items[i], process->id, time_ns);
    process->mapped.count = 0;
    world_touch(world, process);
}

int world_inherit(struct model_world *world, const struct model_process *parent,
                  struct model_process *child, uint64_t time_ns)
{
    if (parent->mapped.count && sprof_vec_reserve(&child->mapped, parent->mapped.count))
        return SPROF_ENOMEM;
    if (parent->mapped.count)
        memcpy(child->mapped.items, parent->mapped.items,
               parent->mapped.count * sizeof *parent->mapped.items);
    child->mapped.count = parent->mapped.count;
    /* A parent without rows of its own passes on what it has inherited: no long chains of forks. */
    const bool passes_on = !parent->history.count;
    child->heir_of = passes_on ? (parent->exec_ns ? 0 : parent->heir_of) : parent->id;
    child->inherited_ns = passes_on ? parent->inherited_ns : time_ns;
    world_touch(world, child);
    return 0;
}

/* Up to three mappings that take the place of those in [from, to) of a list: the new one, and what
 * is left of the old ones on either side of it. */
struct change {
    size_t from, to;
    struct model_mapping parts[3];
    size_t count;
};

static struct change change_of(const struct model_world *world, const struct model_ids *mapped,
                               const struct model_mapping *added)
{
    struct change change = {.from = first_after(world, mapped, added->start)};
    for (change.to = change.from; change.to < mapped->count; change.to++)
        if (world_mapping_by_id(world, mapped->items[change.to])->start >= added->end)
            break;
    const bool covers = change.to > change.from;
    if (covers) {
        struct model_mapping left = *world_mapping_by_id(world, mapped->items[change.from]);
        left.end = added->start;
        if (left.start < left.end)
            change.parts[change.count++] = left;
    }
    change.parts[change.count++] = *added;
    if (covers) {
        struct model_mapping right = *world_mapping_by_id(world, mapped->items[change.to - 1]);
        right.file_offset += added->end - right.start;
        right.start = added->end;
        if (right.start < right.end)
            change.parts[change.count++] = right;
    }
    return change;
}

/* Makes the rows of a change. All or nothing. */
static int make_rows(struct model_world *world, const struct change *change,
                     const struct model_mapping *added, uint32_t *ids)
{
    struct model_mapping *rows[3];
    if (sprof_vec_reserve(&world->mappings, world->mappings.count + change->count))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < change->count; i++)
        if (!(rows[i] = sprof_arena_alloc(&world->arena, sizeof *rows[i])))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < change->count; i++) {
        *rows[i] = change->parts[i];
        rows[i]->process = added->process;
        rows[i]->start_ns = added->start_ns;
        rows[i]->end_ns = 0;
        rows[i]->id = ids[i] = world->first_mapping + (uint32_t)world->mappings.count + 1;
        world->mappings.items[world->mappings.count++] = rows[i];
    }
    return 0;
}

static int enter(struct model_world *world, struct place place, const struct model_mapping *added)
{
    const struct change change = change_of(world, place.mapped, added);
    uint32_t ids[3];
    if (sprof_vec_reserve(place.mapped, place.mapped->count + 3) ||
        sprof_vec_reserve(place.history, place.history->count + 3) ||
        make_rows(world, &change, added, ids))
        return SPROF_ENOMEM;
    uint32_t *items = place.mapped->items;
    for (size_t i = change.from; i < change.to; i++)
        mapping_end(world, items[i], place.process, added->start_ns);
    memmove(items + change.from + change.count, items + change.to,
            (place.mapped->count - change.to) * sizeof *items);
    memcpy(items + change.from, ids, change.count * sizeof *ids);
    place.mapped->count += change.count - (change.to - change.from);
    memcpy(place.history->items + place.history->count, ids, change.count * sizeof *ids);
    place.history->count += change.count;
    return 0;
}

/* Whether the very same mapping is there already: mprotect and /proc tell of it again. */
static bool is_known(const struct model_world *world, const struct model_ids *mapped,
                     const struct model_mapping *added)
{
    const size_t index = first_after(world, mapped, added->start);
    if (index == mapped->count)
        return false;
    const struct model_mapping *known = world_mapping_by_id(world, mapped->items[index]);
    return known->start == added->start && known->end == added->end &&
           known->module == added->module && known->file_offset == added->file_offset;
}

/* The first file after an exec is the program, except that the dynamic loader may come before it.
 */
static void note_main_executable(struct model_world *world, struct model_process *process,
                                 struct model_module *module)
{
    const char *path = module->identity.path;
    const enum model_kind by_path = model_kind_of(NULL, path, false, false);
    const bool is_file = by_path == MODEL_KIND_APP || by_path == MODEL_KIND_SYSTEM;
    if (!process->exec_seen || !is_file || path[0] == '[' || model_path_is_loader(path))
        return;
    process->exec_seen = false;
    process->main_module = module->id;
    process->dirty = true;
    if (module->main_executable)
        return;
    module->main_executable = true;
    module->kind = model_kind_of(&world->rules, path, true, module->in_kernel);
    module->dirty = true;
}

int model_world_map(struct model_world *world, int pid, uint64_t address, uint64_t size,
                    uint64_t file_offset, const struct sprof_file_id *identity, uint64_t time_ns)
{
    struct model_process *process = NULL;
    if (pid != -1 && !(process = model_world_process(world, pid, time_ns)))
        return SPROF_ENOMEM;
    struct model_module *module =
        model_world_module(world, identity, !process, process ? process->id : 0);
    if (!module)
        return SPROF_ENOMEM;
    if (process)
        note_main_executable(world, process, module);
    const struct model_mapping added = {
        .process = process ? process->id : 0,
        .module = module->id,
        .start = address,
        .end = size > UINT64_MAX - address ? UINT64_MAX : address + size,
        .file_offset = file_offset,
        .start_ns = time_ns,
    };
    const struct place place = place_of(world, process);
    if (!size || is_known(world, place.mapped, &added))
        return 0;
    if (enter(world, place, &added))
        return SPROF_ENOMEM;
    if (process)
        world_touch(world, process);
    return 0;
}

static const struct model_mapping *find_in(const struct model_world *world,
                                           const struct model_ids *mapped, uint64_t address)
{
    const size_t index = first_after(world, mapped, address);
    if (index == mapped->count)
        return NULL;
    const struct model_mapping *mapping = world_mapping_by_id(world, mapped->items[index]);
    return mapping->start <= address ? mapping : NULL;
}

const struct model_mapping *model_world_find(const struct model_world *world,
                                             const struct model_process *process, uint64_t address)
{
    const struct model_mapping *found = process ? find_in(world, &process->mapped, address) : NULL;
    return found ? found : find_in(world, &world->kernel_mapped, address);
}

static const struct model_mapping *find_in_history(const struct model_world *world,
                                                   const struct model_ids *history,
                                                   uint64_t address, uint64_t time_ns)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct model_mapping *mapping = world_mapping_by_id(world, history->items[i]);
        if (address >= mapping->start && address < mapping->end && time_ns >= mapping->start_ns &&
            (!mapping->end_ns || time_ns < mapping->end_ns))
            return mapping;
    }
    return NULL;
}

const struct model_mapping *model_world_find_at(const struct model_world *world,
                                                const struct model_process *process,
                                                uint64_t address, uint64_t time_ns)
{
    uint64_t then_ns = time_ns;
    while (process) {
        const struct model_mapping *found =
            find_in_history(world, &process->history, address, then_ns);
        if (found)
            return found;
        if (!process->heir_of || (process->exec_ns && then_ns >= process->exec_ns))
            break;
        then_ns = process->inherited_ns;
        process = world_process_by_id(world, process->heir_of);
    }
    return find_in_history(world, &world->kernel_history, address, time_ns);
}
