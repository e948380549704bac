/* From captured samples to sample rows: at once, or when the tables that a stack needs are built.
 */
#include "recording/parts.h"

#include <errno.h>
#include <poll.h>

/* == A sample that was walked == */

static int keep_failed(struct recording *recording, const struct model_sample *sample,
                       const struct store_sample *of)
{
    struct recording_filled *batch = recording_writer_batch(&recording->writer);
    const size_t register_bytes = sample->register_count * sizeof *sample->registers;
    uint8_t *copy = sprof_arena_alloc(&batch->arena, register_bytes + sample->stack_size);
    if (!copy)
        return SPROF_ENOMEM;
    memcpy(copy, sample->registers, register_bytes);
    if (sample->stack_size)
        memcpy(copy + register_bytes, sample->stack, sample->stack_size);
    const struct store_failed row = {
        .run_id = recording->run.id,
        .thread_id = of->thread_id,
        .time_ns = of->time_ns,
        .end_reason = of->end_reason,
        .registers = {copy, register_bytes},
        .stack = {copy + register_bytes, sample->stack_size},
    };
    return sprof_vec_push(&batch->rows.failed, row);
}

static int add_row(struct recording *recording, const struct recording_pending_sample *taken,
                   const struct recording_outcome *outcome)
{
    const struct store_sample row = {
        .run_id = recording->run.id,
        .event_id = taken->event,
        .thread_id = taken->thread->id,
        .node_id = outcome->node,
        .time_ns = taken->time_ns - recording->start_ns,
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
    if (row.event_id == recording->clock_event)
        taken->thread->sampled_weight += row.weight;
    taken->thread->dirty = true;
    const bool has_registers = outcome->user_stack && taken->sample.register_count;
    const bool whole = outcome->end == MODEL_END_ROOT && !outcome->guessed;
    if (recording->options.keep_failed && has_registers && !whole &&
        keep_failed(recording, &taken->sample, &row))
        return SPROF_ENOMEM;
    const struct recording_sampled sampled = {
        .event = taken->event,
        .time_ns = row.time_ns,
        .weight = row.weight,
        .late = taken->sample.late,
        .tid = taken->thread->tid,
        .has_extent = has_registers,
        .stack_pointer = has_registers ? taken->sample.registers[ARCH_SP] : 0,
        .stack_bytes = taken->sample.stack_size,
        .extent = outcome->extent,
    };
    return recording->options.sampled
               ? recording->options.sampled(recording->options.context, &sampled)
               : 0;
}

/* == Samples as they come, and again == */

/* Writes down what ended a wait, and when: its own sample, where it has one, is of that time. */
static int add_wake(struct recording *recording, const struct model_record *record,
                    const struct model_thread *thread)
{
    const struct model_sample *sample = &record->sample;
    struct store_wake wake = {
        .run_id = recording->run.id,
        .thread_id = thread->id,
        .time_ns = record->time_ns - recording->start_ns,
        .woken_ns = recording_time(recording, sample->woken_ns),
        .waker_tid = sample->waker_tid,
    };
    if (!sample->woken_ns)
        return 0;
    if (sample->waker_pid) {
        const struct model_thread *waker = model_process_table_thread(
            &recording->process_table, sample->waker_pid, sample->waker_tid, sample->woken_ns);
        if (!waker)
            return SPROF_ENOMEM;
        wake.waker_thread_id = waker->id;
    }
    return sprof_vec_push(&recording_batch(recording)->wakes, wake);
}

static int add_fields(struct recording *recording, const struct model_record *record,
                      const struct model_thread *thread, uint32_t event)
{
    enum { BYTES_MAX = 512 };
    const struct sprof_bytes bytes = record->sample.fields;
    if (!bytes.size)
        return 0;
    const size_t size = bytes.size < BYTES_MAX ? bytes.size : BYTES_MAX;
    struct recording_filled *batch = recording_writer_batch(&recording->writer);
    const char *copy = sprof_arena_copy(&batch->arena, (const char *)bytes.data, size);
    const struct store_sample_fields row = {.run_id = recording->run.id,
                                            .event_id = event,
                                            .thread_id = thread->id,
                                            .time_ns = record->time_ns - recording->start_ns,
                                            .bytes = {(const uint8_t *)copy, size}};
    return copy ? sprof_vec_push(&recording_batch(recording)->sample_fields, row) : SPROF_ENOMEM;
}

int recording_sample(struct recording *recording, const struct model_record *record, uint32_t event)
{
    struct model_thread *thread = model_process_table_thread(&recording->process_table, record->pid,
                                                             record->tid, record->time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    struct model_process *process = recording_process(recording, thread->process);
    if (record->time_ns < recording->first_ns) {
        recording->delayed++;
        return 0;
    }
    process->sampled = true;
    if (add_wake(recording, record, thread) || add_fields(recording, record, thread, event))
        return SPROF_ENOMEM;
    struct recording_outcome outcome;
    if (recording_walk_sample(&recording->walk, process, &record->sample, record->time_ns,
                              &outcome))
        return SPROF_ENOMEM;
    bool waits = outcome.end == MODEL_END_PENDING;
    if (outcome.inherited_code &&
        recording_ask_owner(recording, record->pid, NULL, record->time_ns))
        return SPROF_ENOMEM;
    if (!waits && outcome.unknown_code &&
        recording_lookups_ask_mappings(&recording->lookups, process, record->time_ns, &waits))
        return SPROF_ENOMEM;
    const struct recording_pending_sample taken = {.sample = record->sample,
                                                   .process = process,
                                                   .thread = thread,
                                                   .event = event,
                                                   .time_ns = record->time_ns,
                                                   .cpu = record->cpu};
    if (!waits)
        return add_row(recording, &taken, &outcome);
    recording->waited++;
    return recording_pending_add(&recording->pending, &taken);
}

static int retry_sample(void *context, const struct recording_pending_sample *waiting)
{
    struct recording *recording = context;
    struct recording_outcome outcome;
    if (waiting->time_ns < recording->first_ns) {
        recording->delayed++;
        return 0;
    }
    if (recording_walk_past(&recording->walk, waiting->process, &waiting->sample, waiting->time_ns,
                            &outcome))
        return SPROF_ENOMEM;
    bool waits = outcome.end == MODEL_END_PENDING;
    if (!waits && outcome.unknown_code && !recording->walk.spaces.hurried &&
        recording_lookups_ask_mappings(&recording->lookups, waiting->process, waiting->time_ns,
                                       &waits))
        return SPROF_ENOMEM;
    return waits ? 1 : add_row(recording, waiting, &outcome);
}

int recording_collect(struct recording *recording)
{
    const size_t built = recording_images_collect(&recording->images);
    const int answered = recording_apply_lookups(recording);
    if (recording_jit_owners_look(&recording->jit_owners, false))
        return SPROF_ENOMEM;
    if (answered < 0 || (!built && !answered))
        return answered;
    return recording_pending_retry(&recording->pending, retry_sample, recording);
}

int recording_collect_fd(const struct recording *recording)
{
    return recording->images.done_fd;
}

size_t recording_waiting_bytes(const struct recording *recording)
{
    return recording->pending.bytes;
}

/* Without the tables that are not there: code without one is walked by frame pointers, and marked.
 */
static int settle_now(struct recording *recording)
{
    recording->walk.spaces.hurried = true;
    return recording_pending_retry(&recording->pending, retry_sample, recording);
}

/* Images that are no longer waited for are opened to the end, too: names come from them. */
static bool is_settled(const struct recording *recording, size_t bytes)
{
    return bytes ? recording->pending.bytes <= bytes
                 : !recording->images.waiting && !recording->lookups.waiting;
}

/* From the builder, or from /proc. */
static void wait_for_answer(struct recording *recording)
{
    struct pollfd descriptor = {.fd = recording->images.done_fd, .events = POLLIN};
    while (poll(&descriptor, 1, -1) < 0 && errno == EINTR)
        ;
}

int recording_settle(struct recording *recording, size_t bytes)
{
    int result = recording_collect(recording);
    while (!result && !is_settled(recording, bytes)) {
        if (atomic_load(&recording->hurried))
            return settle_now(recording);
        wait_for_answer(recording);
        result = recording_collect(recording);
    }
    return result;
}

bool recording_hurry(struct recording *recording)
{
    if (atomic_load(&recording->written))
        return false;
    atomic_store(&recording->hurried, true);
    recording_images_wake(&recording->images);
    return true;
}

bool recording_hurried(const struct recording *recording)
{
    return atomic_load(&recording->hurried);
}

/* == Rows without a captured stack == */

int recording_child(struct recording *recording, uint32_t parent, const struct sprof_file_id *file,
                    bool in_kernel, uint64_t offset, uint32_t *node)
{
    const struct model_module *module =
        model_process_table_module(&recording->process_table, file, in_kernel, 0);
    return module ? recording_walk_child(&recording->walk, parent, module->id, offset, node)
                  : SPROF_ENOMEM;
}

int recording_child_at(struct recording *recording, uint32_t parent, pid_t pid, uint64_t address,
                       uint64_t time_ns, uint32_t *node)
{
    const struct model_process *process =
        model_process_table_process(&recording->process_table, pid, time_ns);
    const struct model_mapping *mapping =
        process ? model_process_table_find(&recording->process_table, process, address, 0) : NULL;
    if (!process)
        return SPROF_ENOMEM;
    return mapping ? recording_walk_child(&recording->walk, parent, mapping->module,
                                          address - mapping->start + mapping->file_offset, node)
                   : SPROF_ENOTFOUND;
}

uint32_t recording_module_at(struct recording *recording, pid_t pid, uint64_t address,
                             uint64_t time_ns, uint64_t *offset)
{
    const struct model_process *process =
        model_process_table_process(&recording->process_table, pid, time_ns);
    const struct model_mapping *mapping =
        process ? model_process_table_find(&recording->process_table, process, address, 0) : NULL;
    *offset = 0;
    if (!mapping)
        return 0;
    /* Which file it is of is found out while it is there. */
    struct recording_image *image = recording_images_get(
        recording->walk.spaces.images,
        model_process_table_module_by_id(&recording->process_table, mapping->module), mapping, pid,
        0);
    if (image)
        recording_images_identify(recording->walk.spaces.images, image);
    *offset = address - mapping->start + mapping->file_offset;
    return mapping->module;
}

int recording_child_in(struct recording *recording, uint32_t parent, uint32_t module,
                       uint64_t offset, uint32_t *node)
{
    return recording_walk_child(&recording->walk, parent, module, offset, node);
}

int recording_pseudo(struct recording *recording, enum model_pseudo which, uint32_t *node)
{
    return recording_walk_pseudo(&recording->walk, which, node);
}

int recording_add_sample(struct recording *recording, const struct store_sample *row)
{
    const struct model_process_table *table = &recording->process_table;
    const size_t thread = row->thread_id - 1 - table->first_thread;
    struct store_sample mine = *row;
    mine.run_id = recording->run.id;
    if (thread < table->threads.count) /* else no thread of the table */
        recording_process(recording, table->threads.items[thread]->process)->sampled = true;
    return sprof_vec_push(&recording_batch(recording)->samples, mine);
}

/* == Replay == */

int recording_walk_only(struct recording *recording, const struct model_record *record,
                        struct recording_walked *walked)
{
    const struct recording_walk *walk = &recording->walk;
    const struct model_process *process =
        model_process_table_process(&recording->process_table, record->pid, record->time_ns);
    struct recording_outcome outcome;
    struct model_sample sample = record->sample;
    if (sample.register_count != ARCH_REGISTERS)
        return SPROF_EFORMAT;
    if (!process)
        return SPROF_ENOMEM;
    sample.ip = sample.registers[ARCH_PC];
    for (;;) {
        if (recording_walk_past(&recording->walk, process, &sample, record->time_ns, &outcome))
            return SPROF_ENOMEM;
        if (outcome.end != MODEL_END_PENDING)
            break;
        recording_images_wait(&recording->images);
        recording_images_collect(&recording->images);
    }
    recording->walked.count = 0;
    for (size_t i = 0; i < walk->line.count; i++) {
        const struct model_frame *frame = &walk->stacks.frames.items[walk->line.items[i] - 1];
        const struct recording_frame row = {
            .module = model_process_table_module_by_id(&recording->process_table, frame->module),
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
