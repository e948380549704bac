/* From captured samples to sample rows: at once, or when the tables that a stack needs are built.
 */
#include "recording/parts.h"
#include "target/target.h"

#include <unistd.h>

/* == A sample that was walked == */

static int keep_failed(struct recording *recording, const struct record_pending_sample *taken,
                       const struct record_outcome *outcome)
{
    const struct model_sample *sample = &taken->sample;
    struct record_filled *batch = record_writer_batch(&recording->writer);
    const size_t register_bytes = sample->register_count * sizeof *sample->registers;
    uint8_t *copy = sprof_arena_alloc(&batch->arena, register_bytes + sample->stack_size);
    if (!copy)
        return SPROF_ENOMEM;
    memcpy(copy, sample->registers, register_bytes);
    if (sample->stack_size)
        memcpy(copy + register_bytes, sample->stack, sample->stack_size);
    const struct store_failed row = {
        .run_id = recording->run.id,
        .thread_id = taken->thread->id,
        .time_ns = recording_time(recording, taken->time_ns),
        .end_reason = (uint8_t)outcome->end,
        .registers = {copy, register_bytes},
        .stack = {copy + register_bytes, sample->stack_size},
    };
    return sprof_vec_push(&batch->rows.failed, row);
}

static int add_row(struct recording *recording, const struct record_pending_sample *taken,
                   const struct record_outcome *outcome)
{
    const struct store_sample row = {
        .run_id = recording->run.id,
        .event_id = taken->event,
        .thread_id = taken->thread->id,
        .node_id = outcome->node,
        .time_ns = recording_time(recording, taken->time_ns),
        .weight = taken->sample.weight,
        .count = 1,
        .cpu = taken->cpu,
        .end_reason = (uint8_t)outcome->end,
        .stitched = outcome->stitched,
        .user_stack = outcome->user_stack,
    };
    if (sprof_vec_push(&recording_batch(recording)->samples, row))
        return SPROF_ENOMEM;
    taken->thread->samples++;
    taken->thread->sampled_weight += row.weight;
    taken->thread->dirty = true;
    const bool has_registers = outcome->user_stack && taken->sample.register_count;
    const bool whole = outcome->end == MODEL_END_ROOT && !outcome->guessed;
    if (recording->options.keep_failed && has_registers && !whole &&
        keep_failed(recording, taken, outcome))
        return SPROF_ENOMEM;
    const struct recording_sampled sampled = {
        .event = taken->event,
        .time_ns = row.time_ns,
        .weight = row.weight,
        .tid = taken->thread->tid,
        .has_extent = has_registers,
        .stack_pointer = has_registers ? taken->sample.registers[ARCH_SP] : 0,
        .extent = outcome->extent,
    };
    return recording->options.sampled
               ? recording->options.sampled(recording->options.context, &sampled)
               : 0;
}

/* == Code in no known mapping == */

struct rescan {
    struct model_world *world;
    struct model_process *process;
    uint64_t time_ns;
    bool changed;
};

static int add_missing(void *context, const struct model_mmap *mapping)
{
    struct rescan *rescan = context;
    if (model_world_find(rescan->world, rescan->process, mapping->address))
        return 0;
    rescan->changed = true;
    return model_world_map(rescan->world, rescan->process->pid, mapping->address, mapping->size,
                           mapping->file_offset, &mapping->file, rescan->time_ns);
}

/* When /proc may be asked about a process again: 10 ms after the last time, longer where it knew
 * nothing new, up to 40 ms: code that was not executable a moment ago may be now. */
enum { RESCAN_NS = 10000000, RESCAN_DOUBLINGS = 2 };

static uint64_t next_rescan(uint64_t time_ns, uint64_t doublings)
{
    return ((time_ns + ((uint64_t)RESCAN_NS << doublings)) & ~UINT64_C(15)) | doublings;
}

/* What /proc says now may be newer than what the records told. */
static int rescan_mappings(struct recording *recording, struct model_process *process,
                           uint64_t time_ns, bool *changed)
{
    *changed = false;
    const uint64_t *known = sprof_map_get(&recording->next_rescan, process->id);
    const uint64_t due = known ? *known : 0, doublings = due & 15;
    if (time_ns < due)
        return 0;
    struct rescan rescan = {&recording->world, process, time_ns, false};
    if (target_each_mapping(process->pid, add_missing, &rescan))
        return SPROF_ENOMEM;
    *changed = rescan.changed;
    const uint64_t more = doublings < RESCAN_DOUBLINGS ? doublings + 1 : doublings;
    return sprof_map_put(&recording->next_rescan, process->id,
                         next_rescan(time_ns, rescan.changed ? 0 : more));
}

/* == Samples as they come, and again == */

int recording_sample(struct recording *recording, const struct model_record *record, uint32_t event)
{
    struct model_process *process =
        model_world_process(&recording->world, record->pid, record->time_ns);
    struct model_thread *thread =
        model_world_thread(&recording->world, record->pid, record->tid, record->time_ns);
    if (!process || !thread)
        return SPROF_ENOMEM;
    if (record->time_ns < recording->first_ns) {
        recording->delayed++;
        return 0;
    }
    struct record_outcome outcome;
    if (record_walk_sample(&recording->walk, process, &record->sample, 0, &outcome))
        return SPROF_ENOMEM;
    bool changed = false;
    if (outcome.unknown_code && outcome.end != MODEL_END_PENDING &&
        rescan_mappings(recording, process, record->time_ns, &changed))
        return SPROF_ENOMEM;
    if (changed && record_walk_sample(&recording->walk, process, &record->sample, 0, &outcome))
        return SPROF_ENOMEM;
    const struct record_pending_sample taken = {.sample = record->sample,
                                                .process = process,
                                                .thread = thread,
                                                .event = event,
                                                .time_ns = record->time_ns,
                                                .cpu = record->cpu};
    if (outcome.end != MODEL_END_PENDING)
        return add_row(recording, &taken, &outcome);
    recording->waited++;
    return record_pending_add(&recording->pending, &taken);
}

static int retry_sample(void *context, const struct record_pending_sample *waiting)
{
    struct recording *recording = context;
    struct record_outcome outcome;
    if (record_walk_sample(&recording->walk, waiting->process, &waiting->sample, waiting->time_ns,
                           &outcome))
        return SPROF_ENOMEM;
    return outcome.end == MODEL_END_PENDING ? 1 : add_row(recording, waiting, &outcome);
}

int recording_collect(struct recording *recording)
{
    if (!record_images_collect(&recording->images))
        return 0;
    return record_pending_retry(&recording->pending, retry_sample, recording);
}

int recording_collect_fd(const struct recording *recording)
{
    return recording->images.done_fd;
}

size_t recording_waiting_bytes(const struct recording *recording)
{
    return recording->pending.bytes;
}

/* Without the tables that are not there: code without one is walked by frame pointers, and marked. */
static int settle_now(struct recording *recording)
{
    recording->walk.spaces.hurried = true;
    return record_pending_retry(&recording->pending, retry_sample, recording);
}

int recording_settle(struct recording *recording, size_t bytes)
{
    int result = recording_collect(recording);
    /* Images that nobody waits for any more are opened to the end, too: names come from them. */
    while (!result && (bytes ? recording->pending.bytes > bytes : recording->images.waiting > 0)) {
        if (atomic_load(&recording->hurried))
            return settle_now(recording);
        record_images_wait(&recording->images);
        result = recording_collect(recording);
    }
    return result;
}

bool recording_hurry(struct recording *recording)
{
    if (atomic_load(&recording->written))
        return false;
    atomic_store(&recording->hurried, true);
    record_images_wake(&recording->images);
    return true;
}

bool recording_hurried(const struct recording *recording)
{
    return atomic_load(&recording->hurried);
}

/* == Rows without a captured stack == */

int recording_child(struct recording *recording, uint32_t parent, const char *name, uint64_t offset,
                    uint32_t *node)
{
    const struct sprof_file_id identity = {.path = name};
    const bool in_kernel = strncmp(name, "[kernel", 7) == 0;
    const struct model_module *module =
        model_world_module(&recording->world, &identity, in_kernel, 0);
    return module ? record_walk_child(&recording->walk, parent, module->id, offset, node)
                  : SPROF_ENOMEM;
}

int recording_pseudo(struct recording *recording, enum model_pseudo which, uint32_t *node)
{
    return record_walk_pseudo(&recording->walk, which, node);
}

int recording_add_sample(struct recording *recording, const struct store_sample *row)
{
    struct store_sample mine = *row;
    mine.run_id = recording->run.id;
    return sprof_vec_push(&recording_batch(recording)->samples, mine);
}

/* == Replay == */

int recording_walk_only(struct recording *recording, const struct model_record *record,
                        struct recording_walked *walked)
{
    const struct record_walk *walk = &recording->walk;
    const struct model_process *process =
        model_world_process(&recording->world, record->pid, record->time_ns);
    struct record_outcome outcome;
    struct model_sample sample = record->sample;
    if (sample.register_count != ARCH_REGISTERS)
        return SPROF_EFORMAT;
    if (!process)
        return SPROF_ENOMEM;
    sample.ip = sample.registers[ARCH_PC];
    for (;;) {
        if (record_walk_sample(&recording->walk, process, &sample, record->time_ns, &outcome))
            return SPROF_ENOMEM;
        if (outcome.end != MODEL_END_PENDING)
            break;
        record_images_wait(&recording->images);
        record_images_collect(&recording->images);
    }
    recording->walked.count = 0;
    for (size_t i = 0; i < walk->line.count; i++) {
        const struct model_frame *frame = &walk->stacks.frames.items[walk->line.items[i] - 1];
        const struct recording_frame row = {
            .module = model_world_module_by_id(&recording->world, frame->module),
            .offset = frame->offset,
            .found_by = (enum model_found_by)walk->line_found_by.items[i],
        };
        if (sprof_vec_push(&recording->walked, row))
            return SPROF_ENOMEM;
    }
    *walked = (struct recording_walked){
        .end = outcome.end, .count = recording->walked.count, .frames = recording->walked.items};
    return 0;
}
