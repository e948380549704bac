/* Sums useful time up by function and what it does. */
#include "why/parts.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const struct why_candidate *a = left, *b = right;
    if (a->weight_ns != b->weight_ns)
        return a->weight_ns > b->weight_ns ? -1 : 1;
    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    return (int)a->cause - (int)b->cause;
}

int why_rank(const struct why_table *table, uint32_t thread, struct why_candidates *candidates)
{
    struct sprof_map places = {0};
    uint64_t all_ns = 0;
    int result = 0;
    for (size_t i = 0; i < table->samples.count && !result; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        if (!why_is_useful(sample) || (thread != UINT32_MAX && thread != sample->thread))
            continue;
        const struct why_candidate new = {why_owner(table, sample), why_kind(sample->cause), 0, 0};
        uint64_t *place =
            sprof_map_at(&places, (uint64_t) new.function << 32 | (uint64_t) new.cause);
        if (!place || (!*place && sprof_vec_push(&candidates->list, new))) {
            result = SPROF_ENOMEM;
            break;
        }
        if (!*place)
            *place = candidates->list.count;
        candidates->list.items[*place - 1].weight_ns += sample->weight_ns;
        all_ns += sample->weight_ns;
    }
    for (size_t i = 0; i < candidates->list.count && all_ns; i++)
        candidates->list.items[i].share =
            (double)candidates->list.items[i].weight_ns / (double)all_ns;
    if (candidates->list.count)
        qsort(candidates->list.items, candidates->list.count, sizeof *candidates->list.items,
              compare);
    sprof_map_release(&places);
    return result;
}
