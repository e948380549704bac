/* From the recording's state to database rows: whatever is new or changed since the last batch. */
#include "recording/parts.h"

/* Whether a process has rows. It may have none now, and have some later. */
static bool is_kept(const struct recording *recording, uint32_t process)
{
    return !recording->options.only_sampled || sprof_map_get(&recording->kept_processes, process);
}

/* A process that has samples by now is kept, and so are those that it descends from. */
static int keep_sampled(struct recording *recording)
{
    const struct model_process_table *table = &recording->process_table;
    if (!recording->options.only_sampled)
        return 0;
    for (size_t i = 0; i < table->processes.count; i++) {
        const struct model_process *process = table->processes.items[i];
        while (process->sampled || process != table->processes.items[i]) {
            if (is_kept(recording, process->id))
                break;
            if (sprof_map_put(&recording->kept_processes, process->id, 1))
                return SPROF_ENOMEM;
            if (!process->parent)
                break;
            process = recording_process(recording, process->parent);
        }
    }
    return 0;
}

static int process_rows(struct recording *recording, struct store_batch *batch)
{
    for (size_t i = 0; i < recording->process_table.processes.count; i++) {
        struct model_process *process = recording->process_table.processes.items[i];
        if (!process->dirty || !is_kept(recording, process->id))
            continue;
        const struct store_process row = {
            .id = process->id,
            .run_id = recording->run.id,
            .parent_id = process->parent,
            .pid = process->pid,
            .start_ns = recording_time(recording, process->start_ns),
            .end_ns = recording_time(recording, process->end_ns),
            .name = process->name,
            .command = process->command,
        };
        if (sprof_vec_push(&batch->processes, row) || recording_origin_row(process, batch))
            return SPROF_ENOMEM;
        process->dirty = false;
    }
    return 0;
}

static int thread_rows(struct recording *recording, struct store_batch *batch)
{
    for (size_t i = 0; i < recording->process_table.threads.count; i++) {
        struct model_thread *thread = recording->process_table.threads.items[i];
        if (!thread->dirty || !is_kept(recording, thread->process))
            continue;
        const uint64_t cpu_time_ns = model_process_table_own_cpu_ns(
            &recording->process_table, thread, recording->weights_are_time);
        const struct store_thread row = {
            .id = thread->id,
            .process_id = thread->process,
            .tid = thread->tid,
            .start_ns = recording_time(recording, thread->start_ns),
            .end_ns = recording_time(recording, thread->end_ns),
            .name = thread->name,
            .cpu_time_ns = cpu_time_ns,
            .samples = thread->samples,
            .cpu_time_known = thread->cpu_time_ns > 0,
        };
        if (sprof_vec_push(&batch->threads, row))
            return SPROF_ENOMEM;
        thread->dirty = false;
    }
    return 0;
}

/* The builder may find another problem when it opens the image again, while the row is being
 * written: the text is copied. */
static struct store_module module_row(const struct model_module *module, struct sprof_arena *arena)
{
    struct store_module row = {
        .id = module->id,
        .path = module->identity.path,
        .name = module->name,
        .build_id = {module->identity.build_id, module->identity.build_id_size},
        .kind = module->kind,
        .main_executable = module->main_executable,
        .process_id = module->process,
    };
    const struct recording_image *image = module->owner;
    if (!image || !recording_image_settled(image))
        return row;
    row.key = image->key;
    row.problem = image->problem[0] ? sprof_arena_text(arena, image->problem) : NULL;
    if (image->build_id_size)
        row.build_id = (struct sprof_bytes){image->build_id, image->build_id_size};
    return row;
}

static int module_rows(struct recording *recording, struct store_batch *batch)
{
    struct sprof_arena *arena = &recording_writer_batch(&recording->writer)->arena;
    for (size_t i = 0; i < recording->process_table.modules.count; i++) {
        struct model_module *module = recording->process_table.modules.items[i];
        if (!module->dirty || (module->process && !is_kept(recording, module->process)))
            continue;
        if (sprof_vec_push(&batch->modules, module_row(module, arena)))
            return SPROF_ENOMEM;
        module->dirty = false;
    }
    return 0;
}

static int mapping_rows(struct recording *recording, struct store_batch *batch, size_t from)
{
    for (size_t i = from; i < recording->process_table.mappings.rows.count; i++) {
        const struct model_mapping *mapping = recording->process_table.mappings.rows.items[i];
        if (mapping->process && !is_kept(recording, mapping->process))
            continue;
        const struct store_mapping row = {
            .id = mapping->id,
            .process_id = mapping->process,
            .module_id = mapping->module,
            .start = mapping->start,
            .end = mapping->end,
            .file_offset = mapping->file_offset,
            .start_ns = recording_time(recording, mapping->start_ns),
            .end_ns = recording_time(recording, mapping->end_ns),
        };
        if (sprof_vec_push(&batch->mappings, row))
            return SPROF_ENOMEM;
    }
    recording->flushed_mappings = recording->process_table.mappings.rows.count;
    return 0;
}

static int frame_rows(struct recording *recording, struct store_batch *batch)
{
    const struct model_stacks *stacks = &recording->walk.stacks;
    for (; recording->flushed_frames < stacks->frames.count; recording->flushed_frames++) {
        const struct model_frame *frame = &stacks->frames.items[recording->flushed_frames];
        const struct store_frame row = {
            .id = frame->id, .module_id = frame->module, .file_offset = frame->offset};
        if (sprof_vec_push(&batch->frames, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int node_rows(struct recording *recording, struct store_batch *batch)
{
    const struct model_stacks *stacks = &recording->walk.stacks;
    for (; recording->flushed_nodes < stacks->nodes.count; recording->flushed_nodes++) {
        const struct model_node *node = &stacks->nodes.items[recording->flushed_nodes];
        const struct store_node row = {
            .id = node->id,
            .parent_id = node->parent,
            .frame_id = node->frame,
            .depth = node->depth,
            .found_by = node->found_by,
            .guessed = node->guessed,
        };
        if (sprof_vec_push(&batch->nodes, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

int recording_collect_rows(struct recording *recording, bool last)
{
    struct store_batch *batch = recording_batch(recording);
    /* Mappings end without a record of their own: the last batch writes them all again. */
    const size_t first_mapping = last ? 0 : recording->flushed_mappings;
    return recording_add_unknown_user(recording) || keep_sampled(recording) ||
                   process_rows(recording, batch) || thread_rows(recording, batch) ||
                   module_rows(recording, batch) || mapping_rows(recording, batch, first_mapping) ||
                   frame_rows(recording, batch) || node_rows(recording, batch)
               ? SPROF_ENOMEM
               : 0;
}

struct store_batch *recording_batch(struct recording *recording)
{
    return &recording_writer_batch(&recording->writer)->rows;
}
