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
        case REPORT_FUNCTIONS: result = report_table_of_functions(table, dataset, options); break;
        case REPORT_MODULES: result = report_table_of_modules(table, dataset, options); break;
        case REPORT_TREE: result = report_table_of_tree(table, dataset, options); break;
        case REPORT_CALLERS: result = report_table_of_callers(table, dataset, &set, options); break;
        case REPORT_CALLEES: result = report_table_of_callees(table, dataset, &set, options); break;
        }
    sprof_vec_release(&set);
    return report_error_code(result, error);
}

int report_write(FILE *out, struct store *store, const struct report_request *request,
                 struct sprof_error *error)
{
    struct report_dataset dataset;
    struct table table = {0};
    struct report_table_options options = request->table;
    const struct report_format *format = request->style.format;
    options.no_limit = options.no_limit || (!options.limit && format && !format->brief);
    int result = report_dataset_load(&dataset, store, &request->selection, 0, error);
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
