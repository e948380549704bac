#include "report/report.h"

#include "report/names.h"
#include "report/quality.h"
#include "report/table.h"
#include "report/written.h"

static int build(struct table *table, struct profile *profile, const struct report_options *options,
                 struct sprof_error *error)
{
    uint32_t function = 0;
    int result = 0;
    if (options->table == REPORT_CALLERS || options->table == REPORT_CALLEES)
        result = names_find(profile, options->function, &function, error);
    if (result)
        return result;
    switch (options->table) {
    case REPORT_FUNCTIONS: result = table_of_functions(table, profile, options); break;
    case REPORT_MODULES: result = table_of_modules(table, profile, options); break;
    case REPORT_TREE: result = table_of_tree(table, profile, options); break;
    case REPORT_CALLERS: result = table_of_callers(table, profile, function, options); break;
    case REPORT_CALLEES: result = table_of_callees(table, profile, function, options); break;
    }
    return result ? sprof_error_memory(error) : 0;
}

static int show(FILE *out, const struct table *table, struct profile *profile,
                const struct report_options *options)
{
    const unsigned columns = options->columns ? options->columns : 100;
    if (options->format == REPORT_CSV)
        return table_write_csv(out, table);
    if (options->format == REPORT_JSON)
        return table_write_json(out, table, profile);
    const int result = table_write_text(out, table, columns, options->color);
    return result ? result : quality_write(out, profile, columns);
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
    table_release(&table);
    profile_release(&profile);
    return result ? result : report_written(out, error);
}
