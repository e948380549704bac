/* Chooses the slow calls of a function, and makes of a table of samples one of what these calls
 * spend their time on beyond the usual. */
#include "why/parts.h"

#include <stdlib.h>
#include <string.h>

/* Fewer calls cannot be compared. */
enum { LEAST_CALLS = 20, LEAST_SLOW = 3 };

/* The longest calls, at most one of so many, that hold so much of the time above the median; each
 * takes at least so many times the median. */
enum { ONE_OF = 20, TIMES_MEDIAN = 3 };
static const double most_excess = 0.9;

/* A least value is what makes calls slow where so many more of the slow ones have it. */
static const double sure_difference = 0.9;

/* == Calls == */

static int compare_calls(const void *left, const void *right)
{
    const struct why_call *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

/* The call that a thread is in just before a time. */
static struct why_call *call_at(const struct why_calls *calls, uint32_t thread, uint64_t time_ns)
{
    size_t low = 0, high = calls->list.count; /* the first that begins later */
    const struct why_call wanted = {.thread = thread, .start_ns = time_ns ? time_ns - 1 : 0};
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (compare_calls(&calls->list.items[middle], &wanted) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct why_call *call = low ? &calls->list.items[low - 1] : NULL;
    return call && call->thread == thread && time_ns <= call->end_ns ? call : NULL;
}

/* A thread that is driven off makes any call long. How long it was is in the calls, or else waits
 * say it. */
static void take_off_ready(const struct why_table *table, struct why_calls *calls)
{
    for (size_t i = 0; i < calls->list.count; i++) {
        struct why_call *call = &calls->list.items[i];
        const uint64_t length_ns = call->end_ns - call->start_ns;
        call->time_ns = length_ns > call->ready_ns ? length_ns - call->ready_ns : 0;
    }
    for (size_t i = 0; i < table->samples.count; i++) {
        const struct why_sample *sample = &table->samples.items[i];
        struct why_call *call =
            sample->cause == WHY_READY ? call_at(calls, sample->thread, sample->end_ns) : NULL;
        if (call && !call->has_states)
            call->time_ns -= sample->weight_ns < call->time_ns ? sample->weight_ns : call->time_ns;
    }
}

static int compare_times(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The times of calls, the shortest first; NULL when out of memory. The caller frees. */
static uint64_t *sort_times(const struct why_calls *calls, bool only_samples, size_t *count)
{
    uint64_t *times = calloc(calls->list.count + 1, sizeof *times);
    *count = 0;
    for (size_t i = 0; i < calls->list.count && times; i++)
        if (calls->list.items[i].is_sample || !only_samples)
            times[(*count)++] = calls->list.items[i].time_ns;
    if (times)
        qsort(times, *count, sizeof *times, compare_times);
    return times;
}

static int find_median(const struct why_calls *calls, uint64_t *median_ns)
{
    size_t count;
    uint64_t *times = sort_times(calls, true, &count);
    if (!times)
        return SPROF_ENOMEM;
    *median_ns = count ? times[count / 2] : 0;
    free(times);
    return 0;
}

/* A slow call takes at least so long. */
static int find_least(const struct why_calls *calls, uint64_t median_ns, uint64_t *least_ns)
{
    size_t count;
    uint64_t *times = sort_times(calls, false, &count);
    double all = 0, sum = 0;
    if (!times)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        all += times[i] > median_ns ? (double)(times[i] - median_ns) : 0;
    uint64_t most = calls->count / ONE_OF > LEAST_SLOW ? calls->count / ONE_OF : LEAST_SLOW;
    *least_ns = UINT64_MAX;
    for (size_t i = count; i > 0 && most && sum < most_excess * all; i--, most--) {
        sum += times[i - 1] > median_ns ? (double)(times[i - 1] - median_ns) : 0;
        *least_ns = times[i - 1];
    }
    if (*least_ns < TIMES_MEDIAN * median_ns)
        *least_ns = TIMES_MEDIAN * median_ns;
    free(times);
    return 0;
}

static void mark_from(struct why_calls *calls, uint64_t least_ns)
{
    for (size_t i = 0; i < calls->list.count; i++)
        calls->list.items[i].is_slow = calls->list.items[i].time_ns >= least_ns;
}

static bool lacks_slow_calls(const struct why_calls *calls, const struct why_slow *slow)
{
    return calls->count > calls->list.count && slow->shortest_ns < calls->complete_ns;
}

/* Where some slow calls are not in the list the samples stand for all. */
static void describe(const struct why_calls *calls, struct why_slow *slow)
{
    double sum = 0;
    uint64_t samples = 0, slow_samples = 0;
    slow->slow = slow->longest_ns = 0;
    slow->shortest_ns = UINT64_MAX;
    for (size_t i = 0; i < calls->list.count; i++) {
        const struct why_call *call = &calls->list.items[i];
        slow->slow += call->is_slow;
        samples += call->is_sample;
        slow_samples += call->is_sample && call->is_slow;
        sum += call->is_slow ? (double)call->time_ns : 0;
        slow->longest_ns = call->time_ns > slow->longest_ns ? call->time_ns : slow->longest_ns;
        if (call->is_slow && call->time_ns < slow->shortest_ns)
            slow->shortest_ns = call->time_ns;
    }
    slow->slow_ns = slow->slow ? sum / (double)slow->slow : 0;
    if (slow_samples && lacks_slow_calls(calls, slow)) {
        slow->calls = samples;
        slow->slow = slow_samples;
    }
}

/* Marks the slow calls. With a limit these are given; else they are the longest where these have a
 * least value, those with one value where it makes calls slow, and else the longest. */
static int choose(struct why_calls *calls, struct why_slow *slow)
{
    uint64_t median_ns = 0, least_ns = calls->over_ns;
    int result = find_median(calls, &median_ns);
    slow->usual_ns = (double)median_ns;
    if (!result && !least_ns)
        result = find_least(calls, median_ns, &least_ns);
    if (!result)
        mark_from(calls, least_ns);
    if (!result)
        result = why_find_value(calls, slow);
    const bool is_found = slow->is_least && slow->value_slow - slow->value_usual >= sure_difference;
    if (!result && !calls->over_ns && !is_found)
        result = why_choose_by_value(calls, median_ns, slow);
    describe(calls, slow);
    return result;
}

/* == Samples == */

static bool is_in_function(const struct why_table *table, const struct why_calls *calls,
                           const struct why_sample *sample)
{
    const struct why_stack *stack = &table->stacks.items[sample->stack];
    for (size_t i = 0; i < stack->depth; i++)
        for (size_t k = 0; k < calls->functions.count; k++)
            if (table->frames.items[stack->first + i].function == calls->functions.items[k])
                return true;
    return false;
}

/* Time in slow calls, and in usual ones, of a function that does one thing. */
struct sums {
    struct sprof_map slow, usual;
};

static uint64_t key_of(const struct why_table *table, const struct why_sample *sample)
{
    return (uint64_t)why_owner(table, sample) << 32 | (uint64_t)why_kind(sample->cause);
}

/* A wait that began before the call in which it ended, by clocks of two processors. All else stands
 * for a moment: what it weighs was spent in calls like this. */
static bool begins_before(const struct why_sample *sample, const struct why_call *call)
{
    return sample->cause >= WHY_READY && !sample->look_ns && sample->weight_ns >= WHY_CHANCE_NS &&
           sample->weight_ns > sample->end_ns - call->start_ns;
}

/* Cuts samples down to slow calls: others are idle. */
static int cut(struct why_table *table, const struct why_calls *calls, struct sums *sums)
{
    for (size_t i = 0; i < table->samples.count; i++) {
        struct why_sample *sample = &table->samples.items[i];
        const struct why_call *call = call_at(calls, sample->thread, sample->end_ns);
        sample->is_idle = !call || !call->is_slow;
        if (call && begins_before(sample, call))
            sample->weight_ns = sample->end_ns - call->start_ns + 1;
        if (sample->cause == WHY_READY ||
            (sample->is_idle && !is_in_function(table, calls, sample)))
            continue;
        uint64_t *sum =
            sprof_map_at(sample->is_idle ? &sums->usual : &sums->slow, key_of(table, sample));
        if (!sum)
            return SPROF_ENOMEM;
        *sum += sample->weight_ns;
    }
    return 0;
}

/* Takes from the time of slow calls what as many usual ones would have needed. */
static void take_off_usual(struct why_table *table, const struct why_calls *calls,
                           const struct sums *sums)
{
    uint64_t slow_calls = 0;
    for (size_t i = 0; i < calls->list.count; i++)
        slow_calls += calls->list.items[i].is_slow;
    const double usual_calls = calls->count > slow_calls ? (double)(calls->count - slow_calls) : 1;
    for (size_t i = 0; i < table->samples.count; i++) {
        struct why_sample *sample = &table->samples.items[i];
        if (sample->is_idle || sample->cause == WHY_READY)
            continue;
        const uint64_t key = key_of(table, sample);
        const uint64_t *usual = sprof_map_get(&sums->usual, key),
                       *in_slow = sprof_map_get(&sums->slow, key);
        if (!usual || !in_slow || !*in_slow)
            continue;
        const double needed = (double)*usual / usual_calls * (double)slow_calls;
        const double left = 1 - needed / (double)*in_slow;
        sample->weight_ns = left > 0 ? (uint64_t)((double)sample->weight_ns * left) : 0;
    }
}

int why_judge_slow(struct why_verdict *verdict, struct why_table *table, struct why_calls *calls)
{
    struct why_slow slow = {.of = calls->of, .calls = calls->count, .over_ns = calls->over_ns};
    struct sums sums = {0};
    int result = 0;
    *verdict = (struct why_verdict){.answer = WHY_FEW_CALLS, .slow = slow};
    if (calls->count < LEAST_CALLS || !calls->list.count)
        return 0;
    qsort(calls->list.items, calls->list.count, sizeof *calls->list.items, compare_calls);
    take_off_ready(table, calls);
    result = choose(calls, &slow);
    if (!result && slow.slow < LEAST_SLOW) {
        *verdict = (struct why_verdict){.answer = WHY_NO_SLOW, .slow = slow};
        return 0;
    }
    if (!result)
        result = cut(table, calls, &sums);
    if (!result) {
        take_off_usual(table, calls, &sums);
        table->by_calls = true;
        result = why_judge(verdict, table);
        verdict->slow = slow;
    }
    sprof_map_release(&sums.slow);
    sprof_map_release(&sums.usual);
    return result;
}

void why_calls_release(struct why_calls *calls)
{
    sprof_vec_release(&calls->list);
    sprof_vec_release(&calls->values);
    sprof_vec_release(&calls->functions);
    sprof_arena_release(&calls->texts);
    *calls = (struct why_calls){0};
}
