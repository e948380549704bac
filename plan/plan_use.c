/* Queries a finished plan: shares, counts, a function by its address, whether a
 * process runs the same bytes. */
#include "plan/planner.h"

#include <stdlib.h>

void plan_release(struct plan *plan)
{
    free(plan->functions);
    free(plan->callees);
    sprof_arena_release(&plan->texts);
    *plan = (struct plan){0};
}

const struct plan_function *plan_find(const struct plan *plan, uint64_t vaddr)
{
    const ptrdiff_t index = plan_function_index(plan->functions, plan->function_count, vaddr);
    return index < 0 ? NULL : &plan->functions[index];
}

void plan_count(struct plan *plan)
{
    memset(plan->points, 0, sizeof plan->points);
    for (size_t i = 0; i < plan->function_count; i++) {
        const struct plan_function *function = &plan->functions[i];
        plan->points[PLAN_POINT_ENTRY] += plan_is_true_start(function);
        plan->points[PLAN_POINT_EXIT] += function->exits;
        plan->points[PLAN_POINT_CALL] += function->calls;
        plan->points[PLAN_POINT_FOREIGN_CALL] += function->foreign_calls;
        plan->points[PLAN_POINT_OPEN_CALL] += function->open_calls;
        plan->points[PLAN_POINT_CATCH] += function->catches;
    }
}

struct plan_share plan_share(const struct plan *plan)
{
    struct plan_share share = {0};
    for (size_t i = 0; i < plan->function_count; i++) {
        const struct plan_function *function = &plan->functions[i];
        share.starts += plan_is_true_start(function);
        const bool is_probed = function->mechanism != PLAN_NOT && function->why != PLAN_IMPORTED;
        share.probed += is_probed;
        share.entry_only += is_probed && function->entry_only;
    }
    return share;
}

/* Bytes of the process from an address on, as many as were there. */
struct window {
    uint64_t address;
    size_t size;
    uint8_t bytes[1 << 16];
};

/* Whether the process has these bytes there. Functions stand side by side: one call of the kernel
 * reads many. */
static bool has_bytes(struct window *window, uint64_t address, const uint8_t *bytes, size_t size,
                      size_t (*read)(void *context, uint64_t address, void *buffer, size_t size),
                      void *context)
{
    if (address < window->address || address - window->address + size > window->size) {
        window->address = address;
        window->size = read(context, address, window->bytes, sizeof window->bytes);
    }
    return size <= window->size &&
           !memcmp(window->bytes + (address - window->address), bytes, size);
}

size_t plan_compare(struct plan *plan, uint64_t bias,
                    size_t (*read)(void *context, uint64_t address, void *buffer, size_t size),
                    void *context)
{
    struct window window;
    size_t differing = 0;
    window.address = window.size = 0;
    for (size_t i = 0; i < plan->function_count; i++) {
        struct plan_function *function = &plan->functions[i];
        if (function->mechanism == PLAN_NOT)
            continue;
        if (has_bytes(&window, function->site + bias, function->original, function->displaced, read,
                      context))
            continue;
        function->mechanism = PLAN_NOT;
        function->why = PLAN_BYTES_DIFFER;
        function->site = 0;
        function->displaced = 0;
        function->entry_only = false;
        differing++;
    }
    return differing;
}

ptrdiff_t plan_function_index(const struct plan_function *functions, size_t count, uint64_t vaddr)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (functions[middle].start <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low && vaddr < functions[low - 1].end ? (ptrdiff_t)low - 1 : -1;
}
