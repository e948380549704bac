/* Says in words whether a target waited, or was ready while other programs had the CPUs. */
#include "report/quality_waiting.h"

#include "report/number_format.h"
#include "report/services.h"

#include <string.h>

enum {
    LITTLE_CPU_PERCENT = 50, /* of the time on a CPU: then waiting is worth a sentence */
    IDLE_PERCENT = 30,       /* the same of the whole machine, which may have little to do */
    CROWDED_PERCENT = 90     /* so busy a machine lets programs wait for a CPU */
};

/* Shorter runs than this say nothing about waiting. */
static const uint64_t shortest_wait_ns = 100 * 1000 * 1000;

/* Whether `time_ns` is little beside how long it was recorded. */
static bool is_little(const struct report_dataset *dataset, uint64_t time_ns)
{
    uint64_t wall_ns;
    report_quality_runs(dataset, &wall_ns);
    return !report_counts_calls(dataset) && !report_quality_sees_waiting(dataset) &&
           wall_ns >= shortest_wait_ns && !report_quality_is_imported(dataset) &&
           report_number_share(time_ns, wall_ns) <=
               (report_run_is_of_machine(&dataset->run) ? IDLE_PERCENT : LITTLE_CPU_PERCENT);
}

bool report_quality_is_waiting(const struct report_dataset *dataset)
{
    return is_little(dataset, dataset->quality.target_cpu_ns + dataset->crowd.ready_ns);
}

/* Whether the machine's CPUs had work for nearly all of the time. */
static bool was_crowded(const struct report_dataset *dataset)
{
    return report_number_share(dataset->crowd.busy_ns, dataset->crowd.machine_ns) > CROWDED_PERCENT;
}

/* Whether it used little because it had no CPU. */
static bool was_ready(const struct report_dataset *dataset)
{
    return is_little(dataset, dataset->quality.target_cpu_ns) &&
           !report_quality_is_waiting(dataset);
}

/* What one thread was ready for is known. */
bool report_quality_may_be_ready(const struct report_dataset *dataset)
{
    return report_quality_is_waiting(dataset) && !report_run_is_of_machine(&dataset->run) &&
           dataset->threads.count > 1 && was_crowded(dataset);
}

bool report_quality_is_of_choice(const struct report_dataset *dataset)
{
    return report_run_is_of_machine(&dataset->run) &&
           dataset->run.targets[strlen(MODEL_TARGETS_ALL)];
}

/* Of part of the machine neither is possible. */
const char *report_quality_cure_of_waits(const struct report_dataset *dataset)
{
    const char *source = dataset->run.source;
    if (report_run_is_of_machine(&dataset->run))
        return report_quality_is_of_choice(dataset) ? "--off-cpu -p PID" : "-a --off-cpu";
    return source && strstr(source, MODEL_SOURCE_FILTERED) ? "--off-cpu" : "--clock wall";
}

/* The target had work, and no CPU: no option shows more of it. */
static int note_ready(struct report_dataset *dataset, struct quality_parts *notes,
                      const char *share, uint64_t wall_ns)
{
    char ready[NUMBER_BYTES];
    report_number_percent(ready, dataset->crowd.ready_ns, wall_ns, 0);
    if (was_crowded(dataset))
        return report_quality_part(
            dataset, notes,
            "the machine was busy: the target was on a CPU for %s of the time, "
            "and ready without one for %s, as other programs had the CPUs",
            share, ready);
    return report_quality_part(
        dataset, notes,
        "the target was on a CPU for %s of the time, and ready without one for %s: a limit of its "
        "cgroup or of taskset held it, or its threads shared too few CPUs",
        share, ready);
}

int report_quality_note_waiting(struct report_dataset *dataset, struct quality_parts *notes)
{
    char share[NUMBER_BYTES];
    uint64_t wall_ns;
    if (dataset->waits)
        return report_quality_part(dataset, notes, "%s", dataset->waits);
    report_quality_runs(dataset, &wall_ns);
    report_number_percent(share, report_quality_used_ns(dataset), wall_ns, 0);
    if (was_ready(dataset))
        return note_ready(dataset, notes, share, wall_ns);
    if (!report_quality_is_waiting(dataset) ||
        (report_quality_is_of_choice(dataset) &&
         !dataset->quality.samples)) /* there may be no target */
        return 0;
    if (report_quality_has_waits(dataset))
        return report_quality_part(dataset, notes,
                                   "the target was on a CPU for %s of the time: `sprof report "
                                   "--event wall` shows where it waited, or was ready without one",
                                   share);
    if (report_quality_may_be_ready(dataset)) {
        char busy[NUMBER_BYTES];
        report_number_percent(busy, dataset->crowd.busy_ns, dataset->crowd.machine_ns, 0);
        return report_quality_part(dataset, notes,
                                   "the target was on a CPU for %s of the time, on a machine whose "
                                   "CPUs were busy for %s of it: `sprof record %s` shows whether "
                                   "it waited, or was ready without one",
                                   share, busy, report_quality_cure_of_waits(dataset));
    }
    return report_quality_part(dataset, notes,
                               "the target was on a CPU for %s of the time: `sprof record %s` "
                               "shows where it waited, or was ready without one",
                               share, report_quality_cure_of_waits(dataset));
}
