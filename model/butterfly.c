/* The butterfly view of the tree: what lies below one function, and what leads to it. */
#include "model/paths.h"

int model_paths_callees(const struct model_paths *paths, uint32_t function,
                        struct model_paths *callees)
{
    *callees = (struct model_paths){0};
    /* below[id]: the path's place in the new tree; 0 outside of it. */
    uint32_t *below = calloc(paths->items.count + 1, sizeof *below);
    int result = below ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < paths->items.count && !result; i++) {
        const struct model_path *path = &paths->items.items[i];
        const uint32_t above = below[path->parent];
        if (!above && path->function != function)
            continue;
        result = model_paths_child(callees, above, path->function, &below[path->id]);
        if (!result)
            model_paths_add(callees, below[path->id], path->costs.exclusive);
    }
    free(below);
    if (result)
        model_paths_release(callees);
    else
        model_paths_sum(callees);
    return result;
}

enum place {
    BEFORE = 0,     /* no occurrence around it, and none below it (as far as is known) */
    ENTRY = 1 << 0, /* an outermost occurrence */
    INSIDE = 1 << 1,
    LEADS = 1 << 2, /* an outermost occurrence lies below */
};

static uint8_t *find_places(const struct model_paths *paths, uint32_t function)
{
    uint8_t *places = calloc(paths->items.count + 1, sizeof *places);
    if (!places)
        return NULL;
    const struct model_path *items = paths->items.items;
    for (size_t i = 0; i < paths->items.count; i++) {
        if (places[items[i].parent] & (ENTRY | INSIDE))
            places[items[i].id] = INSIDE;
        else if (items[i].function == function)
            places[items[i].id] = ENTRY;
    }
    for (size_t i = paths->items.count; i-- > 0;)
        if (places[items[i].id] & (ENTRY | LEADS))
            places[items[i].parent] |= LEADS;
    return places;
}

static int copy_ways(const struct model_paths *paths, const uint8_t *places, uint32_t *copies,
                     struct model_paths *callers)
{
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        if (!(places[path->id] & (ENTRY | LEADS)))
            continue;
        if (model_paths_child(callers, copies[path->parent], path->function, &copies[path->id]))
            return SPROF_ENOMEM;
        if (places[path->id] & ENTRY)
            model_paths_add(callers, copies[path->id], path->costs.inclusive);
    }
    return 0;
}

int model_paths_callers(const struct model_paths *paths, uint32_t function,
                        struct model_paths *callers)
{
    *callers = (struct model_paths){0};
    uint8_t *places = find_places(paths, function);
    uint32_t *copies = calloc(paths->items.count + 1, sizeof *copies);
    const int result = places && copies ? copy_ways(paths, places, copies, callers) : SPROF_ENOMEM;
    free(copies);
    free(places);
    if (result)
        model_paths_release(callers);
    else
        model_paths_sum(callers);
    return result;
}
