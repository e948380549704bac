/* Reads the dataset, makes the table asked for, and writes it in the format asked for. */
#include "report/report.h"

#include "report/call_tables.h"
#include "report/error_text.h"
#include "report/first_screen.h"
#include "report/format.h"
#include "report/kept.h"
#include "report/key_text.h"
#include "report/output_close.h"
#include "report/quality.h"
#include "report/waits.h"
#include "report/wakers.h"

#include <assert.h>

/* How each view is made; the order is that of enum report_view. */
static const struct {
    bool by_path; /* rows are call paths: people are not shown those below half a percent */
    bool callers; /* it is of callers and callees */
    /* The parts of the dataset that it needs; NULL: none. */
    unsigned (*parts)(const struct report_table_options *options,
                      const struct report_selection *selection);
    int (*build)(struct table *table, struct report_dataset *dataset,
                 const struct report_table_options *options, struct sprof_error *error);
    report_call_table *read; /* in place of both: of calls */
} views[] = {
    [REPORT_BY_KEYS] = {false, false, report_keys_parts, report_table_by_keys},
    [REPORT_EDGES] = {false, true, NULL, report_table_of_edges},
    [REPORT_TREE] = {true, true, report_tree_parts, report_table_of_tree},
    [REPORT_TREE_BY] = {true, true, report_tree_by_parts, report_table_of_tree_by},
    [REPORT_BOTTOM_UP] = {true, true, NULL, report_table_bottom_up},
    [REPORT_CALLERS] = {true, true, NULL, report_table_of_callers},
    [REPORT_CALLEES] = {true, true, NULL, report_table_of_callees},
    [REPORT_PEEK] = {false, true, NULL, report_table_of_peek},
    [REPORT_KEPT] = {false, false, report_kept_parts, report_table_of_kept},
    [REPORT_WAKERS] = {false, false, report_wakers_parts, report_table_of_wakers},
    [REPORT_CHAINS] = {false, false, report_wakers_parts, report_table_of_wait_chains},
    [REPORT_CALLS] = {.read = report_table_of_calls},
    [REPORT_CALLS_BY_PROCESS] = {.read = report_table_of_calls},
    [REPORT_CALLS_BY_THREAD] = {.read = report_table_of_calls},
    [REPORT_CALLS_BY_CALLER] = {.read = report_table_of_calls},
    [REPORT_CALLS_OUTSIDE] = {.read = report_table_of_outside},
    [REPORT_OPEN_CALLS] = {.read = report_table_of_open_calls},
    [REPORT_COVERAGE] = {.read = report_table_of_coverage},
    [REPORT_WARNINGS] = {.read = report_table_of_warnings},
    [REPORT_HISTORY] = {.read = report_table_of_history},
};
static_assert(sizeof views / sizeof *views == REPORT_VIEWS, "each view is made somewhere");

/* The first screen is for people who asked for no table. */
static bool wants_first_screen(const struct report_request *request)
{
    const struct report_table_options *table = &request->table;
    const struct report_format *format = request->style.format;
    return (!format || format->write == report_text_write) && table->view == REPORT_BY_KEYS &&
           !table->key_count && !table->inclusive && !table->sort && !table->show &&
           !table->all_rows && !table->limit && !table->no_limit;
}

static int write_first_screen(FILE *out, struct store *store, const struct report_request *request,
                              struct sprof_error *error)
{
    const struct report_style *style = &request->style;
    const struct report_first_screen screen = {.functions = 7,
                                               .path_rows = 9,
                                               .titled = true,
                                               .full_names = style->full_names,
                                               .color = style->color,
                                               .columns = style->columns ? style->columns : 100};
    struct report_dataset dataset;
    int result = report_first_screen_load(&dataset, store, &request->selection, 0, error);
    if (!result)
        result = report_waits_sum_up(&dataset, store, &request->selection, error);
    if (!result)
        result = report_first_screen(out, &dataset, &screen, error);
    if (!result)
        result = report_quality_write(out, &dataset, screen.columns, style->verbose);
    result = report_error_code(result, error);
    report_dataset_release(&dataset);
    return result ? result : report_output_close(out, error);
}

int report_write(FILE *out, struct store *store, const struct report_request *request,
                 struct sprof_error *error)
{
    struct report_dataset dataset;
    struct table table = {0};
    struct report_table_options options = request->table;
    if (wants_first_screen(request))
        return write_first_screen(out, store, request, error);
    if (views[request->table.view].read)
        return report_call_table_write(out, store, request, views[request->table.view].read, error);
    const bool brief = !request->style.format || request->style.format->brief;
    options.no_limit = options.no_limit || (!options.limit && !brief);
    options.fold = options.fold && brief;
    options.marks = brief;
    if (brief && !options.all_rows && views[options.view].by_path)
        options.min_percent = 0.5;
    const unsigned parts =
        views[options.view].parts ? views[options.view].parts(&options, &request->selection) : 0;
    int result =
        options.view == REPORT_KEPT ? report_kept_check(&request->selection, &options, error) : 0;
    if (result)
        return result;
    result = report_dataset_load(&dataset, store, &request->selection, parts, error);
    if (!result)
        result = views[options.view].build(&table, &dataset, &options, error);
    if (!result)
        result = report_table_show(&table, options.show, error);
    if (!result && brief && !request->style.full_names)
        result = report_table_shorten(&table, &dataset.arena);
    result = report_error_code(result, error);
    dataset.shows_callers = views[options.view].callers;
    if (!result) {
        const struct report_content content = {
            .kind = REPORT_TABLE, .dataset = &dataset, .table = &table};
        result = report_content_write(out, &content, &request->style, error);
    }
    report_table_release(&table);
    report_dataset_release(&dataset);
    return result;
}

/* Whether nothing but runs is chosen. */
static bool takes_runs(const struct report_selection *selection)
{
    return report_selection_takes_all(selection) && !selection->host && !selection->event &&
           !selection->state && !selection->rules.count;
}

static int check_keys(const struct report_format *format,
                      const struct report_export_options *options, struct sprof_error *error)
{
    if (options->key_count && !format->keys)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s has no place for --by: folded and svg have it as frames, pprof "
                               "as labels",
                               format->name);
    return report_keys_check(options->keys, options->key_count, "an export", error);
}

/* What samples are of stands above their call paths. */
static int group(struct report_dataset *dataset, const struct report_export_options *options)
{
    struct model_paths paths = {0};
    uint32_t module;
    const int result =
        report_keys_group(dataset, options->keys, options->key_count, &paths, &module);
    model_paths_release(&dataset->paths);
    dataset->paths = paths;
    return result;
}

int report_export(FILE *out, struct store *store, const struct report_selection *selection,
                  const struct report_format *format, const struct report_export_options *options,
                  struct sprof_error *error)
{
    struct report_dataset dataset = {0};
    const struct report_style style = {.format = format};
    if (format->stored && !takes_runs(selection))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s holds which functions of a run were called: it is chosen by "
                               "--run alone",
                               format->name);
    if (format->stored) {
        const struct report_content content = {
            .kind = REPORT_PROFILE, .store = store, .run_id = selection->run_id};
        return report_content_write(out, &content, &style, error);
    }
    int result = check_keys(format, options, error);
    if (!result)
        result = report_dataset_load(
            &dataset, store, selection,
            report_keys_tree_parts(options->keys, options->key_count) | REPORT_KEPT_CALLS, error);
    if (!result && options->key_count && format->keys == REPORT_KEYS_AS_FRAMES)
        result = group(&dataset, options);
    if (!result) {
        const struct report_content content = {.kind = REPORT_PROFILE,
                                               .dataset = &dataset,
                                               .store = store,
                                               .labels = options->labels,
                                               .keys = options->keys,
                                               .key_count = options->key_count};
        result = report_content_write(out, &content, &style, error);
    }
    report_dataset_release(&dataset);
    return result;
}
