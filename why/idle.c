/* Distinguishes waits for work from waits within work. */
#include "why/parts.h"

#include <stdlib.h>
#include <string.h>

/* A thread that has a CPU for less of its time than that does nothing but wait. */
enum { WORKS_PER_MILLE = 2 };

/* A function holds a thread's loop where that part of its work passes it. */
enum { LOOP_PERCENT = 95 };

/* As much work in the application shows where the loop is; fewer samples all pass by chance. */
enum { ENOUGH_OWN_SAMPLES = 5 };

struct marking {
    struct why_table *table;
    uint32_t *order;             /* samples by thread */
    struct sprof_map inclusive;  /* function → work of the thread below it */
    struct sprof_map last_added; /* function → number of the last sample that was added to it */
    uint64_t added;
    uint64_t work_ns, all_ns; /* of the thread … */
    uint64_t own_work_ns; /* … in functions of the application: libraries start before them … */
    uint64_t own_samples; /* … of so many samples … */
    uint64_t wanted_ns;   /* … and its time with a CPU, or without one that it wants */
};

static int compare(const void *left, const void *right, void *context)
{
    const struct why_sample *samples = context;
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (samples[a].thread != samples[b].thread)
        return samples[a].thread < samples[b].thread ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Which call it is: what an application function called to wait, or to do something. */
static uint64_t call_of(const struct why_table *table, const struct why_sample *sample)
{
    const uint32_t entry = table->stacks.items[sample->stack].entry;
    return (uint64_t)why_owner(table, sample) << 32 | entry;
}

/* A thread that was woken wants a CPU where it waited, however long: that is no work there. */
static bool is_waking(const struct why_table *table, const struct why_sample *sample,
                      const struct why_sample *beside)
{
    return beside && sample->cause == WHY_READY && why_cause_is_wait(beside->cause) &&
           call_of(table, sample) == call_of(table, beside);
}

/* Adds a sample's work to each function on its stack, once to those that recur. */
static int add_work(struct marking *marking, const struct why_sample *sample, bool is_waking)
{
    const struct why_stack *stack = &marking->table->stacks.items[sample->stack];
    const struct why_place *frames = why_frames(marking->table, stack);
    marking->all_ns += sample->weight_ns;
    if (why_cause_is_wait(sample->cause))
        return 0;
    marking->wanted_ns += sample->weight_ns;
    if (is_waking)
        return 0;
    marking->work_ns += sample->weight_ns;
    marking->own_work_ns += stack->depth ? sample->weight_ns : 0;
    marking->own_samples += stack->depth > 0;
    marking->added++;
    for (size_t i = 0; i < stack->depth; i++) {
        uint64_t *last = sprof_map_at(&marking->last_added, frames[i].function);
        uint64_t *sum = last ? sprof_map_at(&marking->inclusive, frames[i].function) : NULL;
        if (!sum)
            return SPROF_ENOMEM;
        *sum += *last == marking->added ? 0 : sample->weight_ns;
        *last = marking->added;
    }
    return 0;
}

/* How many application functions lie between a wait and the loop of its thread. */
static size_t depth_below_loop(const struct marking *marking, const struct why_stack *stack)
{
    const struct why_place *frames = why_frames(marking->table, stack);
    const uint64_t work_ns =
        marking->own_samples < ENOUGH_OWN_SAMPLES ? marking->work_ns : marking->own_work_ns;
    for (size_t i = 0; i < stack->depth; i++) {
        const uint64_t *sum = sprof_map_get(&marking->inclusive, frames[i].function);
        if (sum && *sum * 100 >= work_ns * LOOP_PERCENT)
            return frames[i].inner;
    }
    return stack->depth ? frames[stack->depth - 1].inner + 1 : 0;
}

/* Work arrives through a wait of these kinds, and often through a function around it. */
static bool brings_work(enum why_cause cause)
{
    return cause == WHY_POLL || cause == WHY_PEER || cause == WHY_CONDITION ||
           cause == WHY_SEMAPHORE || cause == WHY_CHILD || cause == WHY_FUTEX;
}

/* What a process waits for that has started others is their end, or what they write. */
static bool waits_for_children(const struct why_table *table, const struct why_sample *sample)
{
    const bool reads =
        sample->cause == WHY_PEER && !strcmp(table->words.items[sample->word], "read");
    return table->threads.items[sample->thread].has_children &&
           (reads || sample->cause == WHY_CHILD || sample->cause == WHY_POLL);
}

static bool is_idle(const struct marking *marking, const struct why_sample *sample)
{
    switch (sample->cause) {
    case WHY_LOCK:
    case WHY_DISK:
    case WHY_PAGE: return false;
    case WHY_JOIN:
    case WHY_STOPPED: return true;
    default: break;
    }
    if (!why_cause_is_wait(sample->cause))
        return false;
    if (waits_for_children(marking->table, sample))
        return true;
    if (marking->wanted_ns * 1000 < marking->all_ns * WORKS_PER_MILLE || !marking->work_ns)
        return true;
    const struct why_stack *stack = &marking->table->stacks.items[sample->stack];
    return depth_below_loop(marking, stack) <= (brings_work(sample->cause) ? 2 : 1);
}

/* Calls that do nothing but wait. */
static bool only_waits(enum why_cause cause)
{
    return cause == WHY_SLEEP || cause == WHY_POLL || cause == WHY_CONDITION ||
           cause == WHY_SEMAPHORE || cause == WHY_FUTEX;
}

/* The work of waiting for work is none: of calls that did nothing else, and waited for it. */
static int mark_calls(struct marking *marking, size_t from, size_t to)
{
    struct why_table *table = marking->table;
    struct sprof_map waits = {0};
    int result = 0;
    for (size_t i = from; i < to && !result; i++) {
        const struct why_sample *sample = &table->samples.items[marking->order[i]];
        if (sample->is_idle && only_waits(sample->cause))
            result = sprof_map_put(&waits, call_of(table, sample), 1);
    }
    for (size_t i = from; i < to && !result; i++) {
        struct why_sample *sample = &table->samples.items[marking->order[i]];
        if (sample->cause < WHY_READY && table->stacks.items[sample->stack].entry &&
            sprof_map_get(&waits, call_of(table, sample)))
            sample->is_idle = true;
    }
    sprof_map_release(&waits);
    return result;
}

static int mark_thread(struct marking *marking, size_t from, size_t to)
{
    struct why_sample *samples = marking->table->samples.items;
    int result = 0;
    sprof_map_clear(&marking->inclusive);
    marking->work_ns = marking->own_work_ns = marking->all_ns = marking->wanted_ns = 0;
    marking->own_samples = 0;
    for (size_t i = from; i < to && !result; i++) {
        const struct why_sample *sample = &samples[marking->order[i]],
                                *before = i > from ? &samples[marking->order[i - 1]] : NULL,
                                *after = i + 1 < to ? &samples[marking->order[i + 1]] : NULL;
        result = add_work(marking, sample,
                          is_waking(marking->table, sample, before) ||
                              is_waking(marking->table, sample, after));
    }
    for (size_t i = from; i < to; i++)
        samples[marking->order[i]].is_idle = is_idle(marking, &samples[marking->order[i]]);
    return result ? result : mark_calls(marking, from, to);
}

int why_mark_idle(struct why_table *table)
{
    const size_t count = table->samples.count;
    struct marking marking = {.table = table, .order = calloc(count + 1, sizeof(uint32_t))};
    int result = marking.order ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++)
        marking.order[i] = (uint32_t)i;
    if (!result)
        qsort_r(marking.order, count, sizeof *marking.order, compare, table->samples.items);
    for (size_t from = 0, to; from < count && !result; from = to) {
        const uint32_t thread = table->samples.items[marking.order[from]].thread;
        for (to = from; to < count && table->samples.items[marking.order[to]].thread == thread;)
            to++;
        result = mark_thread(&marking, from, to);
    }
    sprof_map_release(&marking.inclusive);
    sprof_map_release(&marking.last_added);
    free(marking.order);
    return result;
}
