/* Gives errors of reports their words. */
#include "report/error_text.h"

#include "report/dataset.h"

#include <string.h>

int report_error_code(int result, struct sprof_error *error)
{
    if (result == SPROF_ENOMEM)
        return sprof_error_memory(error);
    if (result == SPROF_EFORMAT && error && !error->message[0])
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "the recording is damaged: rows refer to rows that are missing");
    return result;
}

int report_error_text(struct sprof_error *error, int code, struct sprof_str *text)
{
    const int result = text->failed ? sprof_error_memory(error)
                                    : sprof_error_set(error, code, 0, "%s", text->text);
    sprof_str_release(text);
    return result;
}

int report_error_counted(const struct report_dataset *dataset, struct sprof_error *error)
{
    if (!dataset->all.samples && !dataset->counted.coverage.called)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                               "none of the probed functions was called: nothing is there that "
                               "could be shown in the order of time");
    return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                           "calls were counted, and not written down: what is shown in the order "
                           "of time needs the times of calls, which `sprof trace --mode log` "
                           "writes down, and `--keep` of those that a rule chooses");
}

int report_error_of_rows(const struct report_dataset *dataset, const char *what,
                         struct sprof_error *error)
{
    for (size_t i = 0; i < dataset->runs.count; i++)
        if (dataset->runs.items[i].source &&
            !strcmp(dataset->runs.items[i].source, MODEL_SOURCE_ROWS))
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "run %u was made of rows, which do not hold %s: see the "
                                   "recording on its host; function, module, call path, process, "
                                   "thread and window are here",
                                   dataset->runs.items[i].id, what);
    return 0;
}
