/* Finds the value of an argument that makes calls slow. */
#include "why/parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A value makes calls slow where so many of its calls take over three times the median, these hold
 * so much of the time beyond it, and chance gives as much in fewer than one of a thousand tables.
 */
enum { TIMES_MEDIAN = 3, LEAST_CALLS = 3 };
static const double slow_of_value = 0.8, least_excess = 0.15, most_chance = 1e-3;
/* A value of more calls than these is the usual one. */
static const double most_calls = 0.3;

/* Slow calls have a value so much more often than usual ones. */
static const double least_difference = 0.6, better_by = 0.05;
/* A least value leaves one of so many slow calls out. */
enum { ONE_OF = 20 };

/* Larger ones are addresses. */
static const uint64_t least_address = 1ull << 40;

/* A value of a call. */
struct value_place {
    const struct why_value *value;
    struct why_call *call;
    int64_t number;
    bool is_number;
};

/* The values of calls, those of one name together, and of these those of one text. */
struct places {
    struct value_place *items;
    size_t count;
};

static bool read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 0);
    return end != text && !*end && !errno;
}

static int compare_places(const void *left, const void *right)
{
    const struct value_place *a = left, *b = right;
    const int names = strcmp(a->value->name, b->value->name);
    return names ? names : strcmp(a->value->text, b->value->text);
}

static bool is_address(const struct value_place *place)
{
    return place->is_number && (uint64_t)llabs(place->number) >= least_address;
}

static int collect(struct places *places, const struct why_calls *calls, bool only_samples)
{
    *places = (struct places){.items = calloc(calls->values.count + 1, sizeof *places->items)};
    if (!places->items)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < calls->list.count; i++) {
        struct why_call *call = &calls->list.items[i];
        for (uint32_t k = 0; k < call->value_count && (call->is_sample || !only_samples); k++) {
            struct value_place place = {.value = &calls->values.items[call->first_value + k],
                                        .call = call};
            place.is_number = read_number(place.value->text, &place.number);
            if (!is_address(&place))
                places->items[places->count++] = place;
        }
    }
    qsort(places->items, places->count, sizeof *places->items, compare_places);
    return 0;
}

/* Behind the last place with the value of the one at `first`. */
static size_t end_of_value(const struct places *places, size_t first)
{
    size_t end = first + 1;
    while (end < places->count && !compare_places(&places->items[first], &places->items[end]))
        end++;
    return end;
}

/* … with its name. */
static size_t end_of_name(const struct places *places, size_t first)
{
    const char *name = places->items[first].value->name;
    size_t end = first + 1;
    while (end < places->count && !strcmp(name, places->items[end].value->name))
        end++;
    return end;
}

/* == By value == */

static int longer_first(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

/* The times of all samples, the longest first. */
struct times {
    uint64_t *items;
    size_t count;
    double excess; /* beyond the median */
};

static int take_times(struct times *times, const struct why_calls *calls, uint64_t median_ns)
{
    *times = (struct times){.items = calloc(calls->list.count + 1, sizeof *times->items)};
    if (!times->items)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < calls->list.count; i++) {
        const struct why_call *call = &calls->list.items[i];
        if (!call->is_sample)
            continue;
        times->items[times->count++] = call->time_ns;
        times->excess += call->time_ns > median_ns ? (double)(call->time_ns - median_ns) : 0;
    }
    qsort(times->items, times->count, sizeof *times->items, longer_first);
    return 0;
}

/* The share of calls that take at least so long. */
static double share_from(const struct times *times, uint64_t time_ns)
{
    size_t low = 0, high = times->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (times->items[middle] >= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return times->count ? (double)low / (double)times->count : 1;
}

/* The chance that at least `least` of `count` have what a share of all has. */
static double chance_of(size_t count, size_t least, double share)
{
    double sum = 0;
    if (share >= 1)
        return 1;
    for (size_t i = least; i <= count && share > 0; i++)
        sum += exp(lgamma((double)count + 1) - lgamma((double)i + 1) -
                   lgamma((double)(count - i) + 1) + (double)i * log(share) +
                   (double)(count - i) * log1p(-share));
    return sum;
}

/* How much of all excess the calls of a value hold; 0: it does not make calls slow. */
static double excess_of(const struct places *places, size_t first, size_t end,
                        const struct times *times, uint64_t median_ns)
{
    const size_t count = end - first;
    double excess = 0;
    uint64_t shortest_slow = UINT64_MAX;
    size_t slow = 0;
    if (count < LEAST_CALLS || (double)count > most_calls * (double)times->count)
        return 0;
    for (size_t i = first; i < end; i++) {
        const uint64_t time_ns = places->items[i].call->time_ns;
        excess += ((double)time_ns - (double)median_ns) / times->excess;
        if (time_ns <= TIMES_MEDIAN * median_ns)
            continue;
        slow++;
        shortest_slow = time_ns < shortest_slow ? time_ns : shortest_slow;
    }
    if ((double)slow < slow_of_value * (double)count || excess < least_excess)
        return 0;
    const double chance = chance_of(count, slow, share_from(times, shortest_slow));
    return chance * (double)places->count < most_chance ? excess : 0;
}

static void mark_value(struct why_calls *calls, const struct why_value *value)
{
    for (size_t i = 0; i < calls->list.count; i++) {
        struct why_call *call = &calls->list.items[i];
        call->is_slow = false;
        for (uint32_t k = 0; k < call->value_count; k++) {
            const struct why_value *has = &calls->values.items[call->first_value + k];
            call->is_slow |= !strcmp(has->name, value->name) && !strcmp(has->text, value->text);
        }
    }
}

int why_choose_by_value(struct why_calls *calls, uint64_t median_ns, struct why_slow *slow)
{
    struct places places = {0};
    struct times times = {0};
    const struct why_value *best = NULL;
    double most = 0;
    int result = collect(&places, calls, true);
    if (!result)
        result = take_times(&times, calls, median_ns);
    for (size_t first = 0, end; first < places.count && !result && times.excess > 0; first = end) {
        end = end_of_value(&places, first);
        const double excess = excess_of(&places, first, end, &times, median_ns);
        if (excess > most) {
            most = excess;
            best = places.items[first].value;
        }
    }
    if (best) {
        mark_value(calls, best);
        slow->name = best->name;
        slow->value = best->text;
        slow->is_least = false;
        slow->value_slow = 1;
        slow->value_usual = 0;
    }
    free(places.items);
    free(times.items);
    return result;
}

/* == Of slow calls == */

struct shares {
    double slow, usual;
};

struct counts {
    size_t slow, usual;
};

static void count(struct counts *counts, const struct why_call *call)
{
    counts->slow += call->is_slow;
    counts->usual += !call->is_slow && call->is_sample;
}

static struct shares shares_of(const struct counts *some, const struct counts *all)
{
    return (struct shares){all->slow ? (double)some->slow / (double)all->slow : 0,
                           all->usual ? (double)some->usual / (double)all->usual : 0};
}

static void take_better(struct why_slow *slow, const struct why_value *value, bool is_least,
                        struct shares shares)
{
    const double had = slow->name ? slow->value_slow - slow->value_usual : 0;
    const double difference = shares.slow - shares.usual;
    if (difference < least_difference || difference <= had + (is_least ? better_by : 0))
        return;
    slow->name = value->name;
    slow->value = value->text;
    slow->is_least = is_least;
    slow->value_slow = shares.slow;
    slow->value_usual = shares.usual;
}

static int compare_numbers(const void *left, const void *right)
{
    const struct value_place *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

/* Tries the least value that nearly all slow calls reach. Sorts the places of a name by number. */
static void try_least(struct why_slow *slow, struct value_place *places, size_t number,
                      const struct counts *all)
{
    size_t below = 0, at = 0;
    struct counts some = {0};
    for (size_t i = 0; i < number; i++)
        if (!places[i].is_number)
            return;
    qsort(places, number, sizeof *places, compare_numbers);
    while (at < number && (below += places[at].call->is_slow) <= all->slow / ONE_OF)
        at++;
    for (size_t i = at; i < number; i++)
        count(&some, places[i].call);
    if (at < number)
        take_better(slow, places[at].value, true, shares_of(&some, all));
}

int why_find_value(const struct why_calls *calls, struct why_slow *slow)
{
    struct places places;
    struct counts all = {0};
    const int result = collect(&places, calls, false);
    for (size_t i = 0; i < calls->list.count; i++)
        count(&all, &calls->list.items[i]);
    for (size_t first = 0, end; first < places.count && all.slow >= LEAST_CALLS; first = end) {
        struct counts some = {0};
        end = end_of_value(&places, first);
        for (size_t i = first; i < end; i++)
            count(&some, places.items[i].call);
        take_better(slow, places.items[first].value, false, shares_of(&some, &all));
    }
    for (size_t first = 0, end; first < places.count && all.slow >= LEAST_CALLS; first = end) {
        end = end_of_name(&places, first);
        try_least(slow, &places.items[first], end - first, &all);
    }
    free(places.items);
    return result;
}
