/* Tables of what ended the waits of threads, and of chains of such waits. */
#include "report/wakers.h"

#include "report/columns.h"
#include "report/utf8_text.h"
#include "report/wait_kinds.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 3, LINKS = 8, ROWS_FOR_PEOPLE = 40 };

/* Where a thread is: functions of the application, the innermost first, and what it waits for. */
struct where {
    uint32_t functions[PLACES]; /* 0: no more */
    const char *what;           /* NULL: the word of the event's kind */
    bool is_left_out;           /* by the selection's expressions and modules */
};

struct row {
    const char *waiting, *cause;
    uint64_t waits, weight;
};

struct making {
    struct report_dataset *dataset;
    struct report_stack stack;
    struct where *waiters, *wakers; /* [wake] */
    const char **names;             /* of functions */
    uint32_t *before;               /* [wake]: the one before it of the same thread + 1; 0: none */
    uint32_t *last;                 /* [thread - 1]: its last so far + 1 */
    struct sprof_map numbers;       /* hash of a row's texts → its number */
    SPROF_VEC(struct row) rows;
    uint64_t weight;
};

unsigned report_wakers_parts(const struct report_table_options *options,
                             const struct report_selection *selection)
{
    (void)options;
    (void)selection;
    return REPORT_STACKS | REPORT_WAKES;
}

/* == Places == */

/* The functions of the application at a node, without those of standard libraries, and what the C
 * library waits for below them. */
static int find_place(struct making *making, uint32_t node, const char *kind, struct where *where)
{
    const struct report_dataset *dataset = making->dataset;
    size_t count = 0;
    where->what = kind ? report_wait_kind_text(kind) : NULL;
    if (!node)
        return 0;
    if (report_dataset_stack(dataset, node, &making->stack))
        return SPROF_ENOMEM;
    where->is_left_out = !making->stack.frames.count;
    for (size_t i = 0; i < making->stack.frames.count && count < PLACES; i++) {
        const uint32_t function =
            report_dataset_frame_function(dataset, making->stack.frames.items[i]);
        const struct model_function *facts = function ? &dataset->facts.items[function - 1] : NULL;
        if (!facts || facts->kind == MODEL_KIND_NONE || facts->kind == MODEL_KIND_KERNEL)
            continue;
        const struct report_wait_function *waits =
            report_wait_function_find(report_dataset_function_name(dataset, function));
        const bool in_library = dataset->functions.items[function - 1].named &&
                                !report_dataset_is_own(dataset, function);
        if (waits && kind && !strcmp(kind, "futex") && !count)
            where->what = waits->what;
        else if (!waits && facts->kind != MODEL_KIND_SYSTEM && !facts->startup && !in_library)
            where->functions[count++] = function;
    }
    return 0;
}

/* Expressions choose waits: what ended one, and what that waited for, is shown as it is. */
static int find_both(struct making *making, size_t at)
{
    struct report_dataset *dataset = making->dataset;
    const struct report_wake *wake = &dataset->wakes.items[at];
    const char *kind = model_event_wait(dataset->events.items[wake->event - 1].name);
    const unsigned filters = dataset->chosen.filters;
    struct where *waiter = &making->waiters[at];
    int result = find_place(making, wake->node, kind ? kind : "other", waiter);
    dataset->chosen.filters = 0;
    if (!result && waiter->is_left_out) {
        result = find_place(making, wake->node, kind ? kind : "other", waiter);
        waiter->is_left_out = true;
    }
    if (!result)
        result = find_place(making, wake->waker_node, NULL, &making->wakers[at]);
    dataset->chosen.filters = filters;
    return result;
}

static int find_places(struct making *making)
{
    struct report_dataset *dataset = making->dataset;
    bool *wanted = calloc(dataset->functions.count + 1, sizeof *wanted);
    int result = wanted ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->wakes.count && !result; i++) {
        result = find_both(making, i);
        for (size_t p = 0; p < PLACES; p++) {
            const uint32_t waiter = making->waiters[i].functions[p];
            const uint32_t waker = making->wakers[i].functions[p];
            wanted[waiter ? waiter - 1 : dataset->functions.count] = true;
            wanted[waker ? waker - 1 : dataset->functions.count] = true;
        }
    }
    making->names = result ? NULL : report_dataset_short_names(dataset, wanted);
    free(wanted);
    return making->names ? 0 : SPROF_ENOMEM;
}

static void append_functions(struct sprof_str *text, const struct making *making,
                             const struct where *where, size_t most)
{
    for (size_t i = 0; i < most && where->functions[i]; i++)
        sprof_str_appendf(text, "%s%s", i ? " ← " : "", making->names[where->functions[i] - 1]);
}

/* "for a lock in book ← sell ← main", with as many functions as `most`. */
static void append_wait(struct sprof_str *text, const struct making *making, size_t at, size_t most)
{
    const struct report_wake *wake = &making->dataset->wakes.items[at];
    const struct where *where = &making->waiters[at];
    const char *kind = model_event_wait(making->dataset->events.items[wake->event - 1].name);
    if (where->what)
        sprof_str_append(text, where->what);
    else
        sprof_str_appendf(text, "in %s", kind ? kind : "a wait");
    sprof_str_append(text, where->functions[0] ? where->what ? " in " : " by " : "");
    append_functions(text, making, where, most);
}

static void append_waker(struct sprof_str *text, const struct making *making, size_t at,
                         size_t most)
{
    const struct report_dataset *dataset = making->dataset;
    const struct report_wake *wake = &dataset->wakes.items[at];
    const struct where *where = &making->wakers[at];
    const char *thread =
        wake->waker_thread ? dataset->threads.items[wake->waker_thread - 1].name : NULL;
    if (!wake->waker_tid)
        sprof_str_append(text, "[interrupt]");
    else if (!wake->waker_thread)
        sprof_str_append(text, "[another process]");
    else if (where->functions[0])
        append_functions(text, making, where, most);
    else
        sprof_str_appendf(text, "[thread %s]", thread ? thread : "?");
}

/* == Rows == */

static int count_row(struct making *making, struct sprof_str *waiting, struct sprof_str *cause,
                     uint64_t weight)
{
    const uint64_t key = sprof_hash_pair(sprof_hash_text(waiting->text ? waiting->text : ""),
                                         sprof_hash_text(cause->text ? cause->text : ""));
    uint64_t *number =
        waiting->failed || cause->failed ? NULL : sprof_map_at(&making->numbers, key);
    if (number && !*number) {
        struct row row = {.waiting = sprof_arena_text(&making->dataset->arena, waiting->text),
                          .cause = sprof_arena_text(&making->dataset->arena, cause->text)};
        *number = making->rows.count + 1;
        if (!row.waiting || !row.cause || sprof_vec_push(&making->rows, row))
            number = NULL;
    }
    if (number) {
        making->rows.items[*number - 1].waits++;
        making->rows.items[*number - 1].weight += weight;
        making->weight += weight;
    }
    sprof_str_release(waiting);
    sprof_str_release(cause);
    return number ? 0 : SPROF_ENOMEM;
}

static int count_wakers(struct making *making)
{
    int result = 0;
    for (size_t i = 0; i < making->dataset->wakes.count && !result; i++) {
        struct sprof_str waiting = {0}, cause = {0};
        if (making->waiters[i].is_left_out)
            continue;
        append_wait(&waiting, making, i, PLACES);
        append_waker(&cause, making, i, PLACES);
        result = count_row(making, &waiting, &cause, making->dataset->wakes.items[i].weight);
    }
    return result;
}

/* The last wait of the waker that ended while a wait lasted, up to its end; SIZE_MAX: it had none.
 * Wakes are in the order of time, and the newest of each thread so far is known. */
static size_t wait_of_waker(const struct making *making, size_t at)
{
    const struct report_wake *wakes = making->dataset->wakes.items;
    const struct report_wake *wake = &wakes[at];
    const uint64_t begun_ns = wake->woken_ns > wake->weight ? wake->woken_ns - wake->weight : 0;
    uint32_t found = wake->waker_thread ? making->last[wake->waker_thread - 1] : 0;
    while (found && wakes[found - 1].woken_ns > wake->woken_ns)
        found = making->before[found - 1];
    return found && wakes[found - 1].woken_ns > begun_ns ? found - 1 : SIZE_MAX;
}

/* "asleep in rest ← [interrupt]": what the waker waited for meanwhile, and what ended that. */
static void append_chain(struct sprof_str *text, const struct making *making, size_t at)
{
    for (size_t links = 0; links < LINKS; links++) {
        const size_t next = wait_of_waker(making, at);
        if (next == SIZE_MAX || next == at)
            break;
        append_waker(text, making, at, 1);
        sprof_str_append(text, ": ");
        append_wait(text, making, next, 1);
        sprof_str_append(text, " ← ");
        at = next;
    }
    append_waker(text, making, at, 1);
}

static int count_chains(struct making *making)
{
    const struct report_dataset *dataset = making->dataset;
    int result = 0;
    making->before = calloc(dataset->wakes.count + 1, sizeof *making->before);
    making->last = calloc(dataset->threads.count + 1, sizeof *making->last);
    if (!making->before || !making->last)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->wakes.count && !result; i++) {
        const struct report_wake *wake = &dataset->wakes.items[i];
        struct sprof_str waiting = {0}, cause = {0};
        making->before[i] = making->last[wake->thread - 1];
        making->last[wake->thread - 1] = (uint32_t)i + 1;
        if (making->waiters[i].is_left_out)
            continue;
        append_wait(&waiting, making, i, 1);
        append_chain(&cause, making, i);
        result = count_row(making, &waiting, &cause, wake->weight);
    }
    return result;
}

/* == The table == */

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    if (a->weight != b->weight)
        return a->weight > b->weight ? -1 : 1;
    const int order = strcmp(a->waiting, b->waiting);
    return order ? order : strcmp(a->cause, b->cause);
}

static int fill(struct making *making, struct table *table, const char *cause,
                const struct report_table_options *options, struct sprof_error *error)
{
    const struct table_column columns[] = {
        {.title = "share",
         .key = "percent",
         .base = "all",
         .kind = TABLE_PERCENT,
         .whole = making->weight},
        {.title = "time", .key = "seconds", .kind = TABLE_TIME},
        {.title = "waits", .key = "waits", .kind = TABLE_COUNT},
        {.title = "waiting", .key = "waiting", .kind = TABLE_NAME, .cut_at_end = true},
        {.title = cause,
         .key = "woken_by",
         .kind = TABLE_NAME,
         .subject = true,
         .cut_at_end = true},
    };
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        report_table_column(table, columns[i]);
    if (making->rows.count)
        qsort(making->rows.items, making->rows.count, sizeof *making->rows.items, compare_rows);
    for (size_t i = 0; i < making->rows.count; i++) {
        const struct row *row = &making->rows.items[i];
        report_table_put_count(table, row->weight);
        report_table_put_count(table, row->weight);
        report_table_put_count(table, row->waits);
        report_table_put_text(table, row->waiting);
        report_table_put_text(table, row->cause);
    }
    const size_t most = options->no_limit ? SIZE_MAX
                        : options->limit  ? options->limit
                                          : ROWS_FOR_PEOPLE;
    const size_t shown = making->rows.count < most ? making->rows.count : most;
    uint32_t *order = NULL;
    int result =
        table->failed ? SPROF_ENOMEM : report_table_sort(table, options->sort, &order, error);
    if (!result)
        result = report_table_take(table, order, shown);
    if (!result)
        result = report_columns_left_out(making->dataset, table, making->rows.count - shown, "row",
                                         "rows", NULL);
    free(order);
    return result;
}

static int make(struct table *table, struct report_dataset *dataset,
                const struct report_table_options *options, bool chains, struct sprof_error *error)
{
    struct making making = {.dataset = dataset};
    if (!dataset->wakes.count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "what ended waits was not recorded: `sprof record --off-cpu "
                               "--wakers` does that");
    report_columns_begin(table, dataset, chains ? "Chains of waits" : "Waits and what ended them",
                         "");
    making.waiters = calloc(dataset->wakes.count, sizeof *making.waiters);
    making.wakers = calloc(dataset->wakes.count, sizeof *making.wakers);
    int result = making.waiters && making.wakers ? find_places(&making) : SPROF_ENOMEM;
    if (!result)
        result = chains ? count_chains(&making) : count_wakers(&making);
    if (!result)
        result = fill(&making, table, chains ? "ended by, and what that waited for" : "woken by",
                      options, error);
    free(making.waiters);
    free(making.wakers);
    free(making.names);
    free(making.before);
    free(making.last);
    sprof_vec_release(&making.rows);
    sprof_vec_release(&making.stack.frames);
    sprof_map_release(&making.numbers);
    return result;
}

int report_table_of_wakers(struct table *table, struct report_dataset *dataset,
                           const struct report_table_options *options, struct sprof_error *error)
{
    return make(table, dataset, options, false, error);
}

int report_table_of_wait_chains(struct table *table, struct report_dataset *dataset,
                                const struct report_table_options *options,
                                struct sprof_error *error)
{
    return make(table, dataset, options, true, error);
}
