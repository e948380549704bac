/* What `sprof record` says at its end. */
#include "base/command.h"
#include "report/error_text.h"
#include "report/first_screen.h"
#include "report/number_format.h"
#include "report/output_close.h"
#include "report/quality.h"
#include "report/services.h"
#include "report/waits.h"

#include <string.h>
#include <sys/stat.h>

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

/* The rate, where all is wanted: the one line does not have it. */
static int say_samples(struct report_dataset *dataset, struct quality_parts *parts)
{
    char rate[NUMBER_BYTES];
    report_quality_rate(rate, &dataset->quality);
    const int result = report_quality_part(dataset, parts, "%s%s%s",
                                           dataset->event.name ? dataset->event.name : "no event",
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
static int say_costs(struct report_dataset *dataset, struct quality_parts *parts, uint64_t modules)
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
    return result;
}

static int say_file(struct report_dataset *dataset, struct quality_parts *parts, const char *path)
{
    char number[NUMBER_BYTES];
    struct stat status;
    if (stat(path, &status))
        return report_quality_part(dataset, parts, "%s", path);
    return report_quality_part(dataset, parts, "%s, %s", path,
                               report_number_size(number, (uint64_t)status.st_size));
}

/* A longer command is left out of what comes next. */
enum { SHOWN_COMMAND = 100 };

/* The same target, recorded with where it waits: a command, processes, or "thread 42". */
static void write_record_waits(FILE *out, const struct report_dataset *dataset)
{
    static const char thread[] = "thread ";
    const struct store_run *run = &dataset->run;
    const char *targets = run->targets ? run->targets : "";
    const bool is_thread = !strncmp(targets, thread, strlen(thread));
    targets += is_thread ? strlen(thread) : 0;
    const bool has_numbers = *targets && targets[strspn(targets, "0123456789,")] == '\0';
    fprintf(out, "sprof record %s", report_quality_cure_of_waits(dataset));
    if (run->command && *run->command)
        fprintf(out, " -- %s", strlen(run->command) <= SHOWN_COMMAND ? run->command : "…");
    else if (has_numbers)
        fprintf(out, " -%c %s", is_thread ? 't' : 'p', targets);
    else if (!report_run_is_of_machine(run))
        fputs(" -- …", out);
}

/* Of so many command lines a person asks which took the time, as of a build. */
enum { MANY_COMMANDS = 8 };

static int count_commands(const struct report_dataset *dataset, size_t *count)
{
    struct sprof_map commands = {0};
    int result = 0;
    for (uint32_t i = 1; i <= dataset->processes.count && !result; i++)
        result = sprof_map_put(&commands, sprof_hash_text(report_dataset_command(dataset, i)), 1);
    *count = commands.count;
    sprof_map_release(&commands);
    return result;
}

/* What shows more of it: first the cure, where the samples do not show what is wanted. */
static int write_next(FILE *out, struct report_dataset *dataset, const char *path)
{
    char *const words[] = {(char *)(uintptr_t)path, NULL};
    const char *file = sprof_command_text(&dataset->arena, words);
    size_t commands;
    if (!file || count_commands(dataset, &commands))
        return SPROF_ENOMEM;
    const bool waits = report_quality_is_waiting(dataset);
    const bool records_waits = waits && !report_quality_has_waits(dataset);
    const bool may_be_ready = report_quality_may_be_ready(dataset);
    fputs("next: ", out);
    if (report_quality_has_waits(dataset) && !dataset->event_sum && (dataset->waits || waits))
        fprintf(out, "sprof report %s %s · ",
                report_quality_has_unseen_waits(dataset) ? "--by thread,state"
                                                         : "--event wall --tree",
                file);
    if (records_waits && !may_be_ready) {
        write_record_waits(out, dataset);
        fputs(" · ", out);
    }
    if (commands >= MANY_COMMANDS)
        fprintf(out, "sprof report --by command %s · ", file);
    fprintf(out, "sprof report --tree %s · sprof html %s", file, file);
    if (records_waits && may_be_ready) {
        fputs(" · ", out);
        write_record_waits(out, dataset);
    }
    fputc('\n', out);
    return 0;
}

static int write_summary(FILE *out, struct report_dataset *dataset, uint64_t modules,
                         const struct report_summary_options *options, struct sprof_error *error)
{
    static const char prefix[] = "sprof: ";
    const struct report_first_screen screen = {
        .functions = 5, .path_rows = 9, .columns = options->columns ? options->columns : 100};
    struct quality_parts parts = {0}, all = {0}, notes = {0};
    if (report_quality_one_line(dataset, &parts) || say_file(dataset, &parts, options->path) ||
        say_samples(dataset, &all) || say_costs(dataset, &all, modules) ||
        (options->verbose ? report_quality_notes : report_quality_brief_notes)(dataset, &notes))
        return SPROF_ENOMEM;
    report_quality_write_parts(out, &parts, prefix, screen.columns);
    if (options->verbose)
        report_quality_write_parts(out, &all, prefix, screen.columns);
    if (*options->note)
        fprintf(out, "%s%s\n", prefix, options->note);
    for (size_t i = 0; i < notes.count; i++)
        fprintf(out, "%s%s\n", prefix, notes.items[i]);
    const int result = report_first_screen(out, dataset, &screen, error);
    return result || !dataset->total.samples ? result : write_next(out, dataset, options->path);
}

int report_summary(FILE *out, struct store *store, const struct report_summary_options *options,
                   struct sprof_error *error)
{
    struct report_dataset dataset;
    uint64_t modules = 0;
    const struct report_selection selection = {.fold_idle = true};
    int result = store_begin_reading(store, error);
    if (result)
        return result;
    result = report_first_screen_load(&dataset, store, &selection, REPORT_ONLY_RUN, error);
    if (!result)
        result = count_modules(store, dataset.run.id, &modules, error);
    if (!result)
        result = report_waits_sum_up(&dataset, store, &selection, error);
    if (!result)
        result = report_error_code(write_summary(out, &dataset, modules, options, error), error);
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
