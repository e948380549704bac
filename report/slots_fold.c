/* Folds call paths with few samples where there are too many paths for a page. */
#include "report/slots_fold.h"

#include <string.h>

/* Samples per path, [number]: 1 stands for time that was never sampled. */
struct sums {
    uint64_t *own, *inclusive;
};

/* An attempt to keep all paths of at least so many samples, and where the others go. */
struct attempt {
    const struct report_slots *slots;
    const struct sums *sums;
    uint64_t least;
    bool leaves; /* the functions in which folded stacks end are kept */
    size_t most;
    SPROF_VEC(struct report_slot_path) paths;
    size_t folded;
    uint32_t *below;        /* [old number] → new parent of what was below it */
    uint32_t *own;          /* [old number] → new number for its own cost */
    struct sprof_map folds; /* new parent → the child without a function */
    struct sprof_map ends;  /* (new parent, function) → the child for it */
};

static void release(struct attempt *attempt)
{
    sprof_vec_release(&attempt->paths);
    free(attempt->below);
    free(attempt->own);
    sprof_map_release(&attempt->folds);
    sprof_map_release(&attempt->ends);
}

static int add_path(struct attempt *attempt, uint32_t parent, uint32_t function, uint32_t *number)
{
    if (sprof_vec_push(&attempt->paths, (struct report_slot_path){parent, function}))
        return SPROF_ENOMEM;
    *number = (uint32_t)attempt->paths.count;
    return 0;
}

/* The child under a key in `map`, made where there is none. */
static int find_child(struct attempt *attempt, struct sprof_map *map, uint32_t parent,
                      uint32_t function, uint32_t *number)
{
    const uint64_t key = (uint64_t)parent << 32 | function;
    const uint64_t *known = sprof_map_get(map, key);
    if (known) {
        *number = (uint32_t)*known;
        return 0;
    }
    const int result = add_path(attempt, parent, function, number);
    return result ? result : sprof_map_put(map, key, *number);
}

static int place_path(struct attempt *attempt, size_t i)
{
    const struct report_slot_path *path = &attempt->slots->paths.items[i - 1];
    const struct sums *sums = attempt->sums;
    const uint32_t parent = attempt->below[path->parent];
    const bool kept_parent = !parent || attempt->paths.items[parent - 1].function;
    const bool ends = attempt->leaves && sums->own[i] && path->function;
    uint32_t fold = parent;
    if (!sums->inclusive[i]) {
        attempt->below[i] = attempt->own[i] = parent;
        return 0;
    }
    if (kept_parent && (sums->inclusive[i] >= attempt->least || ends)) {
        const int result = add_path(attempt, parent, path->function, &attempt->own[i]);
        attempt->below[i] = attempt->own[i];
        return result;
    }
    int result = kept_parent ? find_child(attempt, &attempt->folds, parent, 0, &fold) : 0;
    attempt->below[i] = attempt->own[i] = fold;
    if (!result && ends)
        result = find_child(attempt, &attempt->ends, fold, path->function, &attempt->own[i]);
    attempt->folded++;
    return result;
}

/* Returns 0, 1 when more than `most` paths are left, or SPROF_ENOMEM. */
static int try_fold(struct attempt *attempt)
{
    const size_t count = attempt->slots->paths.count;
    attempt->below = calloc(count + 1, sizeof *attempt->below);
    attempt->own = calloc(count + 1, sizeof *attempt->own);
    if (!attempt->below || !attempt->own)
        return SPROF_ENOMEM;
    for (size_t i = 1; i <= count; i++) {
        const int result = place_path(attempt, i);
        if (result)
            return result;
        if (attempt->most && attempt->paths.count > attempt->most)
            return 1;
    }
    return 0;
}

static int sum_up(const struct report_slots *slots, struct sums *sums)
{
    const size_t count = slots->paths.count;
    sums->own = calloc(count + 1, sizeof *sums->own);
    sums->inclusive = calloc(count + 1, sizeof *sums->inclusive);
    if (!sums->own || !sums->inclusive)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < slots->costs.count; i++) {
        const struct report_slot_cost *cost = &slots->costs.items[i];
        sums->own[cost->path] += cost->cost.samples ? cost->cost.samples : 1;
    }
    for (size_t i = count; i > 0; i--) {
        sums->inclusive[i] += sums->own[i];
        sums->inclusive[slots->paths.items[i - 1].parent] += sums->inclusive[i];
    }
    return 0;
}

/* The costs go where their paths went. */
static void take_over(struct report_slots *slots, struct attempt *attempt)
{
    free(slots->paths.items);
    slots->paths.items = attempt->paths.items;
    slots->paths.count = attempt->paths.count;
    slots->paths.capacity = attempt->paths.capacity;
    attempt->paths.items = NULL;
    slots->folded = attempt->folded;
    for (size_t i = 0; i < slots->costs.count; i++) {
        struct report_slot_cost *cost = &slots->costs.items[i];
        cost->path = attempt->own[cost->path];
        if (!slots->paths.items[cost->path - 1].function) {
            slots->folded_cost.samples += cost->cost.samples;
            slots->folded_cost.weight += cost->cost.weight;
        }
    }
}

static int compare_values(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

/* Tries to keep ever fewer of the largest paths. Returns 1 when even none is too many. */
static int fold(struct report_slots *slots, const struct sums *sums, const uint64_t *sorted,
                size_t most, bool leaves)
{
    const size_t count = slots->paths.count;
    uint64_t last = 0;
    for (size_t kept = most ? most : count;; kept -= (kept + 3) / 4) {
        const uint64_t least = kept < count ? sorted[kept] + 1 : 1;
        struct attempt attempt = {
            .slots = slots, .sums = sums, .least = least, .leaves = leaves, .most = most};
        int result = 1;
        if (least != last)
            result = try_fold(&attempt);
        if (!result)
            take_over(slots, &attempt);
        release(&attempt);
        if (result <= 0 || !kept)
            return result;
        last = least;
    }
}

/* Where the ends of stacks alone are too many, these are folded as well. */
int report_slots_fold(struct report_slots *slots, size_t most)
{
    const size_t count = slots->paths.count;
    struct sums sums = {0};
    uint64_t *sorted = malloc((count + 1) * sizeof *sorted);
    int result = sorted ? sum_up(slots, &sums) : SPROF_ENOMEM;
    if (!result) {
        memcpy(sorted, sums.inclusive + 1, count * sizeof *sorted);
        qsort(sorted, count, sizeof *sorted, compare_values);
        result = fold(slots, &sums, sorted, most, true);
    }
    if (result == 1)
        result = fold(slots, &sums, sorted, most, false);
    free(sorted);
    free(sums.own);
    free(sums.inclusive);
    return result;
}
