/* The tree of the calls that rules of `sprof trace --keep` have kept, with their callers. */
#include "report/kept.h"
#include "report/columns.h"
#include "report/error_text.h"
#include "report/kept_tree.h"
#include "report/kept_values.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct layout {
    uint64_t request;     /* whose calls are shown; 0: all */
    uint32_t request_run; /* and of which run: its place in the dataset's */
    struct report_dataset *dataset;
    struct table *table;
    struct report_kept_tree tree;
    size_t most, shown, passed; /* rows: at most; so far; without room */
    uint32_t bars;
};

static int check_selection(const struct report_selection *selection, bool more, const char *how,
                           struct sprof_error *error)
{
    more = more || selection->event || selection->module || selection->cpus || selection->phase ||
           selection->mark || selection->time || selection->during || selection->ignore ||
           selection->hide || selection->show_from || selection->no_standard ||
           selection->other_mode || selection->rules.count;
    if (more)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "kept calls are chosen by %s alone; `sprof sql` chooses freely, "
                               "from the view v_kept_call",
                               how);
    return 0;
}

int report_kept_check(const struct report_selection *selection,
                      const struct report_table_options *options, struct sprof_error *error)
{
    return check_selection(selection, options->min_percent > 0,
                           "--run, --thread, --process and --focus", error);
}

unsigned report_kept_parts(const struct report_table_options *options,
                           const struct report_selection *selection)
{
    (void)options;
    (void)selection;
    return REPORT_STACKS | REPORT_KEPT_CALLS;
}

/* == The tree == */

static bool is_called(const struct report_kept_request *request, const char *label)
{
    return request->label && !strcmp(request->label, label);
}

/* A request's number; 0: the text is none. */
static uint64_t number_of(const char *text)
{
    const bool is_hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    char *end = NULL;
    const uint64_t number = strtoull(text, &end, is_hexadecimal ? 16 : 10);
    return *end ? 0 : number;
}

/* The request that is asked for by its label or number, the newest run's of several, or the one
 * that took longest. A label can be a number, too. */
static int choose_request(struct layout *layout, const char *text, struct sprof_error *error)
{
    const struct report_kept *kept = &layout->dataset->kept;
    const bool is_slowest = text && !strcmp(text, "slowest");
    uint64_t longest_ns = 0;
    bool is_label = false;
    if (!text)
        return 0;
    for (size_t i = 0; i < kept->requests.count && !is_slowest && !is_label; i++)
        is_label = is_called(&kept->requests.items[i], text);
    const uint64_t number = is_slowest || is_label ? 0 : number_of(text);
    if (!is_slowest && !number && !is_label)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%s` is no request: give its number or label, or slowest", text);
    for (size_t i = 0; i < kept->requests.count; i++) {
        const struct report_kept_request *one = &kept->requests.items[i];
        const bool is_longer = one->end_ns && one->end_ns - one->start_ns > longest_ns;
        if (is_slowest ? is_longer : is_label ? is_called(one, text) : one->id == number) {
            layout->request = one->id;
            layout->request_run = one->run;
        }
        if (is_longer)
            longest_ns = one->end_ns - one->start_ns;
    }
    return layout->request
               ? 0
               : sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                 is_slowest
                                     ? "no request has ended: programs say so by sprof_request() "
                                       "and sprof_request_end() of <sprof.h>"
                                     : "there is no request %s: `sprof sql 'SELECT * FROM "
                                       "v_request'` lists them",
                                 text);
}

static bool is_of_request(const struct layout *layout, const struct report_kept_call *call)
{
    return !layout->request ||
           (call->request == layout->request && call->run == layout->request_run);
}

/* Marks the calls of functions that --focus finds, and of the chosen request, and all their
 * callers. */
static void find_focused(struct layout *layout)
{
    const struct report_dataset *dataset = layout->dataset;
    const size_t count = dataset->kept.calls.count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t function = dataset->kept.calls.items[i].function;
        struct report_kept_leaf *leaf = &layout->tree.leaves[i];
        leaf->is_found = (!(dataset->chosen.filters & REPORT_FOCUS) ||
                          dataset->chosen.function_filters[function - 1] & REPORT_FOCUS) &&
                         is_of_request(layout, &dataset->kept.calls.items[i]);
        uint32_t at = leaf->is_found ? (uint32_t)i : REPORT_KEPT_NONE;
        for (; at != REPORT_KEPT_NONE && !layout->tree.leaves[at].has_found;
             at = layout->tree.leaves[at].parent)
            layout->tree.leaves[at].has_found = true;
    }
}

/* == Rows == */

/* As in SQL: programs may give requests negative numbers. */
static const char *request_text(struct report_dataset *dataset, uint64_t request)
{
    char text[NUMBER_BYTES];
    snprintf(text, sizeof text, "%" PRId64, (int64_t)request);
    return request ? sprof_arena_text(&dataset->arena, text) : NULL;
}

static int add_row(struct layout *layout, uint32_t place, uint32_t depth, bool is_last)
{
    struct report_dataset *dataset = layout->dataset;
    const struct report_kept_call *call = &dataset->kept.calls.items[place];
    const struct report_thread *thread = &dataset->threads.items[call->thread - 1];
    struct table *table = layout->table;
    const char *reason = report_kept_reason(dataset, call),
               *behind = report_kept_behind(dataset, call),
               *arguments = report_kept_arguments(dataset, call, (struct report_kept_widths){0}),
               *result = report_kept_result(dataset, call, 0),
               *beside = report_kept_beside(dataset, call, 0),
               *thrown = report_kept_exception(&dataset->kept, call);
    const bool has_length = call->duration_ns != 0;
    report_table_put_count(table, call->start_ns);
    report_table_put_count(table, has_length ? call->duration_ns : TABLE_UNKNOWN);
    report_table_put_count(table, has_length ? call->self_ns : TABLE_UNKNOWN);
    report_table_put_count(table, call->running_ns ? call->waiting_ns : TABLE_UNKNOWN);
    report_table_put_count(table, call->running_ns ? call->ready_ns : TABLE_UNKNOWN);
    report_table_put_text(table, report_dataset_function_name(dataset, call->function));
    report_table_put_text(table, reason);
    report_table_put_text(table, report_dataset_module_name(dataset, call->function));
    report_table_put_text(table, report_kept_exit(call));
    report_table_put_count(table, call->number);
    report_table_put_count(table, call->caller);
    report_table_put_count(table, depth);
    report_table_put_count(table, (uint64_t)dataset->processes.items[thread->process - 1].pid);
    report_table_put_count(table, (uint64_t)thread->tid);
    report_table_put_text(table, thread->name ? thread->name : "");
    report_table_put_count(table, call->is_apart);
    report_table_put_text(table, arguments ? arguments : "");
    report_table_put_text(table, result ? result : "");
    report_table_put_text(table, thrown ? thrown : "");
    report_table_put_text(table, beside ? beside : "");
    report_table_put_text(table, request_text(dataset, call->request));
    report_table_put_text(table, call->label ? call->label : "");
    report_table_put_count(table, call->asked_id ? call->asked_id : TABLE_UNKNOWN);
    report_table_put_count(table, call->running_ns ? call->running_ns : TABLE_UNKNOWN);
    const struct table_place row = {
        .depth = depth, .last = is_last, .bars = layout->bars, .mark = behind};
    if (depth < TABLE_BARS)
        layout->bars = is_last ? layout->bars & ~(1u << depth) : layout->bars | 1u << depth;
    return !reason || table->failed || sprof_vec_push(&table->places, row) ? SPROF_ENOMEM : 0;
}

/* The next sibling that --focus leaves; it leaves all that is below a call that it finds. */
static uint32_t next_shown(const struct layout *layout, uint32_t place, bool is_below_found)
{
    while (place != REPORT_KEPT_NONE && !is_below_found && !layout->tree.leaves[place].has_found)
        place = layout->tree.leaves[place].next_sibling;
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
    const uint32_t above = (uint32_t)layout->dataset->kept.calls.count;
    struct level level = {next_shown(layout, layout->tree.leaves[above].first_child, false), false};
    int result = sprof_vec_push(&levels, level) ? SPROF_ENOMEM : 0;
    while (levels.count && !result) {
        struct level *top = &levels.items[levels.count - 1];
        const uint32_t place = top->next, depth = (uint32_t)levels.count - 1;
        if (place == REPORT_KEPT_NONE) {
            levels.count--;
            continue;
        }
        const struct report_kept_leaf *leaf = &layout->tree.leaves[place];
        top->next = next_shown(layout, leaf->next_sibling, top->is_below_found);
        level.is_below_found = top->is_below_found || leaf->is_found;
        level.next = next_shown(layout, leaf->first_child, level.is_below_found);
        if (layout->shown < layout->most)
            result = add_row(layout, place, depth, top->next == REPORT_KEPT_NONE);
        *(layout->shown < layout->most ? &layout->shown : &layout->passed) += 1;
        if (!result)
            result = sprof_vec_push(&levels, level) ? SPROF_ENOMEM : 0;
    }
    sprof_vec_release(&levels);
    return result;
}

/* == The table == */

/* People see requests and states where there are any. */
static void add_columns(struct table *table, bool has_requests, bool has_states)
{
    enum { STATES = TABLE_SECOND + 1 }; /* what a call is kept for stays longer */
    static const struct table_column columns[] = {
        {.title = "start", .key = "start_s", .kind = TABLE_MOMENT},
        {.title = "duration", .key = "duration_s", .kind = TABLE_LENGTH},
        {.title = "self", .key = "self_s", .kind = TABLE_LENGTH},
        {.title = "waiting", .key = "waiting_s", .kind = TABLE_LENGTH, .optional = STATES},
        {.title = "ready", .key = "ready_s", .kind = TABLE_LENGTH, .optional = STATES},
        {.title = "call", .key = "function", .kind = TABLE_PATH, .functions = true},
        {.title = "why", .key = "why", .kind = TABLE_CODE, .optional = TABLE_SECOND},
        {.key = "module", .kind = TABLE_NAME, .only_data = true},
        {.key = "exit", .kind = TABLE_NAME, .only_data = true},
        {.key = "id", .kind = TABLE_COUNT, .only_data = true},
        {.key = "caller_id", .kind = TABLE_COUNT, .only_data = true},
        {.key = "depth", .kind = TABLE_COUNT, .only_data = true},
        {.key = "pid", .kind = TABLE_COUNT, .only_data = true},
        {.key = "tid", .kind = TABLE_COUNT, .only_data = true},
        {.key = "thread", .kind = TABLE_NAME, .only_data = true},
        {.key = "suspended", .kind = TABLE_COUNT, .only_data = true},
        {.key = "arguments", .kind = TABLE_NAME, .only_data = true},
        {.key = "result", .kind = TABLE_NAME, .only_data = true},
        {.key = "exception", .kind = TABLE_NAME, .only_data = true},
        {.key = "values", .kind = TABLE_NAME, .only_data = true},
        {.title = "request", .key = "request", .kind = TABLE_NUMBER},
        {.title = "label", .key = "request_label", .kind = TABLE_NAME, .optional = TABLE_SECOND},
        {.key = "asked_id", .kind = TABLE_COUNT, .only_data = true},
        {.key = "running_s", .kind = TABLE_LENGTH, .only_data = true},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        struct table_column column = columns[i];
        column.only_data |= !has_requests && !strncmp(column.key, "request", strlen("request"));
        column.only_data |=
            !has_states && (!strcmp(column.key, "waiting_s") || !strcmp(column.key, "ready_s"));
        report_table_column(table, column);
    }
}

static bool have_states(const struct report_kept *kept)
{
    size_t i = 0;
    while (i < kept->calls.count && !kept->calls.items[i].running_ns)
        i++;
    return i < kept->calls.count;
}

static int choose_order(struct layout *layout, const char *sort, struct sprof_error *error)
{
    size_t column = REPORT_KEPT_BY_START;
    layout->tree.ascending = true;
    if (!sort)
        return 0;
    const int result =
        report_table_sort_column(layout->table, sort, &column, &layout->tree.ascending, error);
    if (result)
        return result;
    layout->tree.order = (enum report_kept_order)column;
    return column <= REPORT_KEPT_BY_SELF
               ? 0
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
    for (size_t i = 0; i < dataset->kept.rules.count; i++) {
        const struct report_keep_rule *rule = &dataset->kept.rules.items[i];
        sprof_str_appendf(&text, "%s%s: %s", text.length ? " · " : "", rule->text,
                          sprof_digits_of(rule->fired - rule->dropped).text);
        if (rule->dropped)
            sprof_str_appendf(&text, " (%s dropped)", sprof_digits_of(rule->dropped).text);
    }
    if (layout->passed)
        sprof_str_append(&text, " · -n 0 shows all, --sort duration the longest first");
    layout->table->left_out = report_utf8_keep(&dataset->arena, &text);
    return layout->table->left_out ? 0 : SPROF_ENOMEM;
}

/* How many there are, and which took longest. */
static void append_requests(struct sprof_str *text, const struct report_kept *kept)
{
    const struct report_kept_request *slowest = NULL;
    char length[NUMBER_BYTES];
    if (!kept->requests.count)
        return;
    for (size_t i = 0; i < kept->requests.count; i++) {
        const struct report_kept_request *one = &kept->requests.items[i];
        if (one->end_ns &&
            (!slowest || one->end_ns - one->start_ns > slowest->end_ns - slowest->start_ns))
            slowest = one;
    }
    sprof_str_appendf(text, ", %s request%s", sprof_digits_of(kept->requests.count).text,
                      sprof_plural(kept->requests.count));
    if (slowest)
        sprof_str_appendf(text, ", the slowest %lld%s%s: %s", (long long)slowest->id,
                          slowest->label ? " " : "", slowest->label ? slowest->label : "",
                          report_number_length(length, slowest->end_ns - slowest->start_ns));
}

/* Of which runs it is not known how long calls waited. */
static void append_no_states(struct sprof_str *text, const struct report_dataset *dataset)
{
    const char *reason = NULL;
    size_t without = 0, with_rules = 0;
    for (size_t i = 0, rule = 0; i < dataset->runs.count; i++) {
        const bool has_rules =
            rule < dataset->kept.rules.count && dataset->kept.rules.items[rule].run == i;
        while (rule < dataset->kept.rules.count && dataset->kept.rules.items[rule].run == i)
            rule++;
        with_rules += has_rules;
        if (has_rules && dataset->runs.items[i].no_call_states) {
            reason = dataset->runs.items[i].no_call_states;
            without++;
        }
    }
    if (!without)
        return;
    sprof_str_append(text, " · how long they waited is not known");
    if (without < with_rules)
        sprof_str_appendf(text, " of %zu of %zu runs", without, with_rules);
    sprof_str_appendf(text, ", without BPF (%s)", reason);
}

static int put_note(struct layout *layout)
{
    struct report_dataset *dataset = layout->dataset;
    struct sprof_str text = {0};
    uint64_t kept = 0;
    for (size_t i = 0; i < dataset->kept.calls.count; i++)
        kept += dataset->kept.calls.items[i].rules != 0;
    const uint64_t callers = dataset->kept.calls.count - kept;
    sprof_str_appendf(&text, "%s kept, %s caller%s", sprof_digits_of(kept).text,
                      sprof_digits_of(callers).text, sprof_plural(callers));
    if (layout->tree.circles)
        sprof_str_appendf(&text, " · %u circle%s of callers, shown from the call that began first",
                          layout->tree.circles, sprof_plural(layout->tree.circles));
    append_requests(&text, &dataset->kept);
    append_no_states(&text, dataset);
    layout->table->note = report_utf8_keep(&dataset->arena, &text);
    return layout->table->note ? 0 : SPROF_ENOMEM;
}

int report_table_of_kept(struct table *table, struct report_dataset *dataset,
                         const struct report_table_options *options, struct sprof_error *error)
{
    enum { ROWS_FOR_PEOPLE = 40 };
    struct layout layout = {.dataset = dataset, .table = table, .tree = {.kept = &dataset->kept}};
    layout.most = options->no_limit ? SIZE_MAX : options->limit ? options->limit : ROWS_FOR_PEOPLE;
    if (!dataset->kept.rules.count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "no calls were kept: `sprof trace --keep 'over 20ms' -- COMMAND` "
                               "keeps those that take longer, with their callers");
    report_columns_begin(table, dataset, "Kept calls", NULL);
    add_columns(table, dataset->kept.requests.count != 0, have_states(&dataset->kept));
    int result = choose_order(&layout, options->sort, error);
    if (!result)
        result = choose_request(&layout, options->request, error);
    if (!result)
        result = report_kept_tree_make(&layout.tree);
    if (!result) {
        find_focused(&layout);
        result = add_rows(&layout);
    }
    if (!result)
        result = put_note(&layout);
    if (!result)
        result = put_footer(&layout);
    report_kept_tree_release(&layout.tree);
    return result;
}

/* == One after the other == */

struct telling {
    struct report_dataset *dataset;
    int (*put)(void *context, const struct report_kept_text *call);
    void *context;
};

static int tell_call(void *context, const struct report_kept_row *row)
{
    const struct telling *telling = context;
    struct report_dataset *dataset = telling->dataset;
    const struct report_kept_call *call = row->call;
    const struct report_thread *thread = &dataset->threads.items[call->thread - 1];
    const struct report_kept_text text = {
        .number = call->number,
        .caller = call->caller,
        .depth = row->depth,
        .pid = dataset->processes.items[thread->process - 1].pid,
        .tid = thread->tid,
        .thread = thread->name ? thread->name : "",
        .function = report_dataset_function_name(dataset, call->function),
        .module = report_dataset_module_name(dataset, call->function),
        .exit = report_kept_exit(call),
        .why = report_kept_reason(dataset, call),
        .start_ns = call->start_ns,
        .duration_ns = call->duration_ns,
        .self_ns = call->self_ns,
        .is_apart = call->is_apart,
        .arguments = report_kept_arguments(dataset, call, (struct report_kept_widths){0}),
        .result = report_kept_result(dataset, call, 0),
        .exception = report_kept_exception(&dataset->kept, call),
        .values = report_kept_beside(dataset, call, 0),
        .request = call->request,
        .running_ns = call->running_ns,
        .waiting_ns = call->waiting_ns,
        .ready_ns = call->ready_ns,
    };
    return text.why ? telling->put(telling->context, &text) : SPROF_ENOMEM;
}

int report_each_kept(struct store *store, const struct report_selection *selection,
                     int (*put)(void *context, const struct report_kept_text *call), void *context,
                     struct sprof_error *error)
{
    struct report_dataset dataset = {0};
    struct telling telling = {&dataset, put, context};
    int result = check_selection(selection, selection->focus != NULL,
                                 "--run, --thread and --process", error);
    if (result)
        return result;
    result =
        report_dataset_load(&dataset, store, selection, REPORT_STACKS | REPORT_KEPT_CALLS, error);
    for (uint32_t i = 0; i < dataset.runs.count && !result; i++)
        result = report_kept_each(&dataset.kept, i, UINT64_MAX, tell_call, &telling);
    report_dataset_release(&dataset);
    return report_error_code(result, error);
}
