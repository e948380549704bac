/* Failed samples, unwound again: the mappings of the recording, the slices that were kept. */
#include "record/record.h"
#include "recording/recording.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct run_ids {
    uint32_t *items;
    size_t count, capacity;
};

struct replay {
    struct recording *recording;
    struct sprof_arena arena;
    struct sprof_map thread_process; /* thread id → process id */
    SPROF_VEC(struct store_process) processes;
    size_t forks; /* how many of them are in the process table */
    SPROF_VEC(struct store_module) modules;
    struct sprof_map module_index; /* id → position + 1 */
    int (*report)(void *, const struct record_replay *);
    void *context;
    struct sprof_str text;
    SPROF_VEC(size_t) line_starts;
    SPROF_VEC(const char *) lines;
};

static int load_module(void *context, const struct store_module *module)
{
    struct replay *replay = context;
    struct store_module row = *module;
    row.path = sprof_arena_text(&replay->arena, module->path);
    row.build_id.data = (const uint8_t *)sprof_arena_copy(
        &replay->arena, (const char *)module->build_id.data, module->build_id.size);
    if (!row.build_id.data || sprof_vec_push(&replay->modules, row))
        return SPROF_ENOMEM;
    return sprof_map_put(&replay->module_index, row.id, replay->modules.count);
}

static const struct store_module *module_by_id(const struct replay *replay, uint32_t id)
{
    const uint64_t *position = sprof_map_get(&replay->module_index, id);
    return position ? &replay->modules.items[*position - 1] : NULL;
}

/* Row ids stand in for process ids: they are unique where numbers of processes may be used again.
 * They begin where the kernel's end (PID_MAX_LIMIT), so that no process of today is asked for files
 * or memory. */
static int replay_pid(uint32_t process_id)
{
    enum { KERNEL_PID_LIMIT = 1 << 22 };
    return process_id < INT_MAX - KERNEL_PID_LIMIT ? KERNEL_PID_LIMIT + (int)process_id : 0;
}

static int load_process(void *context, const struct store_process *process)
{
    struct replay *replay = context;
    struct store_process row = *process;
    row.name = NULL; /* borrowed, and not needed */
    return sprof_vec_push(&replay->processes, row);
}

/* A forked process begins with the mappings that its parent has then. */
static int apply_fork(struct replay *replay)
{
    const struct store_process *process = &replay->processes.items[replay->forks++];
    const int pid = replay_pid(process->id), parent = replay_pid(process->parent_id);
    const struct model_record record = {.type = MODEL_RECORD_FORK,
                                        .time_ns = process->start_ns + 1,
                                        .pid = pid,
                                        .tid = pid,
                                        .fork = {parent, parent}};
    return process->parent_id ? recording_event(replay->recording, &record) : 0;
}

/* Both come in order of time. */
static int apply_forks_before(struct replay *replay, const struct store_mapping *mapping)
{
    int result = 0;
    while (!result && replay->forks < replay->processes.count) {
        const struct store_process *next = &replay->processes.items[replay->forks];
        if (next->id > mapping->process_id && next->start_ns >= mapping->start_ns)
            break;
        result = apply_fork(replay);
    }
    return result;
}

static int load_mapping(void *context, const struct store_mapping *mapping)
{
    struct replay *replay = context;
    const struct store_module *module = module_by_id(replay, mapping->module_id);
    if (!module || !module->path || !mapping->process_id)
        return 0;
    struct model_record record = {.type = MODEL_RECORD_MMAP,
                                  .time_ns = mapping->start_ns + 1,
                                  .pid = replay_pid(mapping->process_id),
                                  .mapping = {.address = mapping->start,
                                              .size = mapping->end - mapping->start,
                                              .file_offset = mapping->file_offset}};
    struct sprof_file_id *file = &record.mapping.file;
    if (module->build_id.size > sizeof file->build_id)
        return SPROF_EFORMAT;
    file->path = module->path;
    file->build_id_size = (uint8_t)module->build_id.size;
    memcpy(file->build_id, module->build_id.data, module->build_id.size);
    if (apply_forks_before(replay, mapping))
        return SPROF_ENOMEM;
    return recording_event(replay->recording, &record);
}

static int load_thread(void *context, const struct store_thread *thread)
{
    struct replay *replay = context;
    return sprof_map_put(&replay->thread_process, thread->id, thread->process_id);
}

/* == One sample == */

/* One text of all frames, cut into lines when it has stopped moving. */
static int spell_stack(struct replay *replay, const struct recording_walked *walked)
{
    sprof_str_clear(&replay->text);
    replay->line_starts.count = replay->lines.count = 0;
    for (size_t i = 0; i < walked->count; i++) {
        const struct recording_frame *frame = &walked->frames[i];
        if (sprof_vec_push(&replay->line_starts, replay->text.length))
            return SPROF_ENOMEM;
        sprof_str_appendf(&replay->text, "%-6s %s+0x%lx", model_found_by_text(frame->found_by),
                          frame->module->name, (unsigned long)frame->offset);
        if (sprof_str_append_bytes(&replay->text, "", 1))
            return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < replay->line_starts.count; i++)
        if (sprof_vec_push(&replay->lines, replay->text.text + replay->line_starts.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

static int replay_one(void *context, const struct store_failed *failed)
{
    struct replay *replay = context;
    const uint64_t *process_id = sprof_map_get(&replay->thread_process, failed->thread_id);
    struct model_record record = {.type = MODEL_RECORD_SAMPLE, .time_ns = failed->time_ns + 1};
    struct model_sample *sample = &record.sample;
    if (!process_id || failed->registers.size > sizeof sample->registers)
        return SPROF_EFORMAT;
    record.pid = record.tid = replay_pid((uint32_t)*process_id);
    memcpy(sample->registers, failed->registers.data, failed->registers.size);
    sample->register_count = (unsigned)(failed->registers.size / sizeof *sample->registers);
    sample->stack = failed->stack.data;
    sample->stack_size = failed->stack.size;
    struct recording_walked walked;
    const int result = recording_walk_only(replay->recording, &record, &walked);
    if (result)
        return result;
    if (spell_stack(replay, &walked))
        return SPROF_ENOMEM;
    const struct record_replay row = {
        .id = failed->id,
        .was = model_end_text((enum model_end)failed->end_reason),
        .now = model_end_text(walked.end),
        .frames = replay->lines.count,
        .stack = replay->lines.items,
    };
    return replay->report(replay->context, &row);
}

/* == All of them == */

static int replay_run(void *context, const struct store_run *run)
{
    return sprof_vec_push((struct run_ids *)context, run->id);
}

static int load_and_replay(struct replay *replay, struct store *store, struct sprof_error *error)
{
    struct run_ids runs = {0};
    int result = store_each_run(store, replay_run, &runs, error);
    if (!result)
        result = store_each_module(store, load_module, replay, error);
    for (size_t i = 0; i < runs.count && !result; i++) {
        result = store_each_process(store, runs.items[i], load_process, replay, error);
        if (!result)
            result = store_each_mapping(store, runs.items[i], load_mapping, replay, error);
        while (!result && replay->forks < replay->processes.count)
            result = apply_fork(replay);
        if (!result)
            result = store_each_thread(store, runs.items[i], load_thread, replay, error);
        if (!result)
            result = store_each_failed(store, runs.items[i], replay_one, replay, error);
    }
    sprof_vec_release(&runs);
    if (result == SPROF_EFORMAT && error && !error->message[0])
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "the recording is damaged: a kept sample does not fit its thread");
    return result;
}

int record_replay_failed(const char *path, int (*report)(void *, const struct record_replay *),
                         void *context, struct sprof_error *error)
{
    enum { TABLE_BYTES = 256 << 20 };
    const struct recording_options options = {
        .view = {.mode = MODEL_MODE_FULL}, .no_cache = true, .table_budget_bytes = TABLE_BYTES};
    struct replay replay = {.report = report, .context = context};
    struct store *store;
    int result = store_open_read(&store, path, error);
    if (result)
        return result;
    result = recording_open(&replay.recording, &options, error);
    if (!result)
        result = load_and_replay(&replay, store, error);
    store_close(store, NULL);
    recording_free(replay.recording);
    sprof_map_release(&replay.module_index);
    sprof_map_release(&replay.thread_process);
    sprof_vec_release(&replay.processes);
    sprof_vec_release(&replay.modules);
    sprof_vec_release(&replay.line_starts);
    sprof_vec_release(&replay.lines);
    sprof_str_release(&replay.text);
    sprof_arena_release(&replay.arena);
    return result;
}
