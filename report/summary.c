/* What `sprof record` says at its end. */
#include "report/number_format.h"
#include "report/output_close.h"
#include "report/quality.h"
#include "report/table.h"

#include <string.h>
#include <sys/stat.h>

enum { TOP_FUNCTIONS = 5 };

/* The file that --output names when it is not given. */
static const char usual_path[] = "sprof.db";

static int take_mapping(void *context, const struct store_mapping *row)
{
    return sprof_map_put(context, row->module_id, 1);
}

static int count_modules(struct store *store, uint32_t run_id, uint64_t *count,
                         struct sprof_error *error)
{
    struct sprof_map modules = {0};
    const int result = store_each_mapping(store, run_id, take_mapping, &modules, error);
    *count = modules.count;
    sprof_map_release(&modules);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

static int say_samples(struct report_dataset *dataset, struct quality_parts *parts)
{
    const struct store_quality *quality = &dataset->quality;
    char time[NUMBER_BYTES], rate[NUMBER_BYTES];
    const bool waiting = report_quality_sees_waiting(dataset);
    const uint64_t time_ns = waiting ? dataset->total.weight : quality->target_cpu_ns;
    report_number_time(time, time_ns, report_number_time_unit(time_ns));
    report_quality_rate(rate, quality);
    const int result = report_quality_part(
        dataset, parts, "%s %s%s in %s%s (%s%s%s)", sprof_digits_of(quality->samples).text,
        report_counts_calls(dataset) ? "call" : "sample", sprof_plural(quality->samples), time,
        waiting ? " of threads' time" : "", dataset->event.name ? dataset->event.name : "no event",
        rate[0] ? ", " : "", rate);
    return result ? result : report_quality_of_samples(dataset, parts);
}

static int counted(struct report_dataset *dataset, struct quality_parts *parts, uint64_t count,
                   const char *one, const char *many)
{
    return report_quality_part(dataset, parts, "%s %s", sprof_digits_of(count).text,
                               count == 1 ? one : many);
}

/* "4 processes, 4 threads, 31 modules" are one part of the line. */
static int say_costs(struct report_dataset *dataset, struct quality_parts *parts, uint64_t modules,
                     const char *path)
{
    const struct store_quality *quality = &dataset->quality;
    struct quality_parts counts = {0};
    char number[NUMBER_BYTES];
    int result = counted(dataset, &counts, dataset->processes.count, "process", "processes");
    if (!result)
        result = counted(dataset, &counts, dataset->threads.count, "thread", "threads");
    if (!result)
        result = counted(dataset, &counts, modules, "module", "modules");
    if (!result)
        result = report_quality_part(dataset, parts, "%s, %s, %s", counts.items[0], counts.items[1],
                                     counts.items[2]);
    if (!result)
        result = report_quality_part(dataset, parts, "own cost %s CPU",
                                     report_quality_own_cost(number, quality));
    struct stat status;
    if (result || stat(path, &status))
        return result ? result : report_quality_part(dataset, parts, "%s", path);
    return report_quality_part(dataset, parts, "%s, %s", path,
                               report_number_size(number, (uint64_t)status.st_size));
}

static int write_top(FILE *out, struct report_dataset *dataset, unsigned columns)
{
    struct table table = {0};
    /* Whatever has a share at all, and no line about the rest. */
    const struct report_table_options options = {.limit = TOP_FUNCTIONS, .min_percent = 1e-9};
    int result = report_table_by_keys(&table, dataset, &options, NULL);
    if (!result)
        result = report_table_shorten(&table, &dataset->arena);
    table.title = table.left_out = NULL;
    for (size_t c = 0; c < table.column_count; c++)
        if (table.columns[c].kind == TABLE_COUNT)
            table.columns[c].only_data = true;
    if (!result && report_table_rows(&table))
        result = report_table_write_text(out, &table, columns, false);
    report_table_release(&table);
    return result;
}

static void write_next(FILE *out, const char *path)
{
    const char *const ways[] = {"", " --inclusive", " --tree"};
    const bool usual = !strcmp(path, usual_path);
    fputs("next:", out);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        fprintf(out, "%s sprof report%s%s%s", i ? " ·" : "", usual ? "" : " -i ", usual ? "" : path,
                ways[i]);
    fputc('\n', out);
}

static int write_summary(FILE *out, struct report_dataset *dataset, uint64_t modules,
                         const char *path, const char *note, unsigned columns)
{
    static const char prefix[] = "sprof: ";
    struct quality_parts parts = {0}, notes = {0};
    if (say_samples(dataset, &parts) || say_costs(dataset, &parts, modules, path) ||
        report_quality_notes(dataset, &notes))
        return SPROF_ENOMEM;
    report_quality_write_parts(out, &parts, prefix, columns);
    if (report_quality_is_by_agents(dataset)) /* why they were used */
        fprintf(out, "%s%s\n", prefix, dataset->run.source);
    if (*note)
        fprintf(out, "%s%s\n", prefix, note);
    for (size_t i = 0; i < notes.count; i++)
        fprintf(out, "%s%s\n", prefix, notes.items[i]);
    if (write_top(out, dataset, columns))
        return SPROF_ENOMEM;
    write_next(out, path);
    return 0;
}

int report_summary(FILE *out, struct store *store, const char *path, const char *note,
                   unsigned columns, struct sprof_error *error)
{
    struct report_dataset dataset;
    uint64_t modules = 0;
    const struct report_selection selection = {0};
    int result = store_begin_reading(store, error);
    if (result)
        return result;
    result = report_dataset_load(&dataset, store, &selection, REPORT_ONLY_RUN, error);
    if (!result)
        result = count_modules(store, dataset.run.id, &modules, error);
    if (!result && write_summary(out, &dataset, modules, path, note, columns ? columns : 100))
        result = sprof_error_memory(error);
    report_dataset_release(&dataset);
    store_end_reading(store);
    return result ? result : report_output_close(out, error);
}

int report_each_note(struct store *store, int (*note)(void *context, const char *text),
                     void *context, struct sprof_error *error)
{
    struct report_dataset dataset;
    const struct report_selection selection = {0};
    struct quality_parts notes = {0};
    int result = report_dataset_load(&dataset, store, &selection, 0, error);
    if (!result && report_quality_notes(&dataset, &notes))
        result = sprof_error_memory(error);
    for (size_t i = 0; !result && i < notes.count; i++)
        result = note(context, notes.items[i]);
    report_dataset_release(&dataset);
    return result;
}
