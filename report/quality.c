/* Says in words how far the numbers can be trusted. */
#include "report/quality.h"

#include "report/cures.h"
#include "report/number_format.h"
#include "report/quality_kernel.h"
#include "report/utf8_text.h"

#include <string.h>

/* Shares from which on something is worth a sentence. */
enum { MUCH_OUTSIDE_PERCENT = 20, LITTLE_CPU_PERCENT = 30, MUCH_LOST_PERCENT = 1 };

/* A module with less of the unnamed time is not worth a cure of its own, and there are few. */
enum { MUCH_UNNAMED_PERCENT = 20, MOST_CURES = 2 };

/* Shorter runs than this say nothing about waiting. */
static const uint64_t shortest_wait_ns = 100 * 1000 * 1000;

/* Beside a target that used less, sprof's own start alone would look enormous. */
static const uint64_t least_target_ns = 100 * 1000 * 1000;

static bool is_share(uint64_t part, uint64_t whole, uint64_t percent)
{
    return whole && (unsigned __int128)part * 100 > (unsigned __int128)whole * percent;
}

int report_quality_of_samples(struct report_dataset *dataset, struct quality_parts *parts)
{
    const struct store_quality *quality = &dataset->quality;
    char number[NUMBER_BYTES];
    int result = 0;
    if (report_counts_calls(dataset))
        return 0;
    result = report_quality_part(dataset, parts, "%s lost", sprof_digits_of(quality->lost).text);
    if (!result && quality->has_user_stacks && quality->user_stacks)
        result = report_quality_part(
            dataset, parts, "%s whole stacks",
            report_number_quality(number, quality->whole_stacks, quality->user_stacks));
    if (!result && quality->guessed_frames)
        result = report_quality_part(dataset, parts, "%s guessed frame%s",
                                     sprof_digits_of(quality->guessed_frames).text,
                                     sprof_plural(quality->guessed_frames));
    if (!result && quality->frames)
        result = report_quality_part(
            dataset, parts, "%s named",
            report_number_quality(number, quality->named_frames, quality->frames));
    return result;
}

char *report_quality_own_cost(char buffer[static NUMBER_BYTES], const struct store_quality *quality)
{
    return quality->target_cpu_ns < least_target_ns
               ? report_number_time(buffer, quality->own_cpu_ns,
                                    report_number_time_unit(quality->own_cpu_ns))
               : report_number_percent(buffer, quality->own_cpu_ns, quality->target_cpu_ns, 1);
}

bool report_quality_sees_waiting(const struct report_dataset *dataset)
{
    return dataset->event.name && !strcmp(dataset->event.name, MODEL_EVENT_WALL);
}

/* Whether the dataset has samples of events with different names: no one rate is that of all. */
static bool mixes_events(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->events.count && dataset->all_events; i++)
        if (strcmp(dataset->events.items[i].name, dataset->event.name) != 0)
            return true;
    return false;
}

static int part_of_event(struct report_dataset *dataset, struct quality_parts *parts)
{
    const struct store_quality *quality = &dataset->quality;
    char number[NUMBER_BYTES];
    if (!dataset->event.id || mixes_events(dataset))
        return 0;
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

static int source_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    const char *recorded = model_mode_text(dataset->recorded.mode);
    const bool recorded_frame = dataset->recorded.frame_app;
    int result;
    if (dataset->other_mode)
        result = report_quality_part(
            dataset, parts, "%s%s, read as %s", dataset->several_modes ? "several modes" : "mode ",
            dataset->several_modes ? "" : recorded,
            model_mode_options_text(dataset->mode, dataset->frame_app, dataset->drop_interior));
    else if (dataset->several_modes)
        result = report_quality_part(dataset, parts, "several modes");
    else
        result = report_quality_part(dataset, parts, "mode %s%s", recorded,
                                     recorded_frame ? " --frame app" : "");
    if (!result && dataset->run.source)
        result = report_quality_part(dataset, parts, "%s", dataset->run.source);
    if (!result)
        result = part_of_event(dataset, parts);
    if (result || !dataset->running)
        return result;
    char time[NUMBER_BYTES];
    report_number_time(time, dataset->run.duration_ns,
                       report_number_time_unit(dataset->run.duration_ns));
    return report_quality_part(dataset, parts, "running, as of %s", time);
}

/* Of imported stacks nobody knows what CPU time there was beside them. */
static bool is_imported(const struct report_dataset *dataset)
{
    return dataset->run.source && model_source_is_import(dataset->run.source);
}

/* How many of the selected runs have the event that is read, and how long these were together: as
 * long as the CPU time that they are compared with was used. */
static size_t count_runs(const struct report_dataset *dataset, uint64_t *wall_ns)
{
    size_t count = 0;
    *wall_ns = dataset->runs.count > 1 ? 0 : dataset->run.duration_ns;
    for (size_t i = 0; i < dataset->runs.count && dataset->runs.count > 1; i++)
        if (report_dataset_has_event(dataset, dataset->runs.items[i].id)) {
            *wall_ns += dataset->runs.items[i].duration_ns;
            count++;
        }
    return dataset->runs.count > 1 ? count : 1;
}

static int cost_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    const struct store_quality *quality = &dataset->quality;
    char cpu[NUMBER_BYTES], wall[NUMBER_BYTES], share[NUMBER_BYTES];
    uint64_t wall_ns;
    count_runs(dataset, &wall_ns);
    if (!wall_ns || is_imported(dataset))
        return 0;
    report_number_time(cpu, quality->target_cpu_ns,
                       report_number_time_unit(quality->target_cpu_ns));
    report_number_time(wall, wall_ns, report_number_time_unit(wall_ns));
    report_number_percent(share, quality->target_cpu_ns, wall_ns, 0);
    int result = report_quality_part(dataset, parts, "%s of CPU time in %s (%s)", cpu, wall, share);
    if (!result)
        result = report_quality_part(dataset, parts, "sprof's own cost %s",
                                     report_quality_own_cost(share, quality));
    return result;
}

static int note_waiting(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t cpu_ns = dataset->quality.target_cpu_ns;
    uint64_t wall_ns;
    count_runs(dataset, &wall_ns);
    if (report_counts_calls(dataset) || report_quality_sees_waiting(dataset) ||
        wall_ns < shortest_wait_ns || is_imported(dataset) ||
        is_share(cpu_ns, wall_ns, LITTLE_CPU_PERCENT))
        return 0;
    char share[NUMBER_BYTES];
    return report_quality_part(
        dataset, notes,
        "the target was on a CPU for %s of the time: where it waited is not seen "
        "by these samples",
        report_number_percent(share, cpu_ns, wall_ns, 0));
}

static int note_outside(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t part = report_dataset_value(dataset, dataset->outside);
    const uint64_t whole = report_dataset_value(dataset, dataset->total);
    char share[NUMBER_BYTES];
    if (!is_share(part, whole, MUCH_OUTSIDE_PERCENT))
        return 0;
    return report_quality_part(
        dataset, notes,
        "%s never enters the application: `--app-module GLOB` makes a library part "
        "of it",
        report_number_percent(share, part, whole, 0));
}

static bool source_begins(const struct report_dataset *dataset, const char *with)
{
    return dataset->run.source && !strncmp(dataset->run.source, with, strlen(with));
}

/* Whether most of what has no sample is what samples were lost of. */
static bool was_lost(const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    const double all = (double)quality->samples + (double)quality->lost;
    const double lost = all > 0 ? (double)quality->lost / all : 0;
    return 2 * lost * (double)dataset->total.weight > (double)dataset->not_sampled.weight;
}

static int note_not_sampled(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t part = dataset->not_sampled.weight;
    char share[NUMBER_BYTES];
    if (!part)
        return 0;
    return report_quality_part(
        dataset, notes, "%s of the CPU time has no sample, mostly %s: [not sampled]",
        report_number_percent(share, part, dataset->total.weight, 1),
        was_lost(dataset) ? "of samples that were lost"
        : report_quality_is_by_agents(dataset)
            ? "before threads' first sample or after their last, and of programs no agent is in"
        : report_quality_timer_was_late(dataset)
            ? "where the timer fired late, or of threads that wake for some microseconds"
        : source_begins(dataset, MODEL_SOURCE_PERF_CPUS)
            ? "of threads that wake for some microseconds at a time"
            : "after threads' last sample, and of threads too short for one");
}

static int note_lost(struct report_dataset *dataset, struct quality_parts *notes)
{
    const struct store_quality *quality = &dataset->quality;
    char share[NUMBER_BYTES];
    if (!is_share(quality->lost, quality->samples + quality->lost, MUCH_LOST_PERCENT))
        return 0;
    return report_quality_part(
        dataset, notes, "%s of the samples were lost: record with a lower -F or --stack-bytes",
        report_number_percent(share, quality->lost, quality->samples + quality->lost, 1));
}

/* Most of these stacks are whole for all that: a walk reads on in the live target. */
static int note_tails(struct report_dataset *dataset, struct quality_parts *notes)
{
    const struct store_quality *quality = &dataset->quality;
    if (!quality->tails_dropped)
        return 0;
    return report_quality_part(
        dataset, notes, "%s deep stack%s found no memory when sampled, and %s read later",
        sprof_digits_of(quality->tails_dropped).text, sprof_plural(quality->tails_dropped),
        quality->tails_dropped == 1 ? "was" : "were");
}

static int note_kernel(struct report_dataset *dataset, struct quality_parts *notes)
{
    return dataset->run.kernel_excluded
               ? report_quality_part(dataset, notes, "kernel code is not sampled: %s",
                                     dataset->run.kernel_excluded)
               : 0;
}

static int note_runs(struct report_dataset *dataset, struct quality_parts *notes)
{
    if (dataset->compared)
        return dataset->run_count < 2
                   ? report_quality_part(dataset, notes,
                                         "these quality figures are of the last run after")
                   : report_quality_part(dataset, notes,
                                         "these quality figures are of the last run after, %u of "
                                         "%u in its file; FILE:RUN chooses",
                                         dataset->run_number, dataset->run_count);
    if (dataset->run_count < 2)
        return 0;
    uint64_t wall_ns;
    const size_t shown = count_runs(dataset, &wall_ns);
    if (dataset->runs.count > 1)
        return report_quality_part(dataset, notes, "%zu of %u runs%s%s; --run N chooses one", shown,
                                   dataset->run_count,
                                   shown < dataset->runs.count ? ", others have no " : "",
                                   shown < dataset->runs.count ? dataset->event.name : "");
    return report_quality_part(dataset, notes, "run %u of %u; --run N chooses", dataset->run_number,
                               dataset->run_count);
}

static int note_filter(struct report_dataset *dataset, struct quality_parts *notes)
{
    return dataset->filtered
               ? report_quality_part(dataset, notes, "these quality figures are of the whole run")
               : 0;
}

const char *report_quality_empty(const struct report_dataset *dataset)
{
    return dataset->total.samples     ? NULL
           : dataset->quality.samples ? "none of the samples belong to what was asked for"
           : dataset->covered         ? "calls were not counted: `sprof stats --coverage` shows "
                                        "which functions were called"
           : report_counts_calls(dataset) ? "none of the probed functions was called"
           : dataset->not_sampled.weight > least_target_ns
               ? "nothing was sampled of the CPU time that was used"
               : "nothing was sampled: the program used too little CPU time";
}

static int note_empty(struct report_dataset *dataset, struct quality_parts *notes)
{
    const char *reason = report_quality_empty(dataset);
    return reason ? report_quality_part(dataset, notes, "%s", reason) : 0;
}

static int note_killed(struct report_dataset *dataset, struct quality_parts *notes)
{
    char time[NUMBER_BYTES];
    if (!dataset->quality.killed)
        return 0;
    if (dataset->runs.count > 1)
        return report_quality_part(dataset, notes,
                                   "sprof was killed in some of these runs, or their disk was "
                                   "full: what came later is in none");
    if (!dataset->quality.samples)
        return report_quality_part(dataset, notes,
                                   "incomplete from the start: sprof was killed, or its disk was "
                                   "full, before it had measured "
                                   "anything");
    report_number_time(time, dataset->run.duration_ns,
                       report_number_time_unit(dataset->run.duration_ns));
    return report_quality_part(
        dataset, notes,
        "incomplete: sprof was killed, or its disk was full, and what came after %s is missing",
        time);
}

static int note_limits(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t count = dataset->less_measured;
    return count ? report_quality_part(dataset, notes,
                                       "%llu function%s only counted, or had no probe, from some "
                                       "moment on, to hold a limit: `sprof stats` names %s",
                                       (unsigned long long)count, count == 1 ? " was" : "s were",
                                       count == 1 ? "it" : "them")
                 : 0;
}

static int note_callers(struct report_dataset *dataset, struct quality_parts *notes)
{
    if (!dataset->shows_callers || !report_counts_calls(dataset) || !dataset->total.samples)
        return 0;
    switch (report_dataset_callers(dataset)) {
    case REPORT_NO_CALLERS:
        return report_quality_part(dataset, notes,
                                   "no callers are known: `sprof trace --paths` (or --callers, "
                                   "direct ones alone) counts calls by who made them");
    case REPORT_DIRECT_CALLERS:
        return report_quality_part(dataset, notes,
                                   "only direct callers are known, and of what they called its "
                                   "own time: `sprof trace --paths` measures whole call paths");
    case REPORT_ALL_CALLERS: break;
    }
    return 0;
}

/* Exclusive cost in functions without a name, by module; the sum of all. */
static uint64_t unnamed_by_module(const struct report_dataset *dataset, uint64_t *costs)
{
    uint64_t all = 0;
    for (size_t i = 0; i < dataset->paths.items.count; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        const uint32_t module = dataset->facts.items[path->function - 1].module;
        const uint64_t cost = report_dataset_value(dataset, path->costs.exclusive);
        if (dataset->functions.items[path->function - 1].named ||
            dataset->modules.items[module - 1].kind == MODEL_KIND_NONE ||
            dataset->modules.items[module - 1].kind == MODEL_KIND_KERNEL)
            continue;
        costs[module - 1] += cost;
        all += cost;
    }
    return all;
}

/* The interpreter among the modules that the functions at hand are in. */
static const char *interpreter_in(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->modules.count; i++)
        if (report_cure_is_interpreter(dataset->modules.items[i].name))
            return dataset->modules.items[i].name;
    return NULL;
}

/* What gives names to the modules with most of the unnamed time. */
static int note_unnamed(struct report_dataset *dataset, struct quality_parts *notes)
{
    const struct store_quality *quality = &dataset->quality;
    if (is_imported(dataset) || report_counts_calls(dataset) ||
        !is_share(quality->frames - quality->named_frames, quality->frames,
                  100 - REPORT_NAMED_PERCENT))
        return 0;
    uint64_t *costs = calloc(dataset->modules.count + 1, sizeof *costs);
    int result = costs ? 0 : SPROF_ENOMEM;
    const uint64_t all = costs ? unnamed_by_module(dataset, costs) : 0;
    for (int cure = 0; cure < MOST_CURES && !result; cure++) {
        size_t most = 0;
        for (size_t i = 1; i < dataset->modules.count; i++)
            most = costs[i] > costs[most] ? i : most;
        if (!is_share(costs[most], all, MUCH_UNNAMED_PERCENT))
            break;
        costs[most] = 0;
        const struct report_module *module = &dataset->modules.items[most];
        const struct report_unnamed unnamed = {.name = module->name,
                                               .path = module->path,
                                               .build_id = module->build_id,
                                               .kind = module->kind,
                                               .interpreter = interpreter_in(dataset)};
        struct sprof_str text = {0};
        result = report_cure_append(&text, "", &unnamed);
        if (!result)
            result = report_quality_part(dataset, notes, "%s", text.text);
        sprof_str_release(&text);
    }
    free(costs);
    return result;
}

int report_quality_notes(struct report_dataset *dataset, struct quality_parts *notes)
{
    static int (*const makers[])(struct report_dataset *, struct quality_parts *) = {
        note_empty,
        note_killed,
        note_kernel,
        note_waiting,
        note_outside,
        note_unnamed,
        note_not_sampled,
        note_lost,
        note_tails,
        report_quality_note_slices,
        report_quality_note_lacks,
        report_quality_note_rate,
        note_limits,
        note_callers,
        note_filter,
        note_runs,
    };
    int result = 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !result; i++)
        result = makers[i](dataset, notes);
    return result;
}

static int samples_line(struct report_dataset *dataset, struct quality_parts *parts)
{
    const uint64_t samples = dataset->quality.samples;
    const int result = report_quality_part(dataset, parts, "%s %s%s", sprof_digits_of(samples).text,
                                           report_counts_calls(dataset) ? "call" : "sample",
                                           sprof_plural(samples));
    return result ? result : report_quality_of_samples(dataset, parts);
}

int report_quality_write(FILE *out, struct report_dataset *dataset, unsigned columns)
{
    static int (*const lines[])(struct report_dataset *,
                                struct quality_parts *) = {samples_line, source_line, cost_line};
    struct quality_parts notes = {0};
    fputc('\n', out);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct quality_parts parts = {0};
        if (lines[i](dataset, &parts))
            return SPROF_ENOMEM;
        report_quality_write_parts(out, &parts, "", columns);
    }
    if (report_quality_notes(dataset, &notes))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < notes.count; i++)
        fprintf(out, "%s\n", notes.items[i]);
    return 0;
}
