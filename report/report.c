/* Reads the dataset, makes the table asked for, and writes it in the format asked for. */
#include "report/report.h"

#include "report/error_text.h"
#include "report/format.h"
#include "report/function_search.h"

static int make_table(struct table *table, struct report_dataset *dataset,
                      const struct report_table_options *options, struct sprof_error *error)
{
    struct report_function_set set = {0};
    int result = 0;
    if (options->function)
        result = report_function_search(dataset, options->function, &set, error);
    if (!result)
        switch (options->view) {
        case REPORT_BY_KEYS: result = report_table_by_keys(table, dataset, options, error); break;
        case REPORT_EDGES: result = report_table_of_edges(table, dataset, options, error); break;
        case REPORT_TREE: result = report_table_of_tree(table, dataset, options, error); break;
        case REPORT_BOTTOM_UP:
            result = report_table_bottom_up(table, dataset, options, error);
            break;
        case REPORT_CALLERS:
            result = report_table_of_callers(table, dataset, &set, options, error);
            break;
        case REPORT_CALLEES:
            result = report_table_of_callees(table, dataset, &set, options, error);
            break;
        }
    sprof_vec_release(&set);
    if (!result)
        result = report_table_show(table, options->show, error);
    return report_error_code(result, error);
}

int report_write(FILE *out, struct store *store, const struct report_request *request,
                 struct sprof_error *error)
{
    struct report_dataset dataset;
    struct table table = {0};
    struct report_table_options options = request->table;
    const bool brief = !request->style.format || request->style.format->brief;
    options.no_limit = options.no_limit || (!options.limit && !brief);
    options.fold = options.fold && brief;
    options.marks = brief;
    if (brief && !options.all_rows && options.view != REPORT_BY_KEYS &&
        options.view != REPORT_EDGES)
        options.min_percent = 0.5;
    unsigned parts =
        options.view == REPORT_BY_KEYS ? report_keys_parts(&options, &request->selection) : 0;
    if (options.view == REPORT_TREE && options.marks)
        parts |= REPORT_INLINED;
    int result = report_dataset_load(&dataset, store, &request->selection, parts, error);
    if (!result)
        result = make_table(&table, &dataset, &options, error);
    if (!result) {
        const struct report_content content = {
            .kind = REPORT_TABLE, .dataset = &dataset, .table = &table};
        result = report_content_write(out, &content, &request->style, error);
    }
    report_table_release(&table);
    report_dataset_release(&dataset);
    return result;
}

int report_export(FILE *out, struct store *store, const struct report_selection *selection,
                  const struct report_format *format, struct sprof_error *error)
{
    struct report_dataset dataset;
    int result = report_dataset_load(&dataset, store, selection, REPORT_STACKS, error);
    if (!result) {
        const struct report_content content = {
            .kind = REPORT_PROFILE, .dataset = &dataset, .store = store};
        const struct report_style style = {.format = format};
        result = report_content_write(out, &content, &style, error);
    }
    report_dataset_release(&dataset);
    return result;
}
