/* Finds a function that stands out in one of several threads that do the same else. */
#include "why/parts.h"

#include <stdlib.h>

enum { LEAST_ALIKE = 3, LEAST_SAMPLES = 30, TIMES_THE_OTHERS = 4 };
static const double least_share = 0.12;

static uint32_t root_of(const struct why_table *table, const struct why_sample *sample)
{
    const struct why_stack *stack = &table->stacks.items[sample->stack];
    return stack->depth ? table->frames.items[stack->first + stack->depth - 1].function : 0;
}

uint32_t *why_thread_roots(const struct why_table *table)
{
    uint32_t *roots = calloc(table->threads.count + 1, sizeof *roots);
    uint64_t *most = calloc(table->threads.count + 1, sizeof *most);
    struct sprof_map sums = {0};
    bool failed = !roots || !most;
    for (size_t i = 0; i < table->samples.count && !failed; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        const uint32_t root = root_of(table, sample);
        if (!root || !why_is_useful(sample))
            continue;
        uint64_t *sum = sprof_map_at(&sums, (uint64_t)sample->thread << 32 | root);
        failed = !sum;
        if (failed)
            break;
        *sum += sample->weight_ns;
        if (*sum > most[sample->thread]) {
            most[sample->thread] = *sum;
            roots[sample->thread] = root;
        }
    }
    sprof_map_release(&sums);
    free(most);
    if (failed)
        free(roots);
    return failed ? NULL : roots;
}

static size_t samples_of(const struct why_table *table, uint32_t thread)
{
    size_t count = 0;
    for (size_t i = 0; i < table->samples.count; i++)
        count +=
            table->samples.items[i].thread == thread && why_is_useful(&table->samples.items[i]);
    return count;
}

/* The share of the candidate in the useful time of the other threads with that root. */
static double share_of_others(const struct why_table *table, const uint32_t *roots,
                              const struct why_outlier *found)
{
    uint64_t all = 0, picked = 0;
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        if (!why_is_useful(sample) || sample->thread == found->thread ||
            roots[sample->thread] != roots[found->thread])
            continue;
        all += sample->weight_ns;
        if (why_owner(table, sample) == found->function && why_kind(sample->cause) == found->kind)
            picked += sample->weight_ns;
    }
    return all ? (double)picked / (double)all : 0;
}

static int look_at(const struct why_table *table, const uint32_t *roots, uint32_t thread,
                   struct why_outlier *found)
{
    struct why_candidates candidates = {0};
    struct why_outlier here = {.thread = thread};
    for (size_t i = 0; i < table->threads.count; i++)
        here.alike += roots[i] == roots[thread];
    if (!roots[thread] || here.alike < LEAST_ALIKE || samples_of(table, thread) < LEAST_SAMPLES)
        return 0;
    int result = why_rank(table, thread, &candidates);
    if (!result && candidates.list.count && candidates.list.items[0].function) {
        here.function = candidates.list.items[0].function;
        here.kind = candidates.list.items[0].cause;
        why_share_of(table, &(struct why_picking){here.function, here.kind, thread, 0},
                     &here.share);
        here.others = share_of_others(table, roots, &here);
        if (here.share.share - here.share.half >= least_share &&
            here.share.share > TIMES_THE_OTHERS * here.others &&
            here.share.share > found->share.share)
            *found = here;
    }
    sprof_vec_release(&candidates.list);
    return result;
}

int why_find_outlier(const struct why_table *table, struct why_outlier *found)
{
    uint32_t *roots = why_thread_roots(table);
    int result = roots ? 0 : SPROF_ENOMEM;
    *found = (struct why_outlier){0};
    for (uint32_t thread = 0; thread < table->threads.count && !result; thread++)
        result = look_at(table, roots, thread, found);
    free(roots);
    return result;
}
