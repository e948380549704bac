/* Finds the call path that costs most: from the root that costs most down to where its cost splits,
 * and other ways that leave it with much of the cost. */
#include "report/tree.h"

/* A path goes on to the callee with most of the cost while that has half of it, and this share of
 * all. Below its end stand at most so many calls, each with this share of the end's cost, and that
 * of all. */
enum { GOES_ON_PERCENT = 50, LEAST_PERCENT_OF_ALL = 5, BRANCHES = 3, BRANCH_PERCENT = 10 };

/* Beside the path stand at most so many other ways, each with this share of all. A way goes on to
 * the program's innermost function of those that have nearly all of its cost. */
enum { SIDES = 2, SIDE_PERCENT_OF_ALL = 15, SIDE_GOES_ON_PERCENT = 90 };

/* A frame outside the program is shown where it loses at least this share of the path's cost. */
enum { SPLIT_PERCENT = 1 };

struct hottest {
    const struct report_dataset *dataset;
    uint32_t *heaviest;      /* [path id]: the child with most of the cost; 0 for its roots */
    SPROF_VEC(uint32_t) ids; /* from the root on, then the branches */
    size_t length;           /* of the path itself */
    size_t branch_count;     /* of calls below its end */
    size_t side_rows;        /* of the ways beside it */
    bool *landmarks;         /* [path id]: is never folded away */
};

static uint64_t cost_of(const struct hottest *hottest, uint32_t id)
{
    const struct model_path *path = &hottest->dataset->paths.items.items[id - 1];
    return report_dataset_value(hottest->dataset, path->costs.inclusive);
}

static bool has_share(uint64_t part, uint64_t whole, unsigned percent)
{
    return part && (unsigned __int128)part * 100 >= (unsigned __int128)whole * percent;
}

static int go_down(struct hottest *hottest)
{
    const uint64_t all = report_dataset_value(hottest->dataset, hottest->dataset->total);
    uint32_t id = hottest->heaviest[0];
    int result = 0;
    while (id && !result) {
        result = sprof_vec_push(&hottest->ids, id) ? SPROF_ENOMEM : 0;
        const uint32_t below = hottest->heaviest[id];
        const bool goes_on =
            below && has_share(cost_of(hottest, below), cost_of(hottest, id), GOES_ON_PERCENT) &&
            has_share(cost_of(hottest, below), all, LEAST_PERCENT_OF_ALL);
        id = goes_on ? below : 0;
    }
    hottest->length = hottest->ids.count;
    return result;
}

/* The callees of the path's end with a share of it, the largest ones. */
static int branch(struct hottest *hottest)
{
    const struct model_paths *paths = &hottest->dataset->paths;
    const uint64_t all = report_dataset_value(hottest->dataset, hottest->dataset->total);
    const uint32_t end = hottest->ids.items[hottest->length - 1];
    uint32_t best[BRANCHES + 1] = {0};
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        const uint64_t cost = cost_of(hottest, path->id);
        if (path->parent != end || !has_share(cost, cost_of(hottest, end), BRANCH_PERCENT) ||
            !has_share(cost, all, LEAST_PERCENT_OF_ALL))
            continue;
        size_t at = BRANCHES;
        for (; at && (!best[at - 1] || cost_of(hottest, best[at - 1]) < cost); at--)
            best[at] = best[at - 1];
        best[at] = path->id;
    }
    for (size_t i = 0; i < BRANCHES && best[i]; i++)
        if (sprof_vec_push(&hottest->ids, best[i]))
            return SPROF_ENOMEM;
    hottest->branch_count = hottest->ids.count - hottest->length;
    return 0;
}

static int find(struct hottest *hottest)
{
    const struct model_paths *paths = &hottest->dataset->paths;
    hottest->heaviest = calloc(paths->items.count + 1, sizeof *hottest->heaviest);
    if (!hottest->heaviest)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        uint32_t *most = &hottest->heaviest[path->parent];
        if (!*most || cost_of(hottest, path->id) > cost_of(hottest, *most))
            *most = path->id;
    }
    const int result = go_down(hottest);
    return result || !hottest->length ? result : branch(hottest);
}

/* == Folding == */

static bool is_own(const struct hottest *hottest, uint32_t id)
{
    const struct report_dataset *dataset = hottest->dataset;
    return report_dataset_is_own(dataset, dataset->paths.items.items[id - 1].function);
}

/* How much a frame says: by the cost that leaves the path there, more of a function of the program,
 * and less where nothing but an address is known. 0: nothing. */
static double weight_of(const struct hottest *hottest, size_t at)
{
    const struct report_dataset *dataset = hottest->dataset;
    const uint32_t *ids = hottest->ids.items;
    const uint32_t function = dataset->paths.items.items[ids[at] - 1].function;
    const uint64_t leaves = cost_of(hottest, ids[at]) - cost_of(hottest, ids[at + 1]);
    const bool own = is_own(hottest, ids[at]);
    if (!own && !has_share(leaves, cost_of(hottest, ids[0]), SPLIT_PERCENT))
        return 0;
    return (double)(leaves + 1) * (own ? 2 : 1) *
           (dataset->functions.items[function - 1].named ? 1 : 0.5);
}

/* How many rows there are: landmarks, and what lies between them, folded where that saves any. */
static size_t rows_of(const struct hottest *hottest)
{
    size_t rows = hottest->branch_count + hottest->side_rows;
    for (size_t i = 0, between = 0; i < hottest->length; i++) {
        between = hottest->landmarks[hottest->ids.items[i]] ? 0 : between + 1;
        rows += between < REPORT_FOLD_FRAMES + 0u ? 1 : 0;
    }
    return rows;
}

/* Where a path begins that leaves the hottest one before its end: the number of frames of that
 * above it, or SIZE_MAX. */
static size_t place_of_side(const struct hottest *hottest, const struct model_path *path)
{
    for (size_t i = 0; i < hottest->length; i++)
        if (path->parent == (i ? hottest->ids.items[i - 1] : 0))
            return path->id == hottest->ids.items[i] ? SIZE_MAX : i;
    return SIZE_MAX;
}

/* The program's innermost function among the calls that have nearly all of a way's cost, or its
 * first call. `depth`: how many calls it is below that. */
static uint32_t end_of_way(const struct hottest *hottest, uint32_t first, size_t *depth)
{
    uint32_t end = first, id = first;
    *depth = 0;
    for (size_t passed = 0;
         id && has_share(cost_of(hottest, id), cost_of(hottest, first), SIDE_GOES_ON_PERCENT);
         passed++, id = hottest->heaviest[id])
        if (is_own(hottest, id)) {
            end = id;
            *depth = passed;
        }
    return end;
}

/* Shows a way from its first call down to its end. */
static int show_way(struct hottest *hottest, uint32_t first, uint32_t end)
{
    hottest->landmarks[end] = true;
    for (uint32_t id = first; id != end;) {
        id = hottest->heaviest[id];
        if (sprof_vec_push(&hottest->ids, id))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Adds the way that begins with `first`, below so many frames of the path, if it has room. */
static int add_side(struct hottest *hottest, size_t place, uint32_t first, size_t rows)
{
    size_t depth;
    const uint32_t end = end_of_way(hottest, first, &depth);
    const size_t added = depth > REPORT_FOLD_FRAMES ? 3 : depth + 1;
    const uint32_t shown[] = {hottest->ids.items[place ? place - 1 : 0], hottest->ids.items[place]};
    const bool were[] = {hottest->landmarks[shown[0]], hottest->landmarks[shown[1]]};
    hottest->landmarks[shown[0]] = hottest->landmarks[shown[1]] = true;
    hottest->side_rows += added;
    if (rows_of(hottest) > rows) {
        hottest->side_rows -= added;
        hottest->landmarks[shown[1]] = were[1];
        hottest->landmarks[shown[0]] = were[0];
        return 0;
    }
    return sprof_vec_push(&hottest->ids, first) ? SPROF_ENOMEM : show_way(hottest, first, end);
}

/* Follows the calls below the path's end as far as there is room. */
static int follow_branches(struct hottest *hottest, size_t rows)
{
    for (size_t i = 0; i < hottest->branch_count; i++) {
        const uint32_t first = hottest->ids.items[hottest->length + i];
        size_t depth;
        const uint32_t end = end_of_way(hottest, first, &depth);
        const size_t added = depth > REPORT_FOLD_FRAMES ? 2 : depth;
        if (rows_of(hottest) + added > rows)
            continue;
        hottest->side_rows += added;
        if (show_way(hottest, first, end))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* The most expensive ways beside the path. */
static int add_sides(struct hottest *hottest, size_t rows)
{
    const struct model_paths *paths = &hottest->dataset->paths;
    const uint64_t all = report_dataset_value(hottest->dataset, hottest->dataset->total);
    struct {
        size_t place;
        uint32_t id;
    } best[SIDES + 1] = {0};
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        const uint64_t cost = cost_of(hottest, path->id);
        const bool is_way = has_share(cost, all, SIDE_PERCENT_OF_ALL) &&
                            path->function != hottest->dataset->apart.not_sampled_function;
        const size_t place = is_way ? place_of_side(hottest, path) : SIZE_MAX;
        size_t at = place == SIZE_MAX ? 0 : SIDES;
        for (; at && (!best[at - 1].id || cost_of(hottest, best[at - 1].id) < cost); at--)
            best[at] = best[at - 1];
        if (place != SIZE_MAX) {
            best[at].place = place;
            best[at].id = path->id;
        }
    }
    for (size_t i = 0; i < SIDES && best[i].id; i++)
        if (add_side(hottest, best[i].place, best[i].id, rows))
            return SPROF_ENOMEM;
    return 0;
}

/* Chooses the frames that are rows of their own: both ends, the program's innermost function, those
 * where other ways begin, then those at which most of the cost leaves the path, as long as there is
 * room. */
static int choose(struct hottest *hottest, size_t rows)
{
    hottest->landmarks = calloc(hottest->dataset->paths.items.count + 1, sizeof(bool));
    if (!hottest->landmarks)
        return SPROF_ENOMEM;
    hottest->landmarks[hottest->ids.items[0]] = true;
    for (size_t i = hottest->length - 1; i < hottest->ids.count; i++)
        hottest->landmarks[hottest->ids.items[i]] = true;
    size_t innermost = hottest->length - 1;
    while (innermost && !is_own(hottest, hottest->ids.items[innermost]))
        innermost--;
    hottest->landmarks[hottest->ids.items[innermost]] = true;
    if (add_sides(hottest, rows) || follow_branches(hottest, rows))
        return SPROF_ENOMEM;
    const uint32_t *ids = hottest->ids.items;
    for (size_t best = 1; best;) {
        double most = 0;
        best = 0;
        for (size_t i = 1; i + 1 < hottest->length; i++)
            if (!hottest->landmarks[ids[i]] && weight_of(hottest, i) > most)
                most = weight_of(hottest, best = i);
        hottest->landmarks[ids[best]] = true; /* 0: the root, which is one */
        if (best && rows_of(hottest) > rows) {
            hottest->landmarks[ids[best]] = false;
            break;
        }
    }
    return 0;
}

int report_table_of_hottest(struct table *table, struct report_dataset *dataset, size_t rows,
                            struct sprof_error *error)
{
    const struct report_table_options options = {.fold = true, .marks = true, .no_limit = true};
    struct hottest hottest = {.dataset = dataset};
    int result = find(&hottest);
    if (!result && hottest.length > 1)
        result = choose(&hottest, rows);
    if (!result && hottest.length > 1) {
        const struct report_tree tree = {
            .dataset = dataset,
            .paths = &dataset->paths,
            .options = &options,
            .inclusive = report_measure_in_tree(&report_measure_inclusive, NULL, dataset->total),
            .exclusive = report_measure_in_tree(&report_measure_exclusive, NULL, dataset->total),
            .base = dataset->total,
            .has_exclusive = true,
            .path_title = "hottest path",
            .only = hottest.ids.items,
            .only_count = hottest.ids.count,
            .landmarks = hottest.landmarks,
        };
        result = report_table_of_paths(table, &tree, error);
    }
    free(hottest.heaviest);
    free(hottest.landmarks);
    sprof_vec_release(&hottest.ids);
    return result;
}
