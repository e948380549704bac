/* Kept calls as a tree: which call called which, in which order, and from when till when. */
#include "report/kept_tree.h"
#include "report/utf8_text.h"

#include <stdlib.h>
#include <string.h>

/* == The tree == */

static uint64_t key_of(const struct report_kept_call *call)
{
    return (uint64_t)call->run << 32 | call->number;
}

/* Of a circle that this call is in. */
static void open_circle(struct report_kept_link *links, uint32_t call)
{
    uint32_t first = call;
    for (uint32_t at = links[call].above; at != call; at = links[at].above)
        if (links[at].start_ns < links[first].start_ns)
            first = at;
    links[first].above = REPORT_KEPT_NONE;
}

uint32_t report_kept_open_circles(struct report_kept_link *links, uint32_t count)
{
    uint32_t circles = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        for (; at != REPORT_KEPT_NONE && !links[at].walk; at = links[at].above)
            links[at].walk = i + 1;
        if (at == REPORT_KEPT_NONE || links[at].walk != i + 1)
            continue;
        open_circle(links, at);
        circles++;
    }
    return circles;
}

static int find_callers(const struct report_kept *kept, struct report_kept_link *links)
{
    const struct report_kept_call *calls = kept->calls.items;
    struct sprof_map places = {0};
    int result = 0;
    for (size_t i = 0; i < kept->calls.count && !result; i++)
        result = sprof_map_put(&places, key_of(&calls[i]), i);
    for (size_t i = 0; i < kept->calls.count && !result; i++) {
        const uint64_t caller = (uint64_t)calls[i].run << 32 | calls[i].caller;
        const uint64_t *above = calls[i].caller ? sprof_map_get(&places, caller) : NULL;
        links[i] = (struct report_kept_link){
            .start_ns = calls[i].start_ns,
            .above = above ? (uint32_t)*above : REPORT_KEPT_NONE,
        };
    }
    sprof_map_release(&places);
    return result;
}

static int find_parents(struct report_kept_tree *tree)
{
    const uint32_t count = (uint32_t)tree->kept->calls.count;
    struct report_kept_link *links = calloc((size_t)count + 1, sizeof *links);
    const int result = links ? find_callers(tree->kept, links) : SPROF_ENOMEM;
    if (!result)
        tree->circles = report_kept_open_circles(links, count);
    for (uint32_t i = 0; i < count && !result; i++)
        tree->leaves[i] = (struct report_kept_leaf){
            .parent = links[i].above == REPORT_KEPT_NONE ? count : links[i].above,
            .first_child = REPORT_KEPT_NONE,
            .next_sibling = REPORT_KEPT_NONE,
        };
    tree->leaves[count] =
        (struct report_kept_leaf){REPORT_KEPT_NONE, REPORT_KEPT_NONE, REPORT_KEPT_NONE, 0, 0};
    free(links);
    return result;
}

static uint64_t value_of(const struct report_kept_tree *tree, const struct report_kept_call *call)
{
    return tree->order == REPORT_KEPT_BY_START      ? call->start_ns
           : tree->order == REPORT_KEPT_BY_DURATION ? call->duration_ns
                                                    : call->self_ns;
}

/* Calls with equal values are in the order of their starts, then of their numbers. */
static int compare(const void *a, const void *b, void *context)
{
    const struct report_kept_tree *tree = context;
    const struct report_kept_call *calls = tree->kept->calls.items;
    const struct report_kept_call *first = &calls[*(const uint32_t *)a],
                                  *second = &calls[*(const uint32_t *)b];
    const uint64_t values[2] = {value_of(tree, first), value_of(tree, second)};
    if (tree->by_thread && first->thread != second->thread)
        return first->thread < second->thread ? -1 : 1;
    if (values[0] != values[1])
        return (values[0] < values[1]) == tree->ascending ? -1 : 1;
    if (first->start_ns != second->start_ns)
        return first->start_ns < second->start_ns ? -1 : 1;
    return key_of(first) < key_of(second) ? -1 : key_of(first) > key_of(second);
}

static int link_siblings(struct report_kept_tree *tree)
{
    const size_t count = tree->kept->calls.count;
    uint32_t *sorted = calloc(count + 1, sizeof *sorted);
    if (!sorted)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (uint32_t)i;
    qsort_r(sorted, count, sizeof *sorted, compare, tree);
    for (size_t i = count; i-- > 0;) {
        struct report_kept_leaf *leaf = &tree->leaves[sorted[i]];
        struct report_kept_leaf *parent = &tree->leaves[leaf->parent];
        leaf->next_sibling = parent->first_child;
        parent->first_child = sorted[i];
    }
    free(sorted);
    return 0;
}

int report_kept_tree_make(struct report_kept_tree *tree)
{
    tree->leaves = calloc(tree->kept->calls.count + 1, sizeof *tree->leaves);
    int result = tree->leaves ? find_parents(tree) : SPROF_ENOMEM;
    return result ? result : link_siblings(tree);
}

void report_kept_tree_release(struct report_kept_tree *tree)
{
    free(tree->leaves);
    tree->leaves = NULL;
}

/* == Words == */

const char *report_kept_mark(const struct report_kept_call *call)
{
    static const char *const marks[] = {
        [STORE_EXIT_TAIL] = " → tail",
        [STORE_EXIT_EXCEPTION] = " → exception",
        [STORE_EXIT_LONGJMP] = " → longjmp",
        [STORE_EXIT_LEFT] = " → left",
        [STORE_EXIT_THREAD_END] = " → thread-end",
        [STORE_EXIT_OPEN] = " → open",
        [STORE_EXIT_TAIL_CUT] = " → tail-cut",
    };
    return call->exit < sizeof marks / sizeof *marks ? marks[call->exit] : NULL;
}

const char *report_kept_exit(const struct report_kept_call *call)
{
    const char *mark = report_kept_mark(call);
    return mark ? mark + strlen(" → ") : "return";
}

const char *report_kept_reason(struct report_dataset *dataset, const struct report_kept_call *call)
{
    struct sprof_str text = {0};
    sprof_str_append(&text, call->rules ? "" : "caller of kept");
    for (size_t i = 0; i < dataset->kept.rules.count; i++) {
        const struct report_keep_rule *rule = &dataset->kept.rules.items[i];
        if (rule->run == call->run && rule->number <= 64 && call->rules >> (rule->number - 1) & 1)
            sprof_str_appendf(&text, "%s%s", text.length ? ", " : "", rule->conditions);
    }
    return report_utf8_keep(&dataset->arena, &text);
}

/* == One after the other == */

/* Where a walk is. It comes to each call before it comes to those that it called. */
struct kept_walk {
    const struct report_kept_tree *tree;
    uint64_t *ends; /* of calls; 0: it has not ended */
    uint32_t at, depth;
};

static void leave(struct kept_walk *walk)
{
    const struct report_kept_leaf *leaf = &walk->tree->leaves[walk->at];
    const struct report_kept_call *call = &walk->tree->kept->calls.items[walk->at];
    uint64_t *parent_end = &walk->ends[leaf->parent];
    if (!call->is_apart && *parent_end && *parent_end < walk->ends[walk->at])
        *parent_end = walk->ends[walk->at];
    walk->at = leaf->parent;
    walk->depth--;
}

/* Goes to the next call; false: there is none. */
static bool go_on(struct kept_walk *walk)
{
    const uint32_t above = (uint32_t)walk->tree->kept->calls.count;
    uint32_t next = walk->tree->leaves[walk->at].first_child;
    while (next == REPORT_KEPT_NONE && walk->at != above) {
        next = walk->tree->leaves[walk->at].next_sibling;
        leave(walk);
    }
    walk->depth++;
    walk->at = next;
    return next != REPORT_KEPT_NONE;
}

static int put_all(struct kept_walk *walk, uint32_t run, uint64_t limit,
                   int (*put)(void *context, const struct report_kept_row *row), void *context)
{
    int result = 0;
    while (!result && limit && go_on(walk)) {
        const struct report_kept_row row = {
            .call = &walk->tree->kept->calls.items[walk->at],
            .depth = walk->depth,
            .end_ns = walk->ends[walk->at],
        };
        if (row.call->run != run)
            continue;
        result = put(context, &row);
        limit--;
    }
    return result;
}

int report_kept_each(const struct report_kept *kept, uint32_t run, uint64_t limit,
                     int (*put)(void *context, const struct report_kept_row *row), void *context)
{
    const size_t count = kept->calls.count;
    struct report_kept_tree tree = {.kept = kept, .ascending = true, .by_thread = true};
    struct kept_walk walk = {.tree = &tree, .ends = calloc(count + 1, sizeof *walk.ends)};
    int result = report_kept_tree_make(&tree);
    if (!walk.ends)
        result = SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++)
        if (kept->calls.items[i].duration_ns)
            walk.ends[i] = kept->calls.items[i].start_ns + kept->calls.items[i].duration_ns;
    walk.at = (uint32_t)count;
    while (!result && go_on(&walk))
        ;
    walk.at = (uint32_t)count;
    walk.depth = 0;
    if (!result)
        result = put_all(&walk, run, limit, put, context);
    free(walk.ends);
    report_kept_tree_release(&tree);
    return result;
}
