/* Describes the function that a verdict names: how it is reached, and what its time is. */
#include "why/parts.h"

#include <stdlib.h>
#include <string.h>

enum { ALONE_PERCENT = 80, LEAST_ALIKE = 3, BELOW_PERCENT = 60, DEEPEST = 64 };

struct describing {
    struct why_verdict *verdict;
    const struct why_table *table;
    struct sprof_map by_stack, by_caller, by_entry, by_thread, by_word, by_lock;
    uint64_t by_cause[WHY_CAUSES], all_ns;
};

static bool is_of(const struct why_verdict *verdict, const struct why_table *table,
                  const struct why_sample *sample)
{
    return why_owner(table, sample) == verdict->function &&
           why_kind(sample->cause) == verdict->kind &&
           (why_is_useful(sample) || verdict->answer == WHY_IDLE);
}

static int add(struct sprof_map *map, uint64_t key, uint64_t weight)
{
    uint64_t *sum = sprof_map_at(map, key);
    if (!sum)
        return SPROF_ENOMEM;
    *sum += weight;
    return 0;
}

/* A stack's functions as a key, so that stacks that differ in other frames are one way. */
static uint64_t way_key(const struct why_table *table, const struct why_stack *stack)
{
    return sprof_hash_bytes(why_frames(table, stack), stack->depth * sizeof(struct why_place));
}

static int sum_up(struct describing *describing)
{
    const struct why_table *table = describing->table;
    int result = 0;
    for (size_t i = 0; i < table->samples.count && !result; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        if (!is_of(describing->verdict, table, sample))
            continue;
        const struct why_stack *stack = &table->stacks.items[sample->stack];
        const uint32_t caller =
            stack->depth > 1 ? table->frames.items[stack->first + 1].function : 0;
        const uint64_t weight = sample->weight_ns;
        describing->by_cause[sample->cause] += weight;
        describing->all_ns += weight;
        result = add(&describing->by_stack, way_key(table, stack), weight);
        result = result ? result : add(&describing->by_caller, caller, weight);
        result = result ? result : add(&describing->by_entry, stack->entry, weight);
        result = result ? result : add(&describing->by_thread, sample->thread, weight);
        result = result ? result : add(&describing->by_word, sample->word, weight);
        if (sample->lock && !result)
            result = add(&describing->by_lock, sample->lock, weight);
    }
    return result;
}

/* The key with the largest sum, of equal ones the smallest; its sum. */
static uint64_t largest(const struct sprof_map *map, uint64_t *key)
{
    uint64_t most = map->has_zero ? map->zero_value : 0;
    *key = 0;
    for (size_t i = 0; i < map->capacity; i++) {
        const struct sprof_map_slot *slot = &map->slots[i];
        if (slot->key &&
            (slot->value > most || (slot->value == most && most && slot->key < *key))) {
            most = slot->value;
            *key = slot->key;
        }
    }
    return most;
}

static int take_way(struct describing *describing)
{
    const struct why_table *table = describing->table;
    uint64_t key;
    largest(&describing->by_stack, &key);
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        const struct why_stack *stack = &table->stacks.items[sample->stack];
        if (!is_of(describing->verdict, table, sample) || way_key(table, stack) != key)
            continue;
        for (size_t f = stack->depth; f > 0; f--)
            if (sprof_vec_push(&describing->verdict->way,
                               table->frames.items[stack->first + f - 1].function))
                return SPROF_ENOMEM;
        return 0;
    }
    return 0;
}

static void take_callers(struct describing *describing)
{
    for (size_t i = 0; i < WHY_CALLERS; i++) {
        uint64_t caller;
        if (!largest(&describing->by_caller, &caller) || !caller)
            break;
        describing->verdict->callers[i] = (uint32_t)caller;
        *sprof_map_get(&describing->by_caller, caller) = 0;
    }
}

static void take_causes(struct describing *describing)
{
    struct why_verdict *verdict = describing->verdict;
    const struct why_table *table = describing->table;
    uint64_t key;
    uint64_t most = largest(&describing->by_entry, &key);
    verdict->entry = most * 2 > describing->all_ns ? (uint32_t)key : 0;
    verdict->cause = verdict->kind;
    for (size_t cause = 0; cause < WHY_CAUSES; cause++)
        if (describing->by_cause[cause] > describing->by_cause[verdict->cause])
            verdict->cause = (enum why_cause)cause;
    most = largest(&describing->by_lock, &key);
    verdict->lock = most ? table->words.items[key - 1] : NULL;
    verdict->lock_share = (double)most / (double)describing->all_ns;
    largest(&describing->by_word, &key);
    verdict->word = (uint32_t)key;
    for (size_t i = 0; i < table->samples.count; i++)
        if (table->samples.items[i].word == verdict->word &&
            why_owner(table, &table->samples.items[i]) == verdict->function)
            verdict->word_ns += table->samples.items[i].weight_ns;
}

static int take_thread(struct describing *describing)
{
    struct why_verdict *verdict = describing->verdict;
    uint64_t thread;
    const uint64_t most = largest(&describing->by_thread, &thread);
    uint32_t *roots = why_thread_roots(describing->table);
    if (!roots)
        return SPROF_ENOMEM;
    size_t alike = 0;
    for (size_t i = 0; i < describing->table->threads.count; i++)
        alike += roots[thread] && roots[i] == roots[thread];
    free(roots);
    if (!verdict->only_thread && alike >= LEAST_ALIKE &&
        most * 100 >= describing->all_ns * ALONE_PERCENT) {
        verdict->only_thread = true;
        verdict->thread = (uint32_t)thread;
        verdict->threads_alike = alike;
    }
    return 0;
}

int why_describe(struct why_verdict *verdict, const struct why_table *table)
{
    struct describing describing = {.verdict = verdict, .table = table};
    int result = sum_up(&describing);
    if (!result && describing.all_ns) {
        take_causes(&describing);
        take_callers(&describing);
        result = take_way(&describing);
        result = result ? result : take_thread(&describing);
    }
    sprof_map_release(&describing.by_stack);
    sprof_map_release(&describing.by_caller);
    sprof_map_release(&describing.by_entry);
    sprof_map_release(&describing.by_thread);
    sprof_map_release(&describing.by_word);
    sprof_map_release(&describing.by_lock);
    return result;
}

/* == Below which function == */

/* Whether a stack begins, from its outside, with the functions of `way`. */
static bool begins_with(const struct why_table *table, const struct why_stack *stack,
                        const uint32_t *way, size_t count)
{
    if (stack->depth < count)
        return false;
    for (size_t i = 0; i < count; i++)
        if (table->frames.items[stack->first + stack->depth - 1 - i].function != way[i])
            return false;
    return true;
}

/* Adds the next function to the way where most of what is below the way is below it. */
static int step(struct why_verdict *verdict, const struct why_table *table, uint64_t useful_ns,
                bool *ended)
{
    struct sprof_map sums = {0};
    const size_t depth = verdict->way.count;
    uint64_t key, all_ns = 0;
    int result = 0;
    for (size_t i = 0; i < table->samples.count && !result; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        const struct why_stack *stack = &table->stacks.items[sample->stack];
        if (!why_is_useful(sample) || !begins_with(table, stack, verdict->way.items, depth))
            continue;
        all_ns += sample->weight_ns;
        if (stack->depth > depth)
            result =
                add(&sums, table->frames.items[stack->first + stack->depth - 1 - depth].function,
                    sample->weight_ns);
    }
    const uint64_t most = largest(&sums, &key);
    sprof_map_release(&sums);
    *ended = result || !key || most * 100 < all_ns * BELOW_PERCENT || most * 2 < useful_ns;
    if (*ended)
        return result;
    verdict->below = (uint32_t)key;
    verdict->below_share = (double)most / (double)useful_ns;
    return sprof_vec_push(&verdict->way, (uint32_t)key);
}

int why_find_below(struct why_verdict *verdict, const struct why_table *table)
{
    bool ended = false;
    int result = 0;
    verdict->way.count = 0;
    while (!ended && !result && verdict->way.count < DEEPEST)
        result = step(verdict, table, verdict->useful_ns, &ended);
    return result;
}
