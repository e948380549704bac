/* Writes the samples themselves, in time order. */
#include "report/dataset_parts.h"
#include "report/error_text.h"
#include "report/format.h"

/* Rows of calls that were counted have the times at which they were written. */
static bool are_all_counted(const struct report_dataset *dataset)
{
    bool counted = report_counts_calls(dataset);
    for (size_t i = 0; i < dataset->events.count && dataset->all_events; i++)
        counted = counted && dataset->events.items[i].unit == STORE_UNIT_CALL;
    return counted;
}

int report_script(FILE *out, struct store *store, const struct report_selection *selection,
                  const struct report_style *style, size_t limit, struct sprof_error *error)
{
    struct report_dataset dataset;
    int result = report_dataset_load(&dataset, store, selection, REPORT_STACKS, error);
    if (!result)
        result = report_error_of_rows(&dataset, "single samples", error);
    if (!result && are_all_counted(&dataset))
        result = report_error_counted(&dataset, error);
    if (!result) {
        const struct report_content content = {
            .kind = REPORT_SAMPLES, .dataset = &dataset, .store = store, .limit = limit};
        result = report_content_write(out, &content, style, error);
    }
    report_dataset_release(&dataset);
    return result;
}
