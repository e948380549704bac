/* Finds the call path that costs most: from the root that costs most down to where its cost splits.
 */
#include "report/tree.h"

/* A path goes on to the callee with most of the cost while that has half of it, and this share of
 * all. Below its end stand at most so many calls, each with this share of the end's cost, and that
 * of all. */
enum { GOES_ON_PERCENT = 50, LEAST_PERCENT_OF_ALL = 5, BRANCHES = 3, BRANCH_PERCENT = 10 };

/* A frame outside the program is shown where it loses at least this share of the path's cost. */
enum { SPLIT_PERCENT = 1 };

struct hottest {
    const struct report_dataset *dataset;
    uint32_t *heaviest;      /* [path id]: the child with most of the cost; 0 for its roots */
    SPROF_VEC(uint32_t) ids; /* from the root on, then the branches */
    size_t length;           /* of the path itself */
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

static bool is_own(const struct hottest *hottest, size_t at)
{
    const struct report_dataset *dataset = hottest->dataset;
    return report_dataset_is_own(dataset,
                                 dataset->paths.items.items[hottest->ids.items[at] - 1].function);
}

/* How much a frame says: by the cost that leaves the path there, more of a function of the program,
 * and less where nothing but an address is known. 0: nothing. */
static double weight_of(const struct hottest *hottest, size_t at)
{
    const struct report_dataset *dataset = hottest->dataset;
    const uint32_t *ids = hottest->ids.items;
    const uint32_t function = dataset->paths.items.items[ids[at] - 1].function;
    const uint64_t leaves = cost_of(hottest, ids[at]) - cost_of(hottest, ids[at + 1]);
    const bool own = is_own(hottest, at);
    if (!own && !has_share(leaves, cost_of(hottest, ids[0]), SPLIT_PERCENT))
        return 0;
    return (double)(leaves + 1) * (own ? 2 : 1) *
           (dataset->functions.items[function - 1].named ? 1 : 0.5);
}

/* How many rows there are: landmarks, and what lies between them, folded where that saves any. */
static size_t rows_of(const struct hottest *hottest)
{
    size_t rows = hottest->ids.count - hottest->length;
    for (size_t i = 0, between = 0; i < hottest->length; i++) {
        between = hottest->landmarks[hottest->ids.items[i]] ? 0 : between + 1;
        rows += between < REPORT_FOLD_FRAMES + 0u ? 1 : 0;
    }
    return rows;
}

/* Chooses the frames that are rows of their own: both ends, the program's innermost function, then
 * those at which most of the cost leaves the path, as long as there is room. */
static int choose(struct hottest *hottest, size_t rows)
{
    const uint32_t *ids = hottest->ids.items;
    hottest->landmarks = calloc(hottest->dataset->paths.items.count + 1, sizeof(bool));
    if (!hottest->landmarks)
        return SPROF_ENOMEM;
    hottest->landmarks[ids[0]] = true;
    for (size_t i = hottest->length - 1; i < hottest->ids.count; i++)
        hottest->landmarks[ids[i]] = true;
    size_t innermost = hottest->length - 1;
    while (innermost && !is_own(hottest, innermost))
        innermost--;
    hottest->landmarks[ids[innermost]] = true;
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
