/* Numbers the distinct rules of a table. */
#include "base/base.h"
#include "unwind/rule.h"

#include <stdlib.h>

enum { RULES_MAX = 65535 };

static uint32_t *bucket_of(struct rule_set *set, uint64_t rule)
{
    size_t at = (size_t)sprof_hash_mix(rule) & set->bucket_mask;
    while (set->buckets[at] && set->rules[set->buckets[at] - 1] != rule)
        at = (at + 1) & set->bucket_mask;
    return &set->buckets[at];
}

static int grow(struct rule_set *set)
{
    const size_t wanted = set->bucket_mask ? (set->bucket_mask + 1) * 2 : 1024;
    uint32_t *buckets = calloc(wanted, sizeof *buckets);
    if (!buckets)
        return SPROF_ENOMEM;
    free(set->buckets);
    set->buckets = buckets;
    set->bucket_mask = wanted - 1;
    for (size_t i = 0; i < set->count; i++)
        *bucket_of(set, set->rules[i]) = (uint32_t)i + 1;
    return 0;
}

static int add(struct rule_set *set, uint64_t rule)
{
    if (set->count == RULES_MAX)
        return SPROF_ELIMIT;
    if (set->count == set->capacity &&
        sprof_vec_grow((void **)&set->rules, &set->capacity, sizeof *set->rules, set->count + 1))
        return SPROF_ENOMEM;
    set->rules[set->count++] = rule;
    return 0;
}

int unwind_rule_set_intern(struct rule_set *set, uint64_t rule, uint16_t *number)
{
    if (set->count && rule == set->last_rule) {
        *number = set->last_number;
        return 0;
    }
    if (set->count * 2 >= set->bucket_mask && grow(set))
        return SPROF_ENOMEM;
    uint32_t *bucket = bucket_of(set, rule);
    if (!*bucket) {
        const int code = add(set, rule);
        if (code)
            return code;
        *bucket = (uint32_t)set->count;
    }
    set->last_rule = rule;
    *number = set->last_number = (uint16_t)(*bucket - 1);
    return 0;
}

void unwind_rule_set_release(struct rule_set *set)
{
    free(set->rules);
    free(set->buckets);
    *set = (struct rule_set){0};
}
