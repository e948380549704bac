/* Failed samples, unwound again: the mappings of the recording, the slices that were kept. */
#include "record/record.h"
#include "recording/recording.h"
#include "store/store.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

struct run_ids {
    uint32_t *items;
    size_t count, capacity;
};

struct replay {
    struct model_world world;
    struct record_images images;
    struct record_walk walk;
    struct sprof_arena arena;
    struct sprof_map thread_process; /* thread id → process id */
    SPROF_VEC(struct store_process) processes;
    size_t forks; /* how many of them are in the world */
    SPROF_VEC(struct store_module) modules;
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
    return row.build_id.data ? sprof_vec_push(&replay->modules, row) : SPROF_ENOMEM;
}

static const struct store_module *module_by_id(const struct replay *replay, uint32_t id)
{
    for (size_t i = 0; i < replay->modules.count; i++)
        if (replay->modules.items[i].id == id)
            return &replay->modules.items[i];
    return NULL;
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
    return process->parent_id
               ? model_world_fork(&replay->world, parent, parent, pid, pid, process->start_ns + 1)
               : 0;
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
    struct sprof_file_id identity = {.path = module->path,
                                      .build_id_size = (uint8_t)module->build_id.size};
    if (module->build_id.size > sizeof identity.build_id)
        return SPROF_EFORMAT;
    memcpy(identity.build_id, module->build_id.data, module->build_id.size);
    if (apply_forks_before(replay, mapping))
        return SPROF_ENOMEM;
    return model_world_map(&replay->world, replay_pid(mapping->process_id), mapping->start,
                           mapping->end - mapping->start, mapping->file_offset, &identity,
                           mapping->start_ns + 1);
}

static int load_thread(void *context, const struct store_thread *thread)
{
    struct replay *replay = context;
    return sprof_map_put(&replay->thread_process, thread->id, thread->process_id);
}

/* ---- One sample --------------------------------------------------------------------------------
 */

static int spell_frame(struct replay *replay, uint32_t frame_id, uint8_t found_by)
{
    const struct model_frame *frame = &replay->walk.stacks.frames.items[frame_id - 1];
    const struct model_module *module = model_world_module_by_id(&replay->world, frame->module);
    if (sprof_vec_push(&replay->line_starts, replay->text.length))
        return SPROF_ENOMEM;
    sprof_str_appendf(&replay->text, "%-6s %s+0x%lx",
                      model_found_by_text((enum model_found_by)found_by), module->name,
                      (unsigned long)frame->offset);
    return sprof_str_append_bytes(&replay->text, "", 1);
}

static int spell_stack(struct replay *replay)
{
    sprof_str_clear(&replay->text);
    replay->line_starts.count = replay->lines.count = 0;
    for (size_t i = 0; i < replay->walk.line.count; i++)
        if (spell_frame(replay, replay->walk.line.items[i], replay->walk.line_found_by.items[i]))
            return SPROF_ENOMEM;
    for (size_t i = 0; i < replay->line_starts.count; i++)
        if (sprof_vec_push(&replay->lines, replay->text.text + replay->line_starts.items[i]))
            return SPROF_ENOMEM;
    return 0;
}

static int walk_again(struct replay *replay, const struct model_process *process,
                      const struct model_sample *sample, uint64_t time_ns,
                      struct record_outcome *outcome)
{
    for (;;) {
        const int result = record_walk_sample(&replay->walk, process, sample, time_ns, outcome);
        if (result || outcome->end != MODEL_END_PENDING)
            return result;
        record_images_wait(&replay->images);
        record_images_collect(&replay->images);
    }
}

static int replay_one(void *context, const struct store_failed *failed)
{
    struct replay *replay = context;
    const uint64_t *process_id = sprof_map_get(&replay->thread_process, failed->thread_id);
    struct model_sample sample = {.register_count = ARCH_REGISTERS};
    if (!process_id || failed->registers.size != ARCH_REGISTERS * sizeof *sample.registers)
        return SPROF_EFORMAT;
    memcpy(sample.registers, failed->registers.data, failed->registers.size);
    sample.ip = sample.registers[ARCH_PC];
    sample.stack = failed->stack.data;
    sample.stack_size = failed->stack.size;
    const struct model_process *process =
        model_world_process(&replay->world, replay_pid((uint32_t)*process_id), 1);
    struct record_outcome outcome;
    if (!process || walk_again(replay, process, &sample, failed->time_ns + 1, &outcome) ||
        spell_stack(replay))
        return SPROF_ENOMEM;
    const struct record_replay row = {
        .id = failed->id,
        .was = model_end_text((enum model_end)failed->end_reason),
        .now = model_end_text(outcome.end),
        .frames = replay->lines.count,
        .stack = replay->lines.items,
    };
    return replay->report(replay->context, &row);
}

/* ---- All of them -------------------------------------------------------------------------------
 */

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
    static const struct model_view full = {.mode = MODEL_MODE_FULL};
    struct replay replay = {.report = report, .context = context};
    struct store *store;
    int result = store_open_read(&store, path, error);
    if (result)
        return result;
    result = record_images_init(&replay.images, TABLE_BYTES, NULL, error);
    if (!result && record_walk_init(&replay.walk, &replay.world, &replay.images, &full))
        result = sprof_error_memory(error);
    if (!result)
        result = load_and_replay(&replay, store, error);
    store_close(store, NULL);
    record_walk_release(&replay.walk);
    record_images_release(&replay.images);
    model_world_release(&replay.world);
    sprof_map_release(&replay.thread_process);
    sprof_vec_release(&replay.processes);
    sprof_vec_release(&replay.modules);
    sprof_vec_release(&replay.line_starts);
    sprof_vec_release(&replay.lines);
    sprof_str_release(&replay.text);
    sprof_arena_release(&replay.arena);
    return result;
}
