/* Writes the lines below tables: in brief one where all is well, with -v all that is known. */
#include "report/quality.h"

#include <string.h>

/* Shares from which on something belongs into the one line. */
enum { WHOLE_PERCENT = 99, MUCH_GUESSED_PERCENT = 1 };

static int part_of_event(struct report_dataset *dataset, struct quality_parts *parts)
{
    const struct store_quality *quality = &dataset->quality;
    char number[NUMBER_BYTES];
    if (!dataset->event.id || report_dataset_mixes_events(dataset))
        return 0;
    if (dataset->event_sum && !dataset->event.period)
        return report_quality_part(dataset, parts, "%s: %s", dataset->event.name,
                                   dataset->event_sum == REPORT_OFF_CPU
                                       ? "all waits, and ready without a CPU"
                                       : "CPU time and off-cpu together");
    if (quality->requested_hz > 0)
        return report_quality_part(dataset, parts, "%s, %s", dataset->event.name,
                                   report_quality_rate(number, quality));
    if (report_quality_sees_waiting(dataset) && dataset->event.period)
        return report_quality_part(dataset, parts, "%s, %.0f Hz a thread", dataset->event.name,
                                   1e9 / (double)dataset->event.period);
    if (dataset->event.period > 1)
        return report_quality_part(dataset, parts, "%s, every %s", dataset->event.name,
                                   sprof_digits_of(dataset->event.period).text);
    return report_quality_part(dataset, parts, "%s", dataset->event.name);
}

static int put_mode(struct report_dataset *dataset, struct quality_parts *parts)
{
    const char *recorded = model_mode_text(dataset->reading.recorded.mode);
    const bool recorded_frame = dataset->reading.recorded.frame_app;
    if (dataset->reading.other_mode)
        return report_quality_part(dataset, parts, "%s%s, read as %s",
                                   dataset->reading.several_modes ? "several modes" : "mode ",
                                   dataset->reading.several_modes ? "" : recorded,
                                   model_mode_options_text(dataset->reading.mode,
                                                           dataset->reading.frame_app,
                                                           dataset->reading.drop_interior));
    if (dataset->reading.several_modes)
        return report_quality_part(dataset, parts, "several modes");
    return report_quality_part(dataset, parts, "mode %s%s", recorded,
                               recorded_frame ? " --frame app" : "");
}

static int put_running(struct report_dataset *dataset, struct quality_parts *parts)
{
    char time[NUMBER_BYTES];
    if (!dataset->running)
        return 0;
    report_number_time(time, dataset->run.duration_ns,
                       report_number_time_unit(dataset->run.duration_ns));
    return report_quality_part(dataset, parts, "running, as of %s", time);
}

static int source_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    int result = put_mode(dataset, parts);
    if (!result && dataset->run.source)
        result = report_quality_part(dataset, parts, "%s", dataset->run.source);
    if (!result)
        result = part_of_event(dataset, parts);
    return result ? result : put_running(dataset, parts);
}

static int put_cost(struct report_dataset *dataset, struct quality_parts *parts, bool brief)
{
    const struct store_quality *quality = &dataset->quality;
    char cpu[NUMBER_BYTES], wall[NUMBER_BYTES], share[NUMBER_BYTES];
    uint64_t wall_ns;
    report_quality_runs(dataset, &wall_ns);
    if (!wall_ns || report_quality_is_imported(dataset))
        return 0;
    const uint64_t cpu_ns = report_quality_used_ns(dataset);
    report_number_time(cpu, cpu_ns, report_number_time_unit(cpu_ns));
    report_number_time(wall, wall_ns, report_number_time_unit(wall_ns));
    report_number_percent(share, cpu_ns, wall_ns, 0);
    int result = report_quality_part(dataset, parts, "%s of CPU time in %s (%s)", cpu, wall, share);
    if (!result && !brief)
        result = report_quality_part(dataset, parts, "sprof's own cost %s",
                                     report_quality_own_cost(share, quality));
    return result;
}

static int cost_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    return put_cost(dataset, parts, false);
}

/* How many samples or calls there are; where only coverage was looked for, of functions. */
static int put_count(struct report_dataset *dataset, struct quality_parts *parts, const char *whole)
{
    const uint64_t samples = dataset->quality.samples;
    if (dataset->counted.coverage.called && dataset->runs.count == 1)
        return report_quality_part(dataset, parts, "%s%s of %s functions were called", whole,
                                   sprof_digits_of(dataset->counted.coverage.called).text,
                                   sprof_digits_of(dataset->counted.coverage.functions).text);
    const uint64_t left = dataset->counted.outside_calls;
    return report_quality_part(
        dataset, parts, "%s%s %s%s%s%s%s", whole, sprof_digits_of(samples).text,
        report_counted(dataset), sprof_plural(samples), left ? ", " : "",
        left ? sprof_digits_of(left).text : "", left ? " of them out of the traced modules" : "");
}

static int samples_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    const int result = put_count(dataset, parts, "");
    return result ? result : report_quality_of_samples(dataset, parts);
}

static bool is_usual_event(const struct report_dataset *dataset)
{
    return dataset->event.is_clock && !report_quality_sees_waiting(dataset) && !dataset->all_events;
}

/* The mode, the source and the event, where they are not the usual ones. */
static int put_unusual(struct report_dataset *dataset, struct quality_parts *parts)
{
    const char *source = dataset->run.source;
    const bool is_usual_source =
        source && (!strncmp(source, MODEL_SOURCE_PERF_CPUS, strlen(MODEL_SOURCE_PERF_CPUS)) ||
                   !strncmp(source, MODEL_SOURCE_PERF_THREADS, strlen(MODEL_SOURCE_PERF_THREADS)));
    int result = 0;
    if (dataset->reading.other_mode || dataset->reading.several_modes ||
        dataset->reading.recorded.frame_app || dataset->reading.recorded.mode != MODEL_MODE_FULL)
        result = put_mode(dataset, parts);
    if (!result && source && !is_usual_source)
        result = report_quality_part(dataset, parts, "%s", source);
    if (!result && !is_usual_event(dataset))
        result = part_of_event(dataset, parts);
    return result ? result : put_running(dataset, parts);
}

/* Of samples only what is not as it should be. */
static int put_faults(struct report_dataset *dataset, struct quality_parts *parts)
{
    const struct store_quality *quality = &dataset->quality;
    char number[NUMBER_BYTES];
    int result = 0;
    if (report_counts_calls(dataset))
        return 0;
    if (quality->lost)
        result =
            report_quality_part(dataset, parts, "%s lost", sprof_digits_of(quality->lost).text);
    if (!result && quality->has_user_stacks &&
        report_number_share(quality->whole_stacks, quality->user_stacks) < WHOLE_PERCENT &&
        quality->user_stacks)
        result = report_quality_part(
            dataset, parts, "%s whole stacks",
            report_number_quality(number, quality->whole_stacks, quality->user_stacks));
    if (!result &&
        report_number_share(quality->guessed_frames, quality->frames) >= MUCH_GUESSED_PERCENT)
        result = report_quality_part(dataset, parts, "%s guessed frame%s",
                                     sprof_digits_of(quality->guessed_frames).text,
                                     sprof_plural(quality->guessed_frames));
    if (!result && quality->frames &&
        report_number_share(quality->named_frames, quality->frames) < REPORT_NAMED_PERCENT)
        result = report_quality_part(
            dataset, parts, "%s named",
            report_number_quality(number, quality->named_frames, quality->frames));
    return result;
}

int report_quality_one_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    int result = put_count(dataset, parts, dataset->chosen.is_part ? "of the whole run: " : "");
    if (!result)
        result = put_cost(dataset, parts, true);
    if (!result)
        result = put_unusual(dataset, parts);
    return result ? result : put_faults(dataset, parts);
}

static int write_all(FILE *out, struct report_dataset *dataset, unsigned columns)
{
    static int (*const lines[])(struct report_dataset *,
                                struct quality_parts *) = {samples_line, source_line, cost_line};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct quality_parts parts = {0};
        if (lines[i](dataset, &parts))
            return SPROF_ENOMEM;
        report_quality_write_parts(out, &parts, "", columns);
    }
    return 0;
}

int report_quality_write(FILE *out, struct report_dataset *dataset, unsigned columns, bool all)
{
    struct quality_parts parts = {0}, notes = {0};
    if (all ? write_all(out, dataset, columns) || report_quality_notes(dataset, &notes)
            : report_quality_one_line(dataset, &parts) ||
                  report_quality_brief_notes(dataset, &notes))
        return SPROF_ENOMEM;
    report_quality_write_parts(out, &parts, "", columns);
    for (size_t i = 0; i < notes.count; i++)
        fprintf(out, "%s\n", notes.items[i]);
    return 0;
}
