/* From what happened to processes to the table of processes, threads and mappings. */
#include "recording/parts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int recording_ask_owner(struct recording *recording, pid_t pid, const char *dump, uint64_t time_ns)
{
    const bool known = recording_jit_owners_has(&recording->jit_owners, pid);
    if (known && !dump)
        return 0;
    const struct model_process *process =
        model_process_table_process(&recording->process_table, pid, time_ns);
    const struct recording_jit_owner not_yet = {
        .uid = geteuid(), .ns_pid = pid, .map = -1, .dump = -1};
    if (!process || (!known && recording_jit_owners_note(&recording->jit_owners, pid, &not_yet)))
        return SPROF_ENOMEM;
    return recording_lookups_ask(&recording->lookups, dump ? RECORDING_DUMP : RECORDING_OWNER,
                                 process, dump, time_ns);
}

/* "…/jit-NUMBER.dump" */
static bool is_jitdump(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int end = 0;
    if (strncmp(name, "jit-", 4) != 0) /* nearly all: each mapping comes here */
        return false;
    return sscanf(name, "jit-%*[0-9].dump%n", &end) == 0 && end && !name[end];
}

/* A perf map may be written later than the code: it is waited for. */
static int take_owner(struct recording *recording, struct recording_lookup *lookup)
{
    const bool has_map = lookup->owner.map >= 0;
    const int result =
        recording_jit_owners_note(&recording->jit_owners, lookup->pid, &lookup->owner);
    lookup->owner.map = lookup->owner.dump = -1;
    if (result || has_map || lookup->question != RECORDING_OWNER)
        return result;
    return recording_lookups_ask(&recording->lookups, RECORDING_MAP,
                                 recording_process(recording, lookup->process), NULL,
                                 lookup->time_ns);
}

static int apply_mapping(struct recording *recording, const struct model_record *record)
{
    const struct model_mmap *mapping = &record->mapping;
    if (record->pid == -1 && strcmp(mapping->file.path, MODEL_MODULE_KERNEL) == 0)
        recording->walk.kernel_start = mapping->address - mapping->file_offset;
    const bool is_dump = is_jitdump(mapping->file.path);
    if (record->pid > 0 && (is_dump || strncmp(mapping->file.path, "//anon", 6) == 0) &&
        recording_ask_owner(recording, record->pid, is_dump ? mapping->file.path : NULL,
                            record->time_ns))
        return SPROF_ENOMEM;
    return model_process_table_map(&recording->process_table, record->pid, mapping->address,
                                   mapping->size, mapping->file_offset, &mapping->file,
                                   record->time_ns);
}

/* After an exec, the arguments that a fork inherited are those of another program. */
static int apply_comm(struct recording *recording, const struct model_record *record)
{
    struct model_process_table *table = &recording->process_table;
    const bool is_new = record->comm.exec || (record->before_start && record->pid == record->tid);
    if (model_process_table_comm(table, record->pid, record->tid, record->comm.name,
                                 record->comm.exec, record->time_ns))
        return SPROF_ENOMEM;
    if (!is_new)
        return 0;
    struct model_process *process =
        model_process_table_process(table, record->pid, record->time_ns);
    if (!process)
        return SPROF_ENOMEM;
    process->command = NULL;
    if (recording_note_user(recording, process))
        return SPROF_ENOMEM;
    return recording_lookups_ask(&recording->lookups, RECORDING_COMMAND, process, NULL,
                                 record->time_ns);
}

static int apply_fork(struct recording *recording, const struct model_record *record)
{
    /* The process that once forked an attached one is no part of the recording. */
    if (record->before_start &&
        !sprof_map_get(&recording->process_table.live_processes, (uint64_t)record->fork.parent_pid))
        return model_process_table_thread(&recording->process_table, record->pid, record->tid,
                                          record->time_ns)
                   ? 0
                   : SPROF_ENOMEM;
    return model_process_table_fork(&recording->process_table, record->fork.parent_pid,
                                    record->fork.parent_tid, record->pid, record->tid,
                                    record->time_ns);
}

int recording_event(struct recording *recording, const struct model_record *record)
{
    switch (record->type) {
    case MODEL_RECORD_MMAP: return apply_mapping(recording, record);
    case MODEL_RECORD_COMM: return apply_comm(recording, record);
    case MODEL_RECORD_FORK: return apply_fork(recording, record);
    case MODEL_RECORD_EXIT:
        return model_process_table_exit(&recording->process_table, record->pid, record->tid,
                                        record->time_ns);
    case MODEL_RECORD_CPU_TIME:
        return model_process_table_cpu_time(&recording->process_table, record->pid, record->tid,
                                            record->cpu_time.cpu_time_ns, record->time_ns);
    default: assert(!"a record of a process"); return 0;
    }
}

int recording_replace_process(struct recording *recording, pid_t pid, uint64_t time_ns)
{
    return model_process_table_replace(&recording->process_table, pid, time_ns);
}

/* == What /proc has answered == */

/* Processes that were forked since have inherited no command yet. */
static int set_command(struct recording *recording, const struct recording_lookup *lookup)
{
    const struct model_process_table *table = &recording->process_table;
    const char *command = sprof_arena_text(&recording->arena, lookup->command);
    struct model_process *process = recording_process(recording, lookup->process);
    if (lookup->has_origin && recording_set_origin(recording, process, &lookup->origin))
        return SPROF_ENOMEM;
    if (!command)
        return lookup->command ? SPROF_ENOMEM : 0;
    process->command = command;
    process->dirty = true;
    for (size_t i = process->id - table->first_process; i < table->processes.count; i++) {
        struct model_process *heir = table->processes.items[i];
        if (heir->command || heir->space.exec_ns || !heir->parent ||
            recording_process(recording, heir->parent)->command != command)
            continue;
        heir->command = command;
        heir->dirty = true;
    }
    return 0;
}

/* Whether all of a mapping is known, if perhaps as part of a larger one. */
static bool is_known(const struct model_process_table *table, const struct model_process *process,
                     const struct model_mmap *mapping)
{
    const struct model_mapping *known =
        model_process_table_find(table, process, mapping->address, 0);
    return known && known->end - mapping->address >= mapping->size;
}

static int add_mappings(struct recording *recording, const struct recording_lookup *lookup)
{
    struct model_process_table *table = &recording->process_table;
    const struct model_process *process = recording_process(recording, lookup->process);
    bool changed = false;
    for (size_t i = 0; i < lookup->mappings.count; i++) {
        const struct model_mmap *mapping = &lookup->mappings.items[i];
        if (is_known(table, process, mapping))
            continue;
        changed = true;
        if (model_process_table_map(table, lookup->pid, mapping->address, mapping->size,
                                    mapping->file_offset, &mapping->file, lookup->time_ns))
            return SPROF_ENOMEM;
    }
    return recording_lookups_note_mappings(&recording->lookups, lookup, changed);
}

int recording_apply_lookups(struct recording *recording)
{
    int count = 0, result = 0;
    for (struct recording_lookup *lookup;
         !result && (lookup = recording_lookups_next(&recording->lookups)); count++) {
        switch (lookup->question) {
        case RECORDING_COMMAND: result = set_command(recording, lookup); break;
        case RECORDING_OWNER:
        case RECORDING_DUMP:
        case RECORDING_MAP: result = take_owner(recording, lookup); break;
        case RECORDING_MAPPINGS: result = add_mappings(recording, lookup); break;
        }
        recording_lookup_free(lookup);
    }
    return result ? result : count;
}

struct model_thread *recording_thread(struct recording *recording, pid_t pid, pid_t tid,
                                      const char *name, uint64_t time_ns)
{
    if (model_process_table_comm(&recording->process_table, pid, tid, name, false, time_ns))
        return NULL;
    return model_process_table_thread(&recording->process_table, pid, tid, time_ns);
}
