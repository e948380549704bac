#include "report/report.h"

#include "report/function_search.h"
#include "report/output_close.h"
#include "report/quality.h"
#include "report/table.h"

static int build(struct table *table, struct profile *profile, const struct report_options *options,
                 struct sprof_error *error)
{
    uint32_t function = 0;
    int result = 0;
    if (options->table == REPORT_CALLERS || options->table == REPORT_CALLEES)
        result = report_function_search(profile, options->function, &function, error);
    if (result)
        return result;
    switch (options->table) {
    case REPORT_FUNCTIONS: result = report_table_of_functions(table, profile, options); break;
    case REPORT_MODULES: result = report_table_of_modules(table, profile, options); break;
    case REPORT_TREE: result = report_table_of_tree(table, profile, options); break;
    case REPORT_CALLERS: result = report_table_of_callers(table, profile, function, options); break;
    case REPORT_CALLEES: result = report_table_of_callees(table, profile, function, options); break;
    }
    return result ? sprof_error_memory(error) : 0;
}

static int show(FILE *out, const struct table *table, struct profile *profile,
                const struct report_options *options)
{
    const unsigned columns = options->columns ? options->columns : 100;
    if (options->format == REPORT_CSV)
        return report_table_write_csv(out, table);
    if (options->format == REPORT_JSON)
        return report_table_write_json(out, table, profile);
    const int result = report_table_write_text(out, table, columns, options->color);
    return result ? result : report_quality_write(out, profile, columns);
}

int report_write(FILE *out, struct store *store, const struct report_options *options,
                 struct sprof_error *error)
{
    struct profile profile;
    struct table table = {0};
    int result = profile_load(&profile, store, options, error);
    if (!result)
        result = build(&table, &profile, options, error);
    if (!result && show(out, &table, &profile, options))
        result = sprof_error_memory(error);
    report_table_release(&table);
    profile_release(&profile);
    return result ? result : report_output_close(out, error);
}
