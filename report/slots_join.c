/* Makes call paths through parts of a function those of the function. */
#include "report/slots.h"

#include "report/dataset.h"

#include <stdlib.h>

/* Brings costs into order again after paths have become the same, and adds such up. */
static void merge_costs(struct report_slots *slots)
{
    struct report_slot_cost *items = slots->costs.items;
    size_t kept = 0;
    if (slots->costs.count)
        qsort(items, slots->costs.count, sizeof *items, report_slots_compare);
    for (size_t i = 0; i < slots->costs.count; i++) {
        if (kept && !report_slots_compare(&items[kept - 1], &items[i])) {
            items[kept - 1].cost.samples += items[i].cost.samples;
            items[kept - 1].cost.weight += items[i].cost.weight;
        } else {
            items[kept++] = items[i];
        }
    }
    slots->costs.count = kept;
}

/* Finds the new number of the path at `i` in `moved`, where those of its parents are. */
static int move_path(struct report_slots *slots, const struct report_dataset *dataset,
                     struct sprof_map *children, uint32_t *parts, uint32_t *moved, size_t i,
                     size_t *kept)
{
    const struct report_slot_path path = slots->paths.items[i];
    const uint32_t parent = moved[path.parent], outer = parts[path.parent];
    const uint32_t part = report_dataset_number(&dataset->numbers.functions, path.function);
    const uint32_t function = report_dataset_function_of(dataset, path.function);
    parts[i + 1] = part;
    moved[i + 1] = parent;
    if (part && outer && report_dataset_is_called_part(dataset, part, outer))
        return 0;
    /* What was folded, or is not in the dataset, stays apart. */
    const uint64_t key = (uint64_t)parent << 32 | (function ? function : UINT32_MAX);
    uint64_t *known = function ? sprof_map_at(children, key) : &(uint64_t){0};
    if (!known)
        return SPROF_ENOMEM;
    if (!*known) {
        slots->paths.items[*kept] = (struct report_slot_path){parent, path.function};
        *known = ++*kept;
    }
    moved[i + 1] = (uint32_t)*known;
    return 0;
}

int report_slots_join(struct report_slots *slots, const struct report_dataset *dataset)
{
    const size_t count = slots->paths.count;
    uint32_t *moved = calloc(count + 1, sizeof *moved), *parts = calloc(count + 1, sizeof *parts);
    struct sprof_map children = {0};
    size_t kept = 0;
    int result = moved && parts ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++)
        result = move_path(slots, dataset, &children, parts, moved, i, &kept);
    if (!result) {
        slots->paths.count = kept;
        for (size_t i = 0; i < slots->costs.count; i++)
            slots->costs.items[i].path = moved[slots->costs.items[i].path];
        merge_costs(slots);
    }
    free(moved);
    free(parts);
    sprof_map_release(&children);
    return result;
}
