/* Says in words how far the numbers can be trusted. */
#include "report/quality.h"

#include "report/cures.h"
#include "report/number_format.h"
#include "report/quality_kernel.h"
#include "report/quality_waiting.h"
#include "report/services.h"
#include "report/utf8_text.h"

#include <string.h>

/* Shares from which on something is worth a sentence. */
enum { MUCH_OUTSIDE_PERCENT = 20, MUCH_LOST_PERCENT = 1, MUCH_NOT_SAMPLED_PERCENT = 1 };

/* A module with less of the unnamed time is not worth a cure of its own, and there are few. */
enum { MUCH_UNNAMED_PERCENT = 20, MOST_CURES = 2, MUCH_INTERPRETED_PERCENT = 30 };

static const uint64_t least_unsampled_ns = 100 * 1000 * 1000;

/* Beside a target that used much, sprof's cost is that of samples. */
static const uint64_t much_target_ns = 2000000000;

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

static int note_idle(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t idle = dataset->idle.cost.weight;
    const uint64_t all = report_dataset_value(dataset, dataset->total) + idle;
    char share[NUMBER_BYTES];
    if (!idle)
        return 0;
    report_number_percent(share, idle, all, 0);
    if (!dataset->idle.function)
        return report_quality_part(dataset, notes,
                                   "%s of the time is idle and left out: `--idle` shows it", share);
    const char *function = report_dataset_short_name(dataset, dataset->idle.function);
    return function ? report_quality_part(dataset, notes,
                                          "%s of the time is idle and left out: threads wait for "
                                          "work, mostly in %s; `--idle` shows it",
                                          share, function)
                    : SPROF_ENOMEM;
}

static int note_outside(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t part = report_dataset_value(dataset, dataset->apart.outside);
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
    return 2 * lost * (double)dataset->total.weight > (double)dataset->apart.not_sampled.weight;
}

static int note_not_sampled(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t part = dataset->apart.not_sampled.weight;
    char share[NUMBER_BYTES];
    if (!is_share(part, dataset->total.weight, MUCH_NOT_SAMPLED_PERCENT))
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

/* Of a target that used little the start of sprof would be most. */
static int note_cost(struct report_dataset *dataset, struct quality_parts *notes)
{
    const struct store_quality *quality = &dataset->quality;
    char share[NUMBER_BYTES];
    if (quality->target_cpu_ns < much_target_ns || !report_quality_is_costly(quality) ||
        report_counts_calls(dataset))
        return 0;
    return report_quality_part(dataset, notes,
                               "sprof's own cost was %s of the target's CPU time: `sprof record "
                               "--max-overhead 2%%` limits "
                               "it, -F %.0f lowers it",
                               report_quality_own_cost(share, quality), quality->requested_hz / 10);
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
                   ? report_quality_part(
                         dataset, notes,
                         "the quality figures are of the newest run of the second side")
                   : report_quality_part(dataset, notes,
                                         "the quality figures are of the newest run of the second "
                                         "side, %u of %u in its file; FILE:RUN chooses another",
                                         dataset->run_number, dataset->run_count);
    if (dataset->run_count < 2)
        return 0;
    uint64_t wall_ns;
    const size_t shown = report_quality_runs(dataset, &wall_ns);
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
    return dataset->chosen.is_part
               ? report_quality_part(dataset, notes, "these quality figures are of the whole run")
               : 0;
}

const char *report_quality_empty(const struct report_dataset *dataset)
{
    return dataset->total.samples     ? NULL
           : dataset->quality.samples ? "the filters leave none of the samples"
           : dataset->counted.coverage.called
               ? "calls were not counted: `sprof stats --coverage` shows "
                 "which functions were called"
           : report_counts_calls(dataset) ? "none of the probed functions was called"
           : dataset->samples_of_others
               ? "no sample is of this event: `sprof report --by event` shows the others"
           : dataset->apart.not_sampled.weight > least_unsampled_ns
               ? "nothing was sampled of the CPU time that was used"
           : report_quality_is_of_choice(dataset)
               ? "nothing was sampled: no process that fits had a CPU; `ps -e -o "
                 "pid,user,comm,cgroup` shows which there are"
               : "nothing was sampled: the program used too little CPU time";
}

/* A smaller share is shown as 0. */
static const double SHOWN_STANDARD_PERCENT = 0.05;

static int note_standard(struct report_dataset *dataset, struct quality_parts *notes)
{
    const uint64_t part = report_dataset_value(dataset, dataset->apart.standard);
    const uint64_t whole = report_dataset_value(dataset, dataset->all);
    char share[NUMBER_BYTES];
    if (!(dataset->chosen.filters & REPORT_STANDARD) ||
        report_number_share(part, whole) < SHOWN_STANDARD_PERCENT)
        return 0;
    return report_quality_part(dataset, notes,
                               "%s was in standard libraries and runtimes, and counts "
                               "for what called them",
                               report_number_percent(share, part, whole, 1));
}

static int note_empty(struct report_dataset *dataset, struct quality_parts *notes)
{
    const char *reason = report_quality_empty(dataset);
    char time[NUMBER_BYTES];
    if (reason && dataset->chosen.ranges.count && dataset->quality.samples &&
        dataset->run.duration_ns)
        return report_quality_part(
            dataset, notes, "%s; the run took %s", reason,
            report_number_time(time, dataset->run.duration_ns,
                               report_number_time_unit(dataset->run.duration_ns)));
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
    const uint64_t count = dataset->counted.less_measured;
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

/* Cost of code without a name in a module. */
struct unnamed_cost {
    uint64_t self;
    uint64_t frames; /* callers count as well: their names raise the share of named frames */
};

/* By module. Returns the sum of all frames. */
static uint64_t unnamed_by_module(const struct report_dataset *dataset, struct unnamed_cost *costs)
{
    uint64_t all = 0;
    for (size_t i = 0; i < dataset->paths.items.count; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        const uint32_t module = dataset->facts.items[path->function - 1].module;
        const uint64_t cost = report_dataset_value(dataset, path->costs.inclusive);
        if (dataset->functions.items[path->function - 1].named ||
            dataset->modules.items[module - 1].kind == MODEL_KIND_NONE ||
            dataset->modules.items[module - 1].kind == MODEL_KIND_KERNEL)
            continue;
        costs[module - 1].self += report_dataset_value(dataset, path->costs.exclusive);
        costs[module - 1].frames += cost;
        all += cost;
    }
    return all;
}

/* The module whose names help most: where much time is spent in unnamed functions themselves,
 * else of which most frames are. False: there is no such one. */
static bool find_unnamed(const struct report_dataset *dataset, const struct unnamed_cost *costs,
                         uint64_t frames, size_t *module)
{
    size_t self = 0, most = 0;
    for (size_t i = 1; i < dataset->modules.count; i++) {
        self = costs[i].self > costs[self].self ? i : self;
        most = costs[i].frames > costs[most].frames ? i : most;
    }
    const bool in_self = is_share(costs[self].self, report_dataset_value(dataset, dataset->total),
                                  MUCH_UNNAMED_PERCENT);
    *module = in_self ? self : most;
    return in_self || is_share(costs[most].frames, frames, MUCH_UNNAMED_PERCENT);
}

/* The interpreter among the modules that the functions at hand are in. */
static const char *interpreter_in(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->modules.count; i++)
        if (report_cure_is_interpreter(dataset->modules.items[i].name))
            return dataset->modules.items[i].name;
    return NULL;
}

static bool lacks_names(const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    return !report_quality_is_imported(dataset) &&
           is_share(quality->frames - quality->named_frames, quality->frames,
                    100 - REPORT_NAMED_PERCENT);
}

/* What gives names to the modules with most of the unnamed time. */
static int note_unnamed(struct report_dataset *dataset, struct quality_parts *notes)
{
    if (!lacks_names(dataset))
        return 0;
    struct unnamed_cost *costs = calloc(dataset->modules.count + 1, sizeof *costs);
    int result = costs ? 0 : SPROF_ENOMEM;
    const uint64_t frames = costs ? unnamed_by_module(dataset, costs) : 0;
    size_t most;
    bool said = false; /* what names functions of an interpreter */
    for (int cure = 0; cure < MOST_CURES && !result && find_unnamed(dataset, costs, frames, &most);
         cure++) {
        costs[most] = (struct unnamed_cost){0};
        const struct report_module *module = &dataset->modules.items[most];
        const struct report_unnamed unnamed = {
            .name = module->name,
            .path = module->path,
            .build_id = module->build_id,
            .kind = module->kind,
            .cure_said = said,
            .interpreter = report_counts_calls(dataset) ? NULL : interpreter_in(dataset)};
        struct sprof_str text = {0};
        result = report_cure_append(&text, "", &unnamed);
        if (!result && text.length)
            result = report_quality_part(dataset, notes, "%s", text.text);
        said |= report_cure_is_interpreter(module->name) || module->kind == MODEL_KIND_JIT;
        sprof_str_release(&text);
    }
    free(costs);
    return result;
}

/* Whether functions of code that is no file's have names, as a perf map gives them. */
static bool names_made_code(const struct report_dataset *dataset)
{
    for (size_t i = 0; i < dataset->functions.count; i++) {
        const struct report_module *module =
            &dataset->modules.items[dataset->facts.items[i].module - 1];
        if (dataset->functions.items[i].named && module->kind != MODEL_KIND_NONE &&
            module->kind != MODEL_KIND_KERNEL && (module->path[0] != '/' || module->path[1] == '/'))
            return true;
    }
    return false;
}

/* An interpreter's frames have the names of its own functions, not of those that it runs. */
static int note_interpreter(struct report_dataset *dataset, struct quality_parts *notes)
{
    const char *module = interpreter_in(dataset), *language;
    const char *cure = report_cure_of_interpreter(module, &language);
    uint64_t cost = 0;
    if (!cure || lacks_names(dataset) || report_counts_calls(dataset) ||
        report_quality_is_imported(dataset) || names_made_code(dataset))
        return 0;
    for (size_t i = 0; i < dataset->paths.items.count; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        const uint32_t in = dataset->facts.items[path->function - 1].module;
        if (report_cure_is_interpreter(dataset->modules.items[in - 1].name))
            cost += report_dataset_value(dataset, path->costs.exclusive);
    }
    return is_share(cost, report_dataset_value(dataset, dataset->total), MUCH_INTERPRETED_PERCENT)
               ? report_quality_part(dataset, notes,
                                     "functions of %s are the interpreter's own; for the names of "
                                     "%s functions %s",
                                     module, language, cure)
               : 0;
}

/* Without rows of `run` it is not known how much weights vary in a row of a fleet's database. */
static int note_rows(struct report_dataset *dataset, struct quality_parts *notes)
{
    const bool of_rows = dataset->run.source && !strcmp(dataset->run.source, MODEL_SOURCE_ROWS);
    const bool alike = dataset->effective_samples > (1 - 1e-6) * (double)dataset->total.samples;
    return of_rows && alike && dataset->event.varying && !report_counts_calls(dataset)
               ? report_quality_part(dataset, notes,
                                     "intervals take the samples of an imported row as equal: they "
                                     "are too narrow where weights vary")
               : 0;
}

/* Of calls: what the time of functions holds that have called others without probes. */
static int note_left(struct report_dataset *dataset, struct quality_parts *notes)
{
    return dataset->counted.outside_callees
               ? report_quality_part(dataset, notes,
                                     "time outside of the traced modules, by callee: %s",
                                     dataset->counted.outside_callees)
               : 0;
}

/* What a reader must see in any case, and what only stands in full accounts. */
static const struct {
    int (*make)(struct report_dataset *, struct quality_parts *);
    bool in_brief;
} makers[] = {
    {note_empty, true},
    {note_killed, true},
    {note_kernel, true},
    {report_quality_note_waiting, true},
    {note_idle, true},
    {note_outside, true},
    {note_unnamed, true},
    {note_interpreter, true},
    {note_not_sampled, true},
    {note_lost, true},
    {note_cost, true},
    {note_tails, false},
    {note_rows, true},
    {report_quality_note_slices, true},
    {report_quality_note_lacks, true},
    {report_quality_note_rate, true},
    {note_limits, true},
    {note_callers, true},
    {note_left, true},
    {note_standard, true},
    {note_filter, false},
    {note_runs, true},
};

static int make_notes(struct report_dataset *dataset, struct quality_parts *notes, bool brief)
{
    int result = 0;
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !result; i++)
        if (makers[i].in_brief || !brief)
            result = makers[i].make(dataset, notes);
    return result;
}

int report_quality_notes(struct report_dataset *dataset, struct quality_parts *notes)
{
    return make_notes(dataset, notes, false);
}

int report_quality_brief_notes(struct report_dataset *dataset, struct quality_parts *notes)
{
    return make_notes(dataset, notes, true);
}
