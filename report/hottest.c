/* Finds the call path that costs most: from the root that costs most down to where its cost splits.
 */
#include "report/tree.h"

/* A path goes on to the callee with most of the cost while that has half of it, and this share of
 * all. Below its end stand at most so many calls, each with this share of the end's cost. */
enum { GOES_ON_PERCENT = 50, LEAST_PERCENT_OF_ALL = 5, BRANCHES = 3, BRANCH_PERCENT = 10 };

struct hottest {
    const struct report_dataset *dataset;
    uint32_t *heaviest;      /* [path id]: the child with most of the cost; 0 for its roots */
    SPROF_VEC(uint32_t) ids; /* from the root on, then the branches */
    size_t length;           /* of the path itself */
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
    const uint32_t end = hottest->ids.items[hottest->length - 1];
    uint32_t best[BRANCHES + 1] = {0};
    for (size_t i = 0; i < paths->items.count; i++) {
        const struct model_path *path = &paths->items.items[i];
        const uint64_t cost = cost_of(hottest, path->id);
        if (path->parent != end || !has_share(cost, cost_of(hottest, end), BRANCH_PERCENT))
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

/* The index at which a fold that begins at one ends; as in a tree, the program's innermost function
 * is not folded away. */
static size_t end_of_fold(const struct hottest *hottest, size_t begin, unsigned percent)
{
    const uint32_t *ids = hottest->ids.items;
    const struct model_path *paths = hottest->dataset->paths.items.items;
    size_t end = begin, innermost = begin;
    while (end + 1 < hottest->length &&
           has_share(cost_of(hottest, ids[end + 1]), cost_of(hottest, ids[end]), percent)) {
        end++;
        if (report_dataset_is_own(hottest->dataset, paths[ids[end] - 1].function))
            innermost = end;
    }
    return innermost != begin ? innermost : end;
}

/* How many rows the path has where frames with `percent` of the one above are folded. */
static size_t rows_of(const struct hottest *hottest, unsigned percent)
{
    size_t rows = hottest->ids.count - hottest->length;
    for (size_t i = 0; i < hottest->length; i++) {
        const size_t end = end_of_fold(hottest, i, percent);
        const bool folds = end > i + REPORT_FOLD_FRAMES;
        rows += folds ? 2 : 1;
        i = folds ? end - 1 : i; /* the end may begin the next fold */
    }
    return rows;
}

int report_table_of_hottest(struct table *table, struct report_dataset *dataset, size_t rows,
                            struct sprof_error *error)
{
    const struct report_table_options options = {.fold = true, .marks = true, .no_limit = true};
    struct hottest hottest = {.dataset = dataset};
    int result = find(&hottest);
    if (!result && hottest.length > 1) {
        unsigned percent = REPORT_FOLD_PERCENT;
        while (percent > GOES_ON_PERCENT && rows_of(&hottest, percent) > rows)
            percent--;
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
            .fold_percent = percent,
        };
        result = report_table_of_paths(table, &tree, error);
    }
    free(hottest.heaviest);
    sprof_vec_release(&hottest.ids);
    return result;
}
