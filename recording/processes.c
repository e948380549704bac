/* From what happened to processes to the table of processes, threads and mappings. */
#include "recording/parts.h"

#include <assert.h>

static int apply_mapping(struct recording *recording, const struct model_record *record)
{
    const struct model_mmap *mapping = &record->mapping;
    if (record->pid == -1 && strcmp(mapping->file.path, MODEL_MODULE_KERNEL) == 0)
        recording->walk.kernel_start = mapping->address - mapping->file_offset;
    if (record->pid > 0 && strncmp(mapping->file.path, "//anon", 6) == 0 &&
        record_jit_owners_note(&recording->jit_owners, record->pid))
        return SPROF_ENOMEM;
    return model_world_map(&recording->world, record->pid, mapping->address, mapping->size,
                           mapping->file_offset, &mapping->file, record->time_ns);
}

static int apply_comm(struct recording *recording, const struct model_record *record)
{
    const bool is_new = record->comm.exec || (record->before_start && record->pid == record->tid);
    struct model_process *process =
        is_new ? model_world_process(&recording->world, record->pid, record->time_ns) : NULL;
    if (process)
        process->command = sprof_command_of_process(&recording->arena, record->pid);
    return model_world_comm(&recording->world, record->pid, record->tid, record->comm.name,
                            record->comm.exec, record->time_ns);
}

static int apply_fork(struct recording *recording, const struct model_record *record)
{
    /* Who once forked a process that is attached to is no part of the recording. */
    if (record->before_start &&
        !sprof_map_get(&recording->world.live_processes, (uint64_t)record->fork.parent_pid))
        return model_world_thread(&recording->world, record->pid, record->tid, record->time_ns)
                   ? 0
                   : SPROF_ENOMEM;
    return model_world_fork(&recording->world, record->fork.parent_pid, record->fork.parent_tid,
                            record->pid, record->tid, record->time_ns);
}

int recording_event(struct recording *recording, const struct model_record *record)
{
    switch (record->type) {
    case MODEL_RECORD_MMAP: return apply_mapping(recording, record);
    case MODEL_RECORD_COMM: return apply_comm(recording, record);
    case MODEL_RECORD_FORK: return apply_fork(recording, record);
    case MODEL_RECORD_EXIT:
        return model_world_exit(&recording->world, record->pid, record->tid, record->time_ns);
    case MODEL_RECORD_CPU_TIME:
        return model_world_cpu_time(&recording->world, record->pid, record->tid,
                                    record->cpu_time.cpu_time_ns, record->time_ns);
    default: assert(!"a record of a process"); return 0;
    }
}

struct model_thread *recording_thread(struct recording *recording, pid_t pid, pid_t tid,
                                      const char *name, uint64_t time_ns)
{
    if (model_world_comm(&recording->world, pid, tid, name, false, time_ns))
        return NULL;
    return model_world_thread(&recording->world, pid, tid, time_ns);
}
