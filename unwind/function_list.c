/* Sorts the functions of a table, and clips those that overlap. */
#include "unwind/function_list.h"

#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

static bool is_sorted(const struct function_list *list)
{
    for (size_t i = 1; i < list->functions.count; i++)
        if (list->functions.items[i - 1].start > list->functions.items[i].start)
            return false;
    return true;
}

struct key {
    uint32_t offset, index;
};

static void radix_pass(const struct key *from, struct key *to, size_t count, unsigned shift)
{
    size_t place[DIGITS] = {0};
    for (size_t i = 0; i < count; i++)
        place[from[i].offset >> shift & (DIGITS - 1)]++;
    size_t next = 0;
    for (size_t digit = 0; digit < DIGITS; digit++) {
        const size_t number = place[digit];
        place[digit] = next;
        next += number;
    }
    for (size_t i = 0; i < count; i++)
        to[place[from[i].offset >> shift & (DIGITS - 1)]++] = from[i];
}

/* Afterwards the sorted keys are in keys[count…]: the number of passes is odd. */
static void radix_sort(struct key *keys, size_t count)
{
    for (unsigned pass = 0; pass < PASSES; pass++) {
        struct key *from = keys + (pass & 1 ? count : 0);
        radix_pass(from, keys + (pass & 1 ? 0 : count), count, pass * DIGIT_BITS);
    }
}

int unwind_function_list_sort(struct function_list *list, uint64_t base)
{
    const size_t count = list->functions.count;
    if (is_sorted(list))
        return 0;
    struct key *keys = calloc(count * 2, sizeof *keys);
    struct function_range *sorted = calloc(count, sizeof *sorted);
    if (keys && sorted) {
        for (size_t i = 0; i < count; i++)
            keys[i] = (struct key){(uint32_t)(list->functions.items[i].start - base), (uint32_t)i};
        radix_sort(keys, count);
        for (size_t i = 0; i < count; i++)
            sorted[i] = list->functions.items[keys[count + i].index];
        free(list->functions.items);
        list->functions.items = sorted;
        list->functions.capacity = count;
        sorted = NULL;
    }
    free(keys);
    free(sorted);
    return keys ? 0 : SPROF_ENOMEM;
}

/* Whether `range` stays, given the one kept before it, which overlaps it. */
static bool clip_pair(struct function_range *before, const struct function_range *range)
{
    if (range->source == FUNCTION_FROM_ROOT)
        before->root = true;
    if (range->source > before->source || range->start == before->start)
        return false;
    before->end = range->start;
    return true;
}

void unwind_function_list_clip(struct function_list *list)
{
    struct function_range *items = list->functions.items;
    size_t kept = 0;
    for (size_t i = 0; i < list->functions.count; i++) {
        struct function_range *before = kept ? &items[kept - 1] : NULL;
        if (!before || before->end <= items[i].start)
            items[kept++] = items[i];
        else if (before->start == items[i].start && items[i].source < before->source)
            *before = items[i];
        else if (clip_pair(before, &items[i]))
            items[kept++] = items[i];
    }
    list->functions.count = kept;
}
