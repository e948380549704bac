/* Reads where processes belonged: their users, cgroups and containers. */
#include "report/dataset_parts.h"
#include "report/utf8_text.h"

#include <inttypes.h>

/* `*text` stays where there is nothing to put in its place. */
static int take_text(struct report_dataset *dataset, const char **text, const char *found)
{
    const char *copy = found ? report_utf8_copy(&dataset->arena, found) : *text;
    *text = copy;
    return copy ? 0 : SPROF_ENOMEM;
}

static const char *number_text(struct report_dataset *dataset, uint32_t uid)
{
    struct sprof_str text = {0};
    sprof_str_appendf(&text, "%" PRIu32, uid);
    return report_utf8_keep(&dataset->arena, &text);
}

static int take_origin(void *context, const struct store_process_origin *row)
{
    struct report_dataset *dataset = context;
    const uint32_t number = report_dataset_number(&dataset->numbers.processes, row->process_id);
    if (!number)
        return SPROF_EFORMAT;
    struct report_process *process = &dataset->processes.items[number - 1];
    process->container = row->cgroup || row->container ? "none" : process->container;
    if (!row->user && row->uid != UINT32_MAX && !(process->user = number_text(dataset, row->uid)))
        return SPROF_ENOMEM;
    return take_text(dataset, &process->user, row->user) ||
                   take_text(dataset, &process->cgroup, row->cgroup) ||
                   take_text(dataset, &process->container, row->container)
               ? SPROF_ENOMEM
               : 0;
}

int report_dataset_load_origins(struct report_dataset *dataset, struct store *store,
                                uint32_t run_id, struct sprof_error *error)
{
    return store_each_process_origin(store, run_id, take_origin, dataset, error);
}
