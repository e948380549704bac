/* Sorts the functions of a table, and clips those that overlap. */
#include "unwind/draft.h"

#include <stdlib.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

static bool is_sorted(const struct draft_list *list)
{
    for (size_t i = 1; i < list->drafts.count; i++)
        if (list->drafts.items[i - 1].start > list->drafts.items[i].start)
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

int draft_list_sort(struct draft_list *list, uint64_t base)
{
    const size_t count = list->drafts.count;
    if (is_sorted(list))
        return 0;
    struct key *keys = calloc(count * 2, sizeof *keys);
    struct draft *sorted = calloc(count, sizeof *sorted);
    if (keys && sorted) {
        for (size_t i = 0; i < count; i++)
            keys[i] = (struct key){(uint32_t)(list->drafts.items[i].start - base), (uint32_t)i};
        radix_sort(keys, count);
        for (size_t i = 0; i < count; i++)
            sorted[i] = list->drafts.items[keys[count + i].index];
        free(list->drafts.items);
        list->drafts.items = sorted;
        list->drafts.capacity = count;
        sorted = NULL;
    }
    free(keys);
    free(sorted);
    return keys ? 0 : SPROF_ENOMEM;
}

/* Whether `draft` stays, given the one kept before it, which overlaps it. */
static bool clip_pair(struct draft *before, const struct draft *draft)
{
    if (draft->source == DRAFT_ROOT)
        before->root = true;
    if (draft->source > before->source || draft->start == before->start)
        return false;
    before->end = draft->start;
    return true;
}

void draft_list_clip(struct draft_list *list)
{
    struct draft *items = list->drafts.items;
    size_t kept = 0;
    for (size_t i = 0; i < list->drafts.count; i++) {
        struct draft *before = kept ? &items[kept - 1] : NULL;
        if (!before || before->end <= items[i].start)
            items[kept++] = items[i];
        else if (before->start == items[i].start && items[i].source < before->source)
            *before = items[i];
        else if (clip_pair(before, &items[i]))
            items[kept++] = items[i];
    }
    list->drafts.count = kept;
}
