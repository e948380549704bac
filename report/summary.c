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

static int count_modules(struct profile *profile, struct store *store, struct sprof_error *error)
{
    struct sprof_map modules = {0};
    const int result = store_each_mapping(store, profile->run.id, take_mapping, &modules, error);
    profile->module_count = modules.count;
    sprof_map_release(&modules);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

static int say_samples(struct profile *profile, struct quality_parts *parts)
{
    const struct store_quality *quality = &profile->quality;
    char samples[NUMBER_BYTES], cpu[NUMBER_BYTES], rate[NUMBER_BYTES];
    report_number_grouped(samples, quality->samples);
    report_number_time(cpu, quality->target_cpu_ns,
                       report_number_time_unit(quality->target_cpu_ns));
    report_quality_rate(rate, quality);
    const int result = report_quality_part(profile, parts, "%s sample%s in %s (%s%s%s)", samples,
                                           report_number_plural(quality->samples), cpu,
                                           profile->event.name ? profile->event.name : "no event",
                                           rate[0] ? ", " : "", rate);
    return result ? result : report_quality_of_samples(profile, parts);
}

static int counted(struct profile *profile, struct quality_parts *parts, uint64_t count,
                   const char *one, const char *many)
{
    char number[NUMBER_BYTES];
    return report_quality_part(profile, parts, "%s %s", report_number_grouped(number, count),
                               count == 1 ? one : many);
}

/* "4 processes, 4 threads, 31 modules" are one part of the line. */
static int say_costs(struct profile *profile, struct quality_parts *parts, const char *path)
{
    const struct store_quality *quality = &profile->quality;
    struct quality_parts counts = {0};
    char number[NUMBER_BYTES];
    int result = counted(profile, &counts, profile->process_count, "process", "processes");
    if (!result)
        result = counted(profile, &counts, profile->thread_count, "thread", "threads");
    if (!result)
        result = counted(profile, &counts, profile->module_count, "module", "modules");
    if (!result)
        result = report_quality_part(profile, parts, "%s, %s, %s", counts.items[0], counts.items[1],
                                     counts.items[2]);
    if (!result)
        result = report_quality_part(profile, parts, "own cost %s CPU",
                                     report_quality_own_cost(number, quality));
    struct stat status;
    if (result || stat(path, &status))
        return result ? result : report_quality_part(profile, parts, "%s", path);
    return report_quality_part(profile, parts, "%s, %s", path,
                               report_number_size(number, (uint64_t)status.st_size));
}

static int write_top(FILE *out, struct profile *profile, unsigned columns)
{
    struct table table = {0};
    /* Whatever has a share at all, and no line about the rest. */
    const struct report_options options = {.limit = TOP_FUNCTIONS, .min_percent = 1e-9};
    int result = report_table_of_functions(&table, profile, &options);
    table.title = table.left_out = NULL;
    for (size_t c = 0; c < table.column_count; c++)
        if (table.columns[c].kind == TABLE_COUNT)
            table.columns[c].only_data = true;
    if (!result && table.rows.count)
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

static int write_summary(FILE *out, struct profile *profile, const char *path, unsigned columns)
{
    static const char prefix[] = "sprof: ";
    struct quality_parts parts = {0}, notes = {0};
    if (say_samples(profile, &parts) || say_costs(profile, &parts, path) ||
        report_quality_notes(profile, &notes))
        return SPROF_ENOMEM;
    report_quality_write_parts(out, &parts, prefix, columns);
    for (size_t i = 0; i < notes.count; i++)
        fprintf(out, "%s%s\n", prefix, notes.items[i]);
    if (write_top(out, profile, columns))
        return SPROF_ENOMEM;
    write_next(out, path);
    return 0;
}

int report_summary(FILE *out, struct store *store, const char *path, unsigned columns,
                   struct sprof_error *error)
{
    struct profile profile;
    const struct report_options options = {0};
    int result = profile_load(&profile, store, &options, error);
    if (!result)
        result = count_modules(&profile, store, error);
    if (!result && write_summary(out, &profile, path, columns ? columns : 100))
        result = sprof_error_memory(error);
    profile_release(&profile);
    return result ? result : report_output_close(out, error);
}
