/* The executable mappings a process has at this moment. */
#include "sampler/snapshot.h"

int sampler_each_mapping(pid_t pid, int (*mapping)(void *, const struct model_mmap *),
                         void *context)
{
    struct snapshot snapshot = {0};
    const struct model_record *record;
    int result = snapshot_add_process(&snapshot, pid, 0);
    while (!result && (record = snapshot_next(&snapshot)))
        if (record->type == MODEL_RECORD_MMAP)
            result = mapping(context, &record->mapping);
    snapshot_release(&snapshot);
    return result;
}
