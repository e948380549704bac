/* Lists the executable mappings a process has at this moment. */
#include "target/snapshot.h"

int target_each_mapping(pid_t pid, int (*mapping)(void *, const struct model_mmap *), void *context)
{
    struct target_snapshot snapshot = {0};
    const struct model_record *record;
    int result = target_snapshot_mappings(&snapshot, pid, 0);
    while (!result && (record = target_snapshot_next(&snapshot)))
        result = mapping(context, &record->mapping);
    target_snapshot_release(&snapshot);
    return result;
}
