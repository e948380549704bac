/* Makes the tables of a live view, with rows that can be found again at the next moment. */
#include "report/screen.h"

#include "report/error_text.h"
#include "report/quality.h"
#include "report/report.h"
#include "report/tree.h"

#include <stdlib.h>
#include <string.h>

/* A share that a row of a tree needs: fewer than report's, for a tree that opens row by row. */
static const double LEAST_PERCENT = 0.1;

struct report_moment {
    struct report_dataset dataset;
};

int report_moment_load(struct report_moment **moment, struct store *store,
                       const struct report_selection *selection, struct sprof_error *error)
{
    static const enum report_key thread = REPORT_THREAD;
    const struct report_table_options threads = {.keys = &thread, .key_count = 1};
    *moment = calloc(1, sizeof **moment);
    if (!*moment)
        return sprof_error_memory(error);
    int result = report_dataset_load(&(*moment)->dataset, store, selection,
                                     report_keys_parts(&threads, selection), error);
    result = report_error_code(result, error);
    if (result) {
        report_moment_free(*moment);
        *moment = NULL;
    }
    return result;
}

void report_moment_free(struct report_moment *moment)
{
    if (!moment)
        return;
    report_dataset_release(&moment->dataset);
    free(moment);
}

uint64_t report_moment_samples(const struct report_moment *moment)
{
    return moment->dataset.total.samples;
}

int report_moment_line(struct report_moment *moment, struct sprof_str *line)
{
    struct quality_parts parts = {0};
    int result = report_quality_one_line(&moment->dataset, &parts);
    for (size_t i = 0; i < parts.count && !result; i++)
        result = sprof_str_appendf(line, "%s%s", i ? " · " : "", parts.items[i]);
    return result;
}

/* == Rows of flat tables == */

/* A thing is what its texts and its numbers say that are no costs. */
static uint64_t identity(const struct table *table, size_t row)
{
    uint64_t id = 0;
    for (size_t c = 0; c < table->column_count; c++) {
        const struct table_column *column = &table->columns[c];
        const union table_cell *cell = report_table_cell(table, row, c);
        const bool is_number = !strcmp(column->key, "pid") || !strcmp(column->key, "tid");
        if (report_column_is_text(column))
            id = sprof_hash_pair(id, sprof_hash_text(cell->text));
        else if (is_number)
            id = sprof_hash_pair(id, cell->count);
    }
    return id;
}

static size_t column_of(const struct table *table, const char *key)
{
    size_t column = 0;
    while (strcmp(table->columns[column].key, key) != 0)
        column++;
    return column;
}

static int32_t tid_of(const struct table *table, size_t row)
{
    return (int32_t)report_table_cell(table, row, column_of(table, "tid"))->count;
}

/* The text of a column; "" where there is none. */
static const char *text_of(const struct table *table, size_t row, const char *key)
{
    for (size_t c = 0; c < table->column_count; c++)
        if (!strcmp(table->columns[c].key, key))
            return report_table_cell(table, row, c)->text;
    return "";
}

static int make_flat(struct report_screen *screen, const struct report_screen_request *request,
                     struct sprof_error *error)
{
    static const struct {
        enum report_key key;
        const char *name;
    } kinds[REPORT_SCREEN_VIEWS] = {
        [REPORT_SCREEN_FUNCTIONS] = {REPORT_FUNCTION, "function"},
        [REPORT_SCREEN_THREADS] = {REPORT_THREAD, "thread"},
        [REPORT_SCREEN_MODULES] = {REPORT_MODULE, "module"},
        [REPORT_SCREEN_EVENTS] = {REPORT_EVENT, "event"},
    };
    const struct report_table_options options = {.keys = &kinds[request->view].key,
                                                 .key_count = 1,
                                                 .inclusive = request->inclusive,
                                                 .no_limit = true,
                                                 .min_percent = 1e-9};
    struct table *table = screen->table;
    const int result = report_table_by_keys(table, &screen->moment->dataset, &options, error);
    if (result)
        return result;
    const size_t count = report_table_rows(table);
    screen->rows = calloc(count + 1, sizeof *screen->rows);
    if (!screen->rows)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        screen->rows[i] = (struct report_screen_row){
            .id = identity(table, i),
            .parent = SIZE_MAX,
            .name = text_of(table, i, kinds[request->view].name),
            .module = request->view == REPORT_SCREEN_FUNCTIONS ? text_of(table, i, "module") : "",
            .tid = request->view == REPORT_SCREEN_THREADS ? tid_of(table, i) : 0};
    screen->count = count;
    return 0;
}

/* == Rows of trees == */

/* A tree as far as it is open. */
struct opening {
    const struct report_dataset *dataset;
    const struct model_paths *paths;
    const struct report_screen_request *request;
    uint32_t *first, *next; /* [path]: its first child, its next sibling, of those with a share */
    uint64_t *ids;          /* [path] */
    bool *open;
    SPROF_VEC(uint32_t) shown;
};

static uint64_t function_identity(const struct report_dataset *dataset, uint32_t function)
{
    const uint64_t key = dataset->functions.items[function - 1].key;
    return key ? key : sprof_hash_text(report_dataset_function_name(dataset, function));
}

static int show_below(struct opening *opening, uint32_t path)
{
    for (uint32_t child = opening->first[path]; child; child = opening->next[child])
        if (sprof_vec_push(&opening->shown, child))
            return SPROF_ENOMEM;
    return 0;
}

static double share_of(const struct report_dataset *dataset, struct model_cost cost)
{
    return report_number_share(report_dataset_value(dataset, cost),
                               report_dataset_value(dataset, dataset->total)) /
           100;
}

static int allocate(struct opening *opening, size_t count)
{
    opening->first = calloc(count, sizeof *opening->first);
    opening->next = calloc(count, sizeof *opening->next);
    opening->ids = calloc(count, sizeof *opening->ids);
    opening->open = calloc(count, sizeof *opening->open);
    return opening->first && opening->next && opening->ids && opening->open &&
                   !sprof_vec_reserve(&opening->shown, 1)
               ? 0
               : SPROF_ENOMEM;
}

static void release(struct opening *opening)
{
    free(opening->first);
    free(opening->next);
    free(opening->ids);
    free(opening->open);
    sprof_vec_release(&opening->shown);
}

/* Chooses the paths whose callers, or callees where the tree is turned round, are all open. */
static int open_paths(struct opening *opening)
{
    const struct model_path *paths = opening->paths->items.items;
    const size_t count = opening->paths->items.count;
    const struct report_screen_request *request = opening->request;
    if (allocate(opening, count + 1))
        return SPROF_ENOMEM;
    for (size_t i = count; i-- > 0;)
        if (report_columns_enough(opening->dataset, paths[i].costs.inclusive,
                                  opening->dataset->total, LEAST_PERCENT)) {
            opening->next[paths[i].id] = opening->first[paths[i].parent];
            opening->first[paths[i].parent] = paths[i].id;
        }
    int result = show_below(opening, 0);
    for (size_t i = 0; i < opening->shown.count && !result; i++) {
        const struct model_path *path = &paths[opening->shown.items[i] - 1];
        const uint64_t id = sprof_hash_pair(opening->ids[path->parent],
                                            function_identity(opening->dataset, path->function));
        opening->ids[path->id] = id;
        opening->open[path->id] =
            opening->first[path->id] &&
            request->is_open(request->context, id,
                             share_of(opening->dataset, path->costs.inclusive));
        result = opening->open[path->id] ? show_below(opening, path->id) : 0;
    }
    return result;
}

static const char *mark_of(enum report_screen_below below)
{
    return below == REPORT_BELOW_CLOSED ? " [+]" : NULL;
}

static int take_rows(struct report_screen *screen, const struct opening *opening)
{
    struct table *table = screen->table;
    const size_t count = report_table_rows(table);
    size_t *row_of = calloc(opening->paths->items.count + 1, sizeof *row_of);
    screen->rows = calloc(count + 1, sizeof *screen->rows);
    for (size_t i = 0; row_of && screen->rows && i < count; i++) {
        const struct model_path *path =
            &opening->paths->items.items[table->places.items[i].path - 1];
        row_of[path->id] = i;
        const struct report_screen_row row = {
            .id = opening->ids[path->id],
            .depth = path->depth - 1,
            .parent = path->parent ? row_of[path->parent] : SIZE_MAX,
            .below = !opening->first[path->id] ? REPORT_BELOW_NONE
                     : opening->open[path->id] ? REPORT_BELOW_OPEN
                                               : REPORT_BELOW_CLOSED,
            .name = report_dataset_function_name(opening->dataset, path->function),
            .module = report_dataset_module_name(opening->dataset, path->function)};
        screen->rows[i] = row;
        if (!table->places.items[i].mark)
            table->places.items[i].mark = mark_of(row.below);
    }
    const bool failed = !row_of || !screen->rows;
    free(row_of);
    screen->count = failed ? 0 : count;
    return failed ? SPROF_ENOMEM : 0;
}

static int make_tree(struct report_screen *screen, const struct report_screen_request *request,
                     struct sprof_error *error)
{
    struct report_dataset *dataset = &screen->moment->dataset;
    const bool callers = request->view == REPORT_SCREEN_CALLERS;
    const struct report_table_options options = {.no_limit = true,
                                                 .sort = callers              ? NULL
                                                         : request->inclusive ? "total"
                                                                              : "self"};
    struct model_paths turned = {0};
    struct report_tree tree = callers ? report_tree_turned_round(dataset, &turned, &options)
                                      : report_tree_of_calls(dataset, &options);
    struct opening opening = {.dataset = dataset, .paths = tree.paths, .request = request};
    int result = !tree.note ? SPROF_ENOMEM
                 : callers  ? report_turn_round(dataset, LEAST_PERCENT, &turned)
                            : 0;
    if (!result)
        result = open_paths(&opening);
    tree.only = opening.shown.items;
    tree.only_count = opening.shown.count;
    if (!result)
        result = report_table_of_paths(screen->table, &tree, error);
    if (!result)
        result = take_rows(screen, &opening);
    release(&opening);
    model_paths_release(&turned);
    return result;
}

/* == Screens == */

int report_screen_make(struct report_screen *screen, struct report_moment *moment,
                       const struct report_screen_request *request, struct sprof_error *error)
{
    *screen = (struct report_screen){.moment = moment, .table = calloc(1, sizeof(struct table))};
    const bool is_tree =
        request->view == REPORT_SCREEN_TREE || request->view == REPORT_SCREEN_CALLERS;
    const int result = !screen->table ? SPROF_ENOMEM
                       : is_tree      ? make_tree(screen, request, error)
                                      : make_flat(screen, request, error);
    if (result)
        report_screen_release(screen);
    return report_error_code(result, error);
}

void report_screen_release(struct report_screen *screen)
{
    if (screen->table)
        report_table_release(screen->table);
    free(screen->table);
    free(screen->rows);
    *screen = (struct report_screen){0};
}

/* A table of some of the rows, to be released. */
static int take_part(struct table *part, const struct table *table, size_t first, size_t count)
{
    const size_t width = table->column_count;
    *part = *table;
    memset(&part->cells, 0, sizeof part->cells);
    memset(&part->places, 0, sizeof part->places);
    part->left_out = NULL;
    for (size_t i = first * width; i < (first + count) * width; i++)
        report_table_put(part, table->cells.items[i]);
    for (size_t i = first; i < first + count && table->places.count; i++)
        if (sprof_vec_push(&part->places, table->places.items[i]))
            return SPROF_ENOMEM;
    return part->failed ? SPROF_ENOMEM : 0;
}

int report_screen_write(const struct report_screen *screen, size_t first, size_t count,
                        unsigned columns, char **text, size_t *head)
{
    struct table part;
    size_t length = 0, lines = 0;
    first = first < screen->count ? first : screen->count;
    count = count < screen->count - first ? count : screen->count - first;
    *text = NULL;
    FILE *out = open_memstream(text, &length);
    int result = take_part(&part, screen->table, first, count);
    if (!result)
        result = report_table_shorten(&part, &screen->moment->dataset.arena);
    if (!result)
        result = out ? report_table_write_text(out, &part, columns, false) : SPROF_ENOMEM;
    if (out && fclose(out))
        result = SPROF_ENOMEM;
    report_table_release(&part);
    for (size_t i = 0; i < length && !result; i++)
        lines += (*text)[i] == '\n';
    *head = lines - (result ? 0 : count);
    if (result) {
        free(*text);
        *text = NULL;
    }
    return result;
}
