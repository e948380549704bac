/* From the session's state to database rows: whatever is new or changed since the last batch. */
#include "record/session.h"

static uint64_t run_time(const struct record_session *session, uint64_t time_ns)
{
    return time_ns > session->start_ns ? time_ns - session->start_ns : 0;
}

static int process_rows(struct record_session *session, struct store_batch *batch)
{
    for (size_t i = 0; i < session->world.processes.count; i++) {
        struct model_process *process = session->world.processes.items[i];
        if (!process->dirty)
            continue;
        const struct store_process row = {
            .id = process->id,
            .run_id = session->run.id,
            .parent_id = process->parent,
            .pid = process->pid,
            .start_ns = run_time(session, process->start_ns),
            .end_ns = run_time(session, process->end_ns),
            .name = process->name,
            .command = process->command,
        };
        if (sprof_vec_push(&batch->processes, row))
            return SPROF_ENOMEM;
        process->dirty = false;
    }
    return 0;
}

static int thread_rows(struct record_session *session, struct store_batch *batch)
{
    for (size_t i = 0; i < session->world.threads.count; i++) {
        struct model_thread *thread = session->world.threads.items[i];
        if (!thread->dirty)
            continue;
        const struct store_thread row = {
            .id = thread->id,
            .process_id = thread->process,
            .tid = thread->tid,
            .start_ns = run_time(session, thread->start_ns),
            .end_ns = run_time(session, thread->end_ns),
            .name = thread->name,
            .cpu_time_ns = thread->cpu_time_ns,
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
    const struct record_image *image = module->owner;
    const bool settled =
        image && atomic_load_explicit(&image->state, memory_order_acquire) != RECORD_IMAGE_WAITING;
    if (!settled)
        return row;
    row.key = image->key;
    row.problem = image->problem[0] ? sprof_arena_text(arena, image->problem) : NULL;
    if (image->build_id_size)
        row.build_id = (struct sprof_bytes){image->build_id, image->build_id_size};
    return row;
}

static int module_rows(struct record_session *session, struct store_batch *batch)
{
    struct sprof_arena *arena = &record_writer_batch(&session->writer)->arena;
    for (size_t i = 0; i < session->world.modules.count; i++) {
        struct model_module *module = session->world.modules.items[i];
        if (!module->dirty)
            continue;
        if (sprof_vec_push(&batch->modules, module_row(module, arena)))
            return SPROF_ENOMEM;
        module->dirty = false;
    }
    return 0;
}

static int mapping_rows(struct record_session *session, struct store_batch *batch, size_t from)
{
    for (size_t i = from; i < session->world.mappings.count; i++) {
        const struct model_mapping *mapping = session->world.mappings.items[i];
        const struct store_mapping row = {
            .id = mapping->id,
            .process_id = mapping->process,
            .module_id = mapping->module,
            .start = mapping->start,
            .end = mapping->end,
            .file_offset = mapping->file_offset,
            .start_ns = run_time(session, mapping->start_ns),
            .end_ns = run_time(session, mapping->end_ns),
        };
        if (sprof_vec_push(&batch->mappings, row))
            return SPROF_ENOMEM;
    }
    session->flushed_mappings = session->world.mappings.count;
    return 0;
}

static int frame_rows(struct record_session *session, struct store_batch *batch)
{
    const struct model_stacks *stacks = &session->walk.stacks;
    for (; session->flushed_frames < stacks->frames.count; session->flushed_frames++) {
        const struct model_frame *frame = &stacks->frames.items[session->flushed_frames];
        const struct store_frame row = {
            .id = frame->id, .module_id = frame->module, .file_offset = frame->offset};
        if (sprof_vec_push(&batch->frames, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int node_rows(struct record_session *session, struct store_batch *batch)
{
    const struct model_stacks *stacks = &session->walk.stacks;
    for (; session->flushed_nodes < stacks->nodes.count; session->flushed_nodes++) {
        const struct model_node *node = &stacks->nodes.items[session->flushed_nodes];
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

int record_phase_row(struct record_session *session, struct store_batch *batch, bool ended)
{
    const struct store_run *run = &session->run;
    const struct store_phase row = {
        .id = session->phase,
        .run_id = run->id,
        .end_ns = ended ? session->ledger.last_time_ns : 0,
        .mode = run->mode,
        .frame = run->frame,
        .app_interior = run->app_interior,
        .frequency_hz = run->frequency_hz,
        .stack_bytes = run->stack_bytes,
    };
    return sprof_vec_push(&batch->phases, row);
}

int record_collect_rows(struct record_session *session, bool last)
{
    struct store_batch *batch = &record_writer_batch(&session->writer)->rows;
    /* Mappings end without a record of their own: the last batch writes them all again. */
    const size_t first_mapping = last ? 0 : session->flushed_mappings;
    if (process_rows(session, batch) || thread_rows(session, batch) ||
        module_rows(session, batch) || mapping_rows(session, batch, first_mapping) ||
        frame_rows(session, batch) || node_rows(session, batch) ||
        record_ledger_rows(&session->ledger, batch))
        return SPROF_ENOMEM;
    return last ? record_phase_row(session, batch, true) || record_counter_rows(session, batch) : 0;
}

int record_counter_rows(struct record_session *session, struct store_batch *batch)
{
    const struct unwind_counters unwind = unwind_walker_counters(session->walk.walker);
    const struct sampler_counters sampler = sampler_counters(session->sampler);
    const struct record_images *images = &session->images;
    const struct {
        const char *name;
        uint64_t value;
    } counters[] = {
        {"unwind.walks", unwind.walks},
        {"unwind.frames", unwind.frames},
        {"unwind.ns", session->walk.walk_ns},
        {"unwind.cache_hits", unwind.cache_hits},
        {"unwind.cache_misses", unwind.cache_misses},
        {"unwind.complex_rows", unwind.complex_rows},
        {"unwind.complex_failed", unwind.complex_failed},
        {"unwind.plt_frames", unwind.plt_frames},
        {"unwind.leaf_frames", unwind.leaf_frames},
        {"unwind.signal_frames", unwind.signal_frames},
        {"unwind.frame_pointer_frames", unwind.fp_frames},
        {"unwind.scanned_frames", unwind.scan_frames},
        {"unwind.live_reads", unwind.live_reads},
        {"unwind.live_bytes", unwind.live_bytes},
        {"tables.built", images->builds},
        {"tables.built_rows", images->built_rows},
        {"tables.build_ns", images->build_ns},
        {"tables.evicted", images->evictions},
        {"tables.bytes", images->table_bytes},
        {"samples.waited", session->waited},
        {"samples.waited_bytes_most", session->pending.most_bytes},
        {"samples.waited_tails_dropped", session->pending.dropped_tails},
        {"samples.delayed", session->delayed},
        {"sampler.records", sampler.records},
        {"sampler.foreign_samples", sampler.foreign_samples},
        {"sampler.copied_records", sampler.copied_records},
        {"sampler.late_records", sampler.late_records},
        {"sampler.unknown_records", sampler.unknown_records},
        {"sampler.bytes", sampler.bytes},
        {"agent.programs", sampler.agents},
        {"agent.standing_back", sampler.agents_standing_back},
        {"agent.unsampled_threads", sampler.unsampled_threads},
        {"sampler.tails", sampler.rests},
        {"sampler.tails_with_sample", sampler.exact_rests},
        {"sampler.tails_dropped", sampler.tails_dropped},
        {"not_sampled.cpu_ns", session->ledger.unsampled_ns},
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        const struct store_counter row = {session->run.id, counters[i].name, counters[i].value};
        if (sprof_vec_push(&batch->counters, row))
            return SPROF_ENOMEM;
    }
    return 0;
}
