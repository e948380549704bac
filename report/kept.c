/* The tree of the calls that rules of `sprof trace --keep` have kept, with their callers. */
#include "report/kept.h"
#include "report/columns.h"
#include "report/utf8_text.h"

#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };
enum order { BY_START, BY_DURATION, BY_SELF };

/* A call while its tree is laid out. Calls are named by their places in the dataset. */
struct leaf {
    uint32_t parent, first_child, next_sibling; /* NONE: there is none */
    bool is_found;                              /* by --focus */
    bool has_found;                             /* it or a call below it is */
};

struct layout {
    struct report_dataset *dataset;
    struct table *table;
    struct leaf *leaves; /* one more: above the roots */
    uint32_t *sorted;
    enum order order;
    bool ascending;
    size_t most, shown, passed; /* rows: at most; so far; without room */
    uint32_t bars;
};

int report_kept_check(const struct report_selection *selection,
                      const struct report_table_options *options, struct sprof_error *error)
{
    const bool more = selection->event || selection->module || selection->cpus ||
                      selection->phase || selection->mark || selection->time || selection->ignore ||
                      selection->hide || selection->show_from || selection->no_standard ||
                      selection->other_mode || selection->rules.count;
    if (more || options->min_percent > 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "kept calls are chosen by --run, --thread, --process and --focus "
                               "alone; `sprof sql` chooses freely, from the view v_kept_call");
    return 0;
}

unsigned report_kept_parts(const struct report_table_options *options,
                           const struct report_selection *selection)
{
    (void)options;
    (void)selection;
    return REPORT_STACKS | REPORT_KEPT_CALLS;
}

/* == The tree == */

static uint64_t key_of(const struct report_kept_call *call)
{
    return (uint64_t)call->run << 32 | call->number;
}

/* Finds the caller of each call. A call whose caller has no row is a root. */
static int find_parents(struct layout *layout)
{
    const struct report_kept_call *calls = layout->dataset->kept_calls.items;
    const size_t count = layout->dataset->kept_calls.count;
    struct sprof_map places = {0};
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = sprof_map_put(&places, key_of(&calls[i]), i);
    for (size_t i = 0; i < count && !result; i++) {
        const uint64_t caller = (uint64_t)calls[i].run << 32 | calls[i].caller;
        const uint64_t *parent = calls[i].caller ? sprof_map_get(&places, caller) : NULL;
        layout->leaves[i] =
            (struct leaf){parent ? (uint32_t)*parent : (uint32_t)count, NONE, NONE, false, false};
    }
    layout->leaves[count] = (struct leaf){NONE, NONE, NONE, false, false};
    sprof_map_release(&places);
    return result;
}

static uint64_t value_of(const struct layout *layout, uint32_t place)
{
    const struct report_kept_call *call = &layout->dataset->kept_calls.items[place];
    return layout->order == BY_START      ? call->start_ns
           : layout->order == BY_DURATION ? call->duration_ns
                                          : call->self_ns;
}

/* Calls with equal values are in the order of their starts, then of their numbers. */
static int compare(const void *a, const void *b, void *context)
{
    const struct layout *layout = context;
    const uint32_t places[2] = {*(const uint32_t *)a, *(const uint32_t *)b};
    const struct report_kept_call *calls = layout->dataset->kept_calls.items;
    const struct report_kept_call *first = &calls[places[0]], *second = &calls[places[1]];
    const uint64_t values[2] = {value_of(layout, places[0]), value_of(layout, places[1])};
    if (values[0] != values[1])
        return (values[0] < values[1]) == layout->ascending ? -1 : 1;
    if (first->start_ns != second->start_ns)
        return first->start_ns < second->start_ns ? -1 : 1;
    return key_of(first) < key_of(second) ? -1 : key_of(first) > key_of(second);
}

static void link_siblings(struct layout *layout)
{
    const size_t count = layout->dataset->kept_calls.count;
    for (size_t i = 0; i < count; i++)
        layout->sorted[i] = (uint32_t)i;
    qsort_r(layout->sorted, count, sizeof *layout->sorted, compare, layout);
    for (size_t i = count; i-- > 0;) {
        struct leaf *leaf = &layout->leaves[layout->sorted[i]];
        struct leaf *parent = &layout->leaves[leaf->parent];
        leaf->next_sibling = parent->first_child;
        parent->first_child = layout->sorted[i];
    }
}

/* Marks the calls of functions that --focus finds, and all their callers. */
static void find_focused(struct layout *layout)
{
    const struct report_dataset *dataset = layout->dataset;
    const size_t count = dataset->kept_calls.count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t function = dataset->kept_calls.items[i].function;
        struct leaf *leaf = &layout->leaves[i];
        leaf->is_found = !(dataset->filters & REPORT_FOCUS) ||
                         dataset->function_filters[function - 1] & REPORT_FOCUS;
        uint32_t at = leaf->is_found ? (uint32_t)i : NONE;
        for (; at != NONE && !layout->leaves[at].has_found; at = layout->leaves[at].parent)
            layout->leaves[at].has_found = true;
    }
}

/* == Rows == */

static const char *const exits[] = {
    [STORE_EXIT_RETURN] = NULL,
    [STORE_EXIT_TAIL] = " → tail",
    [STORE_EXIT_EXCEPTION] = " → exception",
    [STORE_EXIT_LONGJMP] = " → longjmp",
    [STORE_EXIT_LEFT] = " → left",
    [STORE_EXIT_THREAD_END] = " → thread-end",
    [STORE_EXIT_OPEN] = " → open",
    [STORE_EXIT_UNSEEN] = NULL,
    [STORE_EXIT_TAIL_CUT] = " → tail-cut",
};

/* The conditions of the rules that it met. */
static const char *reason_of(const struct layout *layout, const struct report_kept_call *call)
{
    struct report_dataset *dataset = layout->dataset;
    struct sprof_str text = {0};
    sprof_str_append(&text, call->rules ? "" : "caller of kept");
    for (size_t i = 0; i < dataset->keep_rules.count; i++) {
        const struct report_keep_rule *rule = &dataset->keep_rules.items[i];
        if (rule->run == call->run && rule->number <= 64 && call->rules >> (rule->number - 1) & 1)
            sprof_str_appendf(&text, "%s%s", text.length ? ", " : "", rule->conditions);
    }
    return report_utf8_keep(&dataset->arena, &text);
}

static int add_row(struct layout *layout, uint32_t place, uint32_t depth, bool is_last)
{
    struct report_dataset *dataset = layout->dataset;
    const struct report_kept_call *call = &dataset->kept_calls.items[place];
    const struct report_thread *thread = &dataset->threads.items[call->thread - 1];
    struct table *table = layout->table;
    const char *reason = reason_of(layout, call);
    const char *mark = call->exit < sizeof exits / sizeof *exits ? exits[call->exit] : NULL;
    const char *exit = mark ? mark + strlen(" → ") : "return";
    const bool has_length = call->duration_ns != 0;
    report_table_put_count(table, call->start_ns);
    report_table_put_count(table, has_length ? call->duration_ns : TABLE_UNKNOWN);
    report_table_put_count(table, has_length ? call->self_ns : TABLE_UNKNOWN);
    report_table_put_text(table, report_dataset_function_name(dataset, call->function));
    report_table_put_text(table, reason);
    report_table_put_text(table, report_dataset_module_name(dataset, call->function));
    report_table_put_text(table, exit);
    report_table_put_count(table, call->number);
    report_table_put_count(table, call->caller);
    report_table_put_count(table, depth);
    report_table_put_count(table, (uint64_t)dataset->processes.items[thread->process - 1].pid);
    report_table_put_count(table, (uint64_t)thread->tid);
    report_table_put_text(table, thread->name ? thread->name : "");
    report_table_put_count(table, call->is_apart);
    const struct table_place row = {
        .depth = depth, .last = is_last, .bars = layout->bars, .mark = mark};
    if (depth < TABLE_BARS)
        layout->bars = is_last ? layout->bars & ~(1u << depth) : layout->bars | 1u << depth;
    return !reason || table->failed || sprof_vec_push(&table->places, row) ? SPROF_ENOMEM : 0;
}

/* The next sibling that --focus leaves; it leaves all that is below a call that it finds. */
static uint32_t next_shown(const struct layout *layout, uint32_t place, bool is_below_found)
{
    while (place != NONE && !is_below_found && !layout->leaves[place].has_found)
        place = layout->leaves[place].next_sibling;
    return place;
}

/* A place on the way to the call that is at hand, with what holds there. */
struct level {
    uint32_t next;
    bool is_below_found;
};

/* Parents come before their children, as far as there is room. */
static int add_rows(struct layout *layout)
{
    SPROF_VEC(struct level) levels = {0};
    const uint32_t above = (uint32_t)layout->dataset->kept_calls.count;
    struct level level = {next_shown(layout, layout->leaves[above].first_child, false), false};
    int result = sprof_vec_push(&levels, level) ? SPROF_ENOMEM : 0;
    while (levels.count && !result) {
        struct level *top = &levels.items[levels.count - 1];
        const uint32_t place = top->next, depth = (uint32_t)levels.count - 1;
        if (place == NONE) {
            levels.count--;
            continue;
        }
        const struct leaf *leaf = &layout->leaves[place];
        top->next = next_shown(layout, leaf->next_sibling, top->is_below_found);
        level.is_below_found = top->is_below_found || leaf->is_found;
        level.next = next_shown(layout, leaf->first_child, level.is_below_found);
        if (layout->shown < layout->most)
            result = add_row(layout, place, depth, top->next == NONE);
        *(layout->shown < layout->most ? &layout->shown : &layout->passed) += 1;
        if (!result)
            result = sprof_vec_push(&levels, level) ? SPROF_ENOMEM : 0;
    }
    sprof_vec_release(&levels);
    return result;
}

/* == The table == */

static void add_columns(struct table *table)
{
    static const struct table_column columns[] = {
        {.title = "start", .key = "start_s", .kind = TABLE_MOMENT},
        {.title = "duration", .key = "duration_s", .kind = TABLE_LENGTH},
        {.title = "self", .key = "self_s", .kind = TABLE_LENGTH},
        {.title = "call", .key = "function", .kind = TABLE_PATH, .functions = true},
        {.title = "why", .key = "why", .kind = TABLE_NAME, .optional = TABLE_SECOND},
        {.key = "module", .kind = TABLE_NAME, .only_data = true},
        {.key = "exit", .kind = TABLE_NAME, .only_data = true},
        {.key = "id", .kind = TABLE_COUNT, .only_data = true},
        {.key = "caller_id", .kind = TABLE_COUNT, .only_data = true},
        {.key = "depth", .kind = TABLE_COUNT, .only_data = true},
        {.key = "pid", .kind = TABLE_COUNT, .only_data = true},
        {.key = "tid", .kind = TABLE_COUNT, .only_data = true},
        {.key = "thread", .kind = TABLE_NAME, .only_data = true},
        {.key = "suspended", .kind = TABLE_COUNT, .only_data = true},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(table, columns[i]);
}

static int choose_order(struct layout *layout, const char *sort, struct sprof_error *error)
{
    size_t column = BY_START;
    layout->ascending = true;
    if (!sort)
        return 0;
    const int result =
        report_table_sort_column(layout->table, sort, &column, &layout->ascending, error);
    if (result)
        return result;
    layout->order = (enum order)column;
    return column <= BY_SELF ? 0
                             : sprof_error_set(error, SPROF_EUSAGE, 0,
                                               "kept calls are sorted by start, duration or self");
}

/* What is not shown, and how often each rule was met. */
static int put_footer(struct layout *layout)
{
    struct report_dataset *dataset = layout->dataset;
    struct sprof_str text = {0};
    if (layout->passed)
        sprof_str_appendf(&text, "… %s more call%s", sprof_digits_of(layout->passed).text,
                          sprof_plural(layout->passed));
    for (size_t i = 0; i < dataset->keep_rules.count; i++) {
        const struct report_keep_rule *rule = &dataset->keep_rules.items[i];
        sprof_str_appendf(&text, "%s%s: %s", text.length ? " · " : "", rule->text,
                          sprof_digits_of(rule->fired - rule->dropped).text);
        if (rule->dropped)
            sprof_str_appendf(&text, " (%s dropped)", sprof_digits_of(rule->dropped).text);
    }
    layout->table->left_out = report_utf8_keep(&dataset->arena, &text);
    return layout->table->left_out ? 0 : SPROF_ENOMEM;
}

static int put_note(struct layout *layout)
{
    struct report_dataset *dataset = layout->dataset;
    struct sprof_str text = {0};
    uint64_t kept = 0;
    for (size_t i = 0; i < dataset->kept_calls.count; i++)
        kept += dataset->kept_calls.items[i].rules != 0;
    const uint64_t callers = dataset->kept_calls.count - kept;
    sprof_str_appendf(&text, "%s kept, %s caller%s", sprof_digits_of(kept).text,
                      sprof_digits_of(callers).text, sprof_plural(callers));
    layout->table->note = report_utf8_keep(&dataset->arena, &text);
    return layout->table->note ? 0 : SPROF_ENOMEM;
}

int report_table_of_kept(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error)
{
    enum { ROWS_FOR_PEOPLE = 40 };
    const size_t count = dataset->kept_calls.count;
    struct layout layout = {.dataset = dataset, .table = table};
    layout.most = options->no_limit ? SIZE_MAX : options->limit ? options->limit : ROWS_FOR_PEOPLE;
    if (!dataset->keep_rules.count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no calls were kept: `sprof trace --keep 'over 20ms' -- COMMAND` "
                               "keeps those that take longer, with their callers");
    report_columns_begin(table, dataset, "Kept calls", NULL);
    add_columns(table);
    layout.leaves = calloc(count + 1, sizeof *layout.leaves);
    layout.sorted = calloc(count + 1, sizeof *layout.sorted);
    int result = layout.leaves && layout.sorted ? 0 : SPROF_ENOMEM;
    if (!result)
        result = choose_order(&layout, options->sort, error);
    if (!result)
        result = find_parents(&layout);
    if (!result) {
        link_siblings(&layout);
        find_focused(&layout);
        result = add_rows(&layout);
    }
    if (!result)
        result = put_note(&layout);
    if (!result)
        result = put_footer(&layout);
    free(layout.leaves);
    free(layout.sorted);
    return result;
}
