/* Which runs a report is of, how long they were, and what CPU time was used in them. */
#include "report/quality.h"

bool report_quality_is_imported(const struct report_dataset *dataset)
{
    return dataset->run.source && model_source_is_import(dataset->run.source);
}

size_t report_quality_runs(const struct report_dataset *dataset, uint64_t *wall_ns)
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

uint64_t report_quality_used_ns(const struct report_dataset *dataset)
{
    const bool of_samples = dataset->event.is_clock && dataset->weighted && !dataset->all_events &&
                            !report_counts_calls(dataset) &&
                            !report_quality_sees_waiting(dataset) && dataset->all.weight;
    return of_samples ? dataset->all.weight : dataset->quality.target_cpu_ns;
}
