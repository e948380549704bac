/* Mappings: what lies where in an address space, now and earlier. */
#include "model/address_space.h"

#include <string.h>

void model_mappings_release(struct model_mappings *mappings)
{
    sprof_vec_release(&mappings->rows);
    sprof_arena_release(&mappings->arena);
    *mappings = (struct model_mappings){0};
}

void model_address_space_release(struct model_address_space *space)
{
    sprof_vec_release(&space->mapped);
    sprof_vec_release(&space->history);
}

uint32_t model_mappings_generation(struct model_mappings *mappings)
{
    if (!++mappings->newest_generation)
        mappings->newest_generation = 1;
    return mappings->newest_generation;
}

static struct model_mapping *mapping_by_id(const struct model_mappings *mappings, uint32_t id)
{
    return mappings->rows.items[id - 1 - mappings->first];
}

/* The index of the first mapping that ends after `address`. */
static size_t first_after(const struct model_mappings *mappings, const struct model_ids *mapped,
                          uint64_t address)
{
    size_t low = 0, high = mapped->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (mapping_by_id(mappings, mapped->items[middle])->end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Ends a mapping, unless it belongs to an ancestor, which still has it. */
static void mapping_end(struct model_mappings *mappings, uint32_t id, uint32_t process,
                        uint64_t time_ns)
{
    struct model_mapping *mapping = mapping_by_id(mappings, id);
    if (mapping->process == process && !mapping->end_ns)
        mapping->end_ns = time_ns ? time_ns : 1;
}

void model_address_space_clear(struct model_mappings *mappings, struct model_address_space *space,
                               bool exec, uint64_t time_ns)
{
    for (size_t i = 0; i < space->mapped.count; i++)
        mapping_end(mappings, space->mapped.items[i], space->process, time_ns);
    space->mapped.count = 0;
    space->generation = model_mappings_generation(mappings);
    if (exec && !space->exec_ns)
        space->exec_ns = time_ns ? time_ns : 1;
}

int model_address_space_inherit(struct model_mappings *mappings,
                                const struct model_address_space *parent,
                                struct model_address_space *child, uint64_t time_ns)
{
    if (parent->mapped.count && sprof_vec_reserve(&child->mapped, parent->mapped.count))
        return SPROF_ENOMEM;
    if (parent->mapped.count)
        memcpy(child->mapped.items, parent->mapped.items,
               parent->mapped.count * sizeof *parent->mapped.items);
    child->mapped.count = parent->mapped.count;
    /* A parent without rows of its own passes on what it has inherited: no long chains of forks. */
    const bool passes_on = !parent->history.count;
    child->heir_of = passes_on ? (parent->exec_ns ? NULL : parent->heir_of) : parent;
    child->inherited_ns = passes_on ? parent->inherited_ns : time_ns;
    child->generation = model_mappings_generation(mappings);
    return 0;
}

/* Up to three mappings that take the place of those in [from, to) of a list: the new one, and what
 * is left of the old ones on either side of it. */
struct change {
    size_t from, to;
    struct model_mapping parts[3];
    size_t count;
};

static struct change change_of(const struct model_mappings *mappings,
                               const struct model_ids *mapped, const struct model_mapping *added)
{
    struct change change = {.from = first_after(mappings, mapped, added->start)};
    for (change.to = change.from; change.to < mapped->count; change.to++)
        if (mapping_by_id(mappings, mapped->items[change.to])->start >= added->end)
            break;
    const bool covers = change.to > change.from;
    if (covers) {
        struct model_mapping left = *mapping_by_id(mappings, mapped->items[change.from]);
        left.end = added->start;
        if (left.start < left.end)
            change.parts[change.count++] = left;
    }
    change.parts[change.count++] = *added;
    if (covers) {
        struct model_mapping right = *mapping_by_id(mappings, mapped->items[change.to - 1]);
        right.file_offset += added->end - right.start;
        right.start = added->end;
        if (right.start < right.end)
            change.parts[change.count++] = right;
    }
    return change;
}

/* Makes the rows of a change. All or nothing. */
static int make_rows(struct model_mappings *mappings, const struct change *change, uint32_t process,
                     uint64_t start_ns, uint32_t *ids)
{
    struct model_mapping *rows[3];
    if (sprof_vec_reserve(&mappings->rows, mappings->rows.count + change->count))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < change->count; i++)
        if (!(rows[i] = sprof_arena_alloc(&mappings->arena, sizeof *rows[i])))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < change->count; i++) {
        *rows[i] = change->parts[i];
        rows[i]->process = process;
        rows[i]->start_ns = start_ns;
        rows[i]->end_ns = 0;
        rows[i]->id = ids[i] = mappings->first + (uint32_t)mappings->rows.count + 1;
        mappings->rows.items[mappings->rows.count++] = rows[i];
    }
    return 0;
}

static int enter(struct model_mappings *mappings, struct model_address_space *space,
                 const struct model_mapping *added)
{
    struct model_ids *mapped = &space->mapped, *history = &space->history;
    const struct change change = change_of(mappings, mapped, added);
    uint32_t ids[3];
    if (sprof_vec_reserve(mapped, mapped->count + 3) ||
        sprof_vec_reserve(history, history->count + 3) ||
        make_rows(mappings, &change, space->process, added->start_ns, ids))
        return SPROF_ENOMEM;
    uint32_t *items = mapped->items;
    for (size_t i = change.from; i < change.to; i++)
        mapping_end(mappings, items[i], space->process, added->start_ns);
    memmove(items + change.from + change.count, items + change.to,
            (mapped->count - change.to) * sizeof *items);
    memcpy(items + change.from, ids, change.count * sizeof *ids);
    mapped->count += change.count - (change.to - change.from);
    memcpy(history->items + history->count, ids, change.count * sizeof *ids);
    history->count += change.count;
    return 0;
}

/* Whether the very same mapping is there already: mprotect and /proc report it again. */
static bool is_known(const struct model_mappings *mappings, const struct model_ids *mapped,
                     const struct model_mapping *added)
{
    const size_t index = first_after(mappings, mapped, added->start);
    if (index == mapped->count)
        return false;
    const struct model_mapping *known = mapping_by_id(mappings, mapped->items[index]);
    return known->start == added->start && known->end == added->end &&
           known->module == added->module && known->file_offset == added->file_offset;
}

int model_address_space_map(struct model_mappings *mappings, struct model_address_space *space,
                            const struct model_mapping *added)
{
    if (is_known(mappings, &space->mapped, added))
        return 0;
    if (enter(mappings, space, added))
        return SPROF_ENOMEM;
    space->generation = model_mappings_generation(mappings);
    return 0;
}

static const struct model_mapping *find_in_history(const struct model_mappings *mappings,
                                                   const struct model_ids *history,
                                                   uint64_t address, uint64_t at_ns)
{
    for (size_t i = history->count; i-- > 0;) {
        const struct model_mapping *mapping = mapping_by_id(mappings, history->items[i]);
        if (address >= mapping->start && address < mapping->end && at_ns >= mapping->start_ns &&
            (!mapping->end_ns || at_ns < mapping->end_ns))
            return mapping;
    }
    return NULL;
}

const struct model_mapping *model_address_space_find(const struct model_mappings *mappings,
                                                     const struct model_address_space *space,
                                                     uint64_t address, uint64_t at_ns)
{
    if (!at_ns) {
        const size_t index = first_after(mappings, &space->mapped, address);
        const struct model_mapping *next = index < space->mapped.count
                                               ? mapping_by_id(mappings, space->mapped.items[index])
                                               : NULL;
        return next && next->start <= address ? next : NULL;
    }
    for (;;) {
        const struct model_mapping *found =
            find_in_history(mappings, &space->history, address, at_ns);
        if (found || !space->heir_of || (space->exec_ns && at_ns >= space->exec_ns))
            return found;
        at_ns = space->inherited_ns;
        space = space->heir_of;
    }
}
