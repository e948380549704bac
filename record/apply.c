/* From the sampler's records to the world, the tree and the sample rows. */
#include "record/session.h"
#include "recording/recording.h"
#include "target/target.h"

#include <assert.h>

static uint64_t run_time(const struct record_session *session, uint64_t time_ns)
{
    return time_ns > session->start_ns ? time_ns - session->start_ns : 0;
}

/* ---- Samples ----------------------------------------------------------------------------------
 */

struct taken {
    struct model_process *process;
    struct model_thread *thread;
    const struct model_sample *sample;
    uint64_t time_ns;
    int cpu;
};

static int keep_failed(struct record_session *session, const struct taken *taken,
                       const struct record_outcome *outcome)
{
    const struct model_sample *sample = taken->sample;
    struct record_filled *batch = record_writer_batch(&session->writer);
    const size_t register_bytes = sample->register_count * sizeof *sample->registers;
    uint8_t *copy = sprof_arena_alloc(&batch->arena, register_bytes + sample->stack_size);
    if (!copy)
        return SPROF_ENOMEM;
    memcpy(copy, sample->registers, register_bytes);
    if (sample->stack_size)
        memcpy(copy + register_bytes, sample->stack, sample->stack_size);
    const struct store_failed row = {
        .run_id = session->run.id,
        .thread_id = taken->thread->id,
        .time_ns = run_time(session, taken->time_ns),
        .end_reason = (uint8_t)outcome->end,
        .registers = {copy, register_bytes},
        .stack = {copy + register_bytes, sample->stack_size},
    };
    return sprof_vec_push(&batch->rows.failed, row);
}

static int add_sample(struct record_session *session, const struct taken *taken,
                      const struct record_outcome *outcome)
{
    const struct store_sample row = {
        .run_id = session->run.id,
        .event_id = session->event.id,
        .thread_id = taken->thread->id,
        .node_id = outcome->node,
        .time_ns = run_time(session, taken->time_ns),
        .weight = taken->sample->weight,
        .count = 1,
        .cpu = taken->cpu,
        .end_reason = (uint8_t)outcome->end,
        .stitched = outcome->stitched,
        .user_stack = outcome->user_stack,
    };
    taken->thread->samples++;
    taken->thread->sampled_weight += row.weight;
    taken->thread->dirty = true;
    if (record_ledger_deliver(&session->ledger, row.time_ns, row.weight) ||
        sprof_vec_push(&record_writer_batch(&session->writer)->rows.samples, row))
        return SPROF_ENOMEM;
    const bool whole = outcome->end == MODEL_END_ROOT && !outcome->guessed;
    if (session->options.keep_failed && outcome->user_stack && !whole &&
        taken->sample->register_count)
        return keep_failed(session, taken, outcome);
    return 0;
}

struct rescan {
    struct record_session *session;
    struct model_process *process;
    uint64_t time_ns;
    bool changed;
};

static int add_missing(void *context, const struct model_mmap *mapping)
{
    struct rescan *rescan = context;
    struct model_world *world = &rescan->session->world;
    if (model_world_find(world, rescan->process, mapping->address))
        return 0;
    rescan->changed = true;
    return model_world_map(world, rescan->process->pid, mapping->address, mapping->size,
                           mapping->file_offset, &mapping->file, rescan->time_ns);
}

/* When /proc may be asked about a process again: 10 ms after the last time, longer where it knew
 * nothing new, up to 40 ms: code that was not executable a moment ago may be now. */
enum { RESCAN_NS = 10000000, RESCAN_DOUBLINGS = 2 };

static uint64_t next_rescan(uint64_t time_ns, uint64_t doublings)
{
    return ((time_ns + ((uint64_t)RESCAN_NS << doublings)) & ~UINT64_C(15)) | doublings;
}

/* Code in no known mapping: what /proc says now may be newer than what the records told. */
static int rescan_mappings(struct record_session *session, struct model_process *process,
                           uint64_t time_ns, bool *changed)
{
    *changed = false;
    const uint64_t *known = sprof_map_get(&session->next_rescan, process->id);
    const uint64_t due = known ? *known : 0, doublings = due & 15;
    if (time_ns < due)
        return 0;
    struct rescan rescan = {session, process, time_ns, false};
    if (target_each_mapping(process->pid, add_missing, &rescan))
        return SPROF_ENOMEM;
    *changed = rescan.changed;
    const uint64_t more = doublings < RESCAN_DOUBLINGS ? doublings + 1 : doublings;
    return sprof_map_put(&session->next_rescan, process->id,
                         next_rescan(time_ns, rescan.changed ? 0 : more));
}

static int finish_sample(struct record_session *session, const struct taken *taken,
                         const struct record_outcome *outcome)
{
    if (outcome->user_stack && taken->sample->register_count)
        sampler_stack_end(session->sampler, taken->thread->tid,
                          taken->sample->registers[ARCH_SP], outcome->stack_end);
    return add_sample(session, taken, outcome);
}

static int take_sample(struct record_session *session, const struct model_record *record)
{
    struct model_process *process =
        model_world_process(&session->world, record->pid, record->time_ns);
    struct model_thread *thread =
        model_world_thread(&session->world, record->pid, record->tid, record->time_ns);
    if (!process || !thread)
        return SPROF_ENOMEM;
    if (record->time_ns < session->first_sample_ns) {
        session->delayed++;
        return 0;
    }
    struct record_outcome outcome;
    if (record_walk_sample(&session->walk, process, &record->sample, 0, &outcome))
        return SPROF_ENOMEM;
    bool changed = false;
    if (outcome.unknown_code && outcome.end != MODEL_END_PENDING &&
        rescan_mappings(session, process, record->time_ns, &changed))
        return SPROF_ENOMEM;
    if (changed && record_walk_sample(&session->walk, process, &record->sample, 0, &outcome))
        return SPROF_ENOMEM;
    if (outcome.end == MODEL_END_PENDING) {
        session->waited++;
        return record_pending_add(&session->pending, record, process, thread);
    }
    const struct taken taken = {process, thread, &record->sample, record->time_ns, record->cpu};
    return finish_sample(session, &taken, &outcome);
}

static int retry_sample(void *context, const struct record_pending_sample *waiting)
{
    struct record_session *session = context;
    struct record_outcome outcome;
    if (record_walk_sample(&session->walk, waiting->process, &waiting->sample, waiting->time_ns,
                           &outcome))
        return SPROF_ENOMEM;
    if (outcome.end == MODEL_END_PENDING)
        return 1;
    const struct taken taken = {waiting->process, waiting->thread, &waiting->sample,
                                waiting->time_ns, waiting->cpu};
    return finish_sample(session, &taken, &outcome);
}

int record_apply_waiting(struct record_session *session)
{
    if (!record_images_collect(&session->images))
        return 0;
    return record_pending_retry(&session->pending, retry_sample, session);
}

/* CPU time of a thread that no sample stands for. The clock of a per-thread event starts anew in
 * every thread, so that one that ended has up to a period left over, which counts where threads are
 * many and short. Where the kernel is not sampled, what is left over may be the kernel's. */
static uint64_t unsampled_ns(const struct record_session *session,
                             const struct model_thread *thread)
{
    const uint64_t period_ns = session->ledger.period_ns;
    const uint64_t sampled_ns = thread->samples * period_ns;
    if (!thread->samples)
        return thread->cpu_time_ns;
    if (!thread->end_ns || session->ledger.kernel_excluded || thread->cpu_time_ns <= sampled_ns)
        return 0;
    const uint64_t rest_ns = thread->cpu_time_ns - sampled_ns;
    return rest_ns < period_ns ? rest_ns : period_ns;
}

static size_t ended_threads(const struct record_session *session)
{
    size_t ended = 0;
    for (size_t i = 0; i < session->world.threads.count; i++)
        ended += session->world.threads.items[i]->end_ns != 0;
    return ended;
}

static int book_unsampled(struct record_session *session, const struct model_thread *thread,
                          uint32_t node, uint64_t weight_ns)
{
    const uint64_t when = thread->end_ns ? thread->end_ns : thread->start_ns;
    const struct store_sample row = {
        .run_id = session->run.id,
        .event_id = session->event.id,
        .thread_id = thread->id,
        .node_id = node,
        .time_ns = run_time(session, when),
        .weight = weight_ns,
        .cpu = -1,
        .end_reason = MODEL_END_NO_STACK,
    };
    session->ledger.unsampled_ns += weight_ns;
    return sprof_vec_push(&record_writer_batch(&session->writer)->rows.samples, row);
}

/* Where each sample weighs what was used since the last, and the first one a tick, weights are
 * right on the whole, not thread by thread: only what all of them together do not account for has
 * no sample. It is booked on the threads that fall short, and what no thread used, programs without
 * an agent, on the first. */
static int book_shortfall(struct record_session *session, uint32_t node, uint64_t used_ns)
{
    const struct model_world *world = &session->world;
    uint64_t sampled_ns = 0, short_ns = 0;
    for (size_t i = 0; i < world->threads.count; i++) {
        const struct model_thread *thread = world->threads.items[i];
        sampled_ns += thread->sampled_weight;
        if (thread->cpu_time_ns > thread->sampled_weight)
            short_ns += thread->cpu_time_ns - thread->sampled_weight;
    }
    uint64_t left_ns = used_ns > sampled_ns ? used_ns - sampled_ns : 0;
    const double share = short_ns > left_ns ? (double)left_ns / (double)short_ns : 1;
    for (size_t i = world->threads.count; i-- > 0 && left_ns;) {
        const struct model_thread *thread = world->threads.items[i];
        uint64_t weight_ns = 0;
        if (thread->cpu_time_ns > thread->sampled_weight)
            weight_ns = (uint64_t)(share * (double)(thread->cpu_time_ns - thread->sampled_weight));
        if (weight_ns > left_ns || i == 0)
            weight_ns = left_ns;
        if (weight_ns && book_unsampled(session, thread, node, weight_ns))
            return SPROF_ENOMEM;
        left_ns -= weight_ns;
    }
    return 0;
}

int record_book_unsampled(struct record_session *session, uint64_t unseen_ns)
{
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    if (!facts->may_miss_threads || !session->event.is_clock)
        return 0;
    uint32_t node;
    if (record_walk_pseudo(&session->walk, MODEL_PSEUDO_NOT_SAMPLED, &node))
        return SPROF_ENOMEM;
    if (facts->weights == SAMPLER_WEIGHTS_TICK)
        return book_shortfall(session, node, session->run.target_cpu_ns);
    const size_t ended = ended_threads(session);
    const uint64_t end_ns = ended ? unseen_ns / ended : 0;
    for (size_t i = 0; i < session->world.threads.count; i++) {
        const struct model_thread *thread = session->world.threads.items[i];
        const uint64_t weight_ns = unsampled_ns(session, thread) + (thread->end_ns ? end_ns : 0);
        if (weight_ns && book_unsampled(session, thread, node, weight_ns))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* ---- The other records -------------------------------------------------------------------------
 */

static int apply_mapping(struct record_session *session, const struct model_record *record)
{
    const struct model_mmap *mapping = &record->mapping;
    if (record->pid == -1 && strcmp(mapping->file.path, MODEL_MODULE_KERNEL) == 0)
        session->walk.kernel_start = mapping->address - mapping->file_offset;
    if (record->pid > 0 && strncmp(mapping->file.path, "//anon", 6) == 0 &&
        record_jit_owners_note(&session->jit_owners, record->pid))
        return SPROF_ENOMEM;
    return model_world_map(&session->world, record->pid, mapping->address, mapping->size,
                           mapping->file_offset, &mapping->file, record->time_ns);
}

static int apply_comm(struct record_session *session, const struct model_record *record)
{
    const bool is_new = record->comm.exec || (record->before_start && record->pid == record->tid);
    struct model_process *process =
        is_new ? model_world_process(&session->world, record->pid, record->time_ns) : NULL;
    if (process)
        process->command = record_command_of_process(&session->arena, record->pid);
    return model_world_comm(&session->world, record->pid, record->tid, record->comm.name,
                            record->comm.exec, record->time_ns);
}

static int apply_fork(struct record_session *session, const struct model_record *record)
{
    /* Who once forked a process that is attached to is no part of the recording. */
    if (record->before_start &&
        !sprof_map_get(&session->world.live_processes, (uint64_t)record->fork.parent_pid))
        return model_world_thread(&session->world, record->pid, record->tid, record->time_ns)
                   ? 0
                   : SPROF_ENOMEM;
    return model_world_fork(&session->world, record->fork.parent_pid, record->fork.parent_tid,
                            record->pid, record->tid, record->time_ns);
}

static int apply_exit(struct record_session *session, const struct model_record *record)
{
    return model_world_exit(&session->world, record->pid, record->tid, record->time_ns);
}

static int apply_cpu_time(struct record_session *session, const struct model_record *record)
{
    return model_world_cpu_time(&session->world, record->pid, record->tid,
                                record->cpu_time.cpu_time_ns, record->time_ns);
}

static int apply_lost(struct record_session *session, const struct model_record *record)
{
    struct store_ledger *second =
        record_ledger_second(&session->ledger, run_time(session, record->time_ns));
    if (!second)
        return SPROF_ENOMEM;
    second->lost += record->lost.count;
    return 0;
}

static int apply_throttle(struct record_session *session, const struct model_record *record)
{
    return record_ledger_throttle(&session->ledger, record->cpu, record->throttle.on,
                                  run_time(session, record->time_ns));
}

int record_apply(struct record_session *session, const struct model_record *record)
{
    static int (*const appliers[])(struct record_session *, const struct model_record *) = {
        [MODEL_RECORD_SAMPLE] = take_sample, [MODEL_RECORD_MMAP] = apply_mapping,
        [MODEL_RECORD_COMM] = apply_comm,    [MODEL_RECORD_FORK] = apply_fork,
        [MODEL_RECORD_EXIT] = apply_exit,    [MODEL_RECORD_CPU_TIME] = apply_cpu_time,
        [MODEL_RECORD_LOST] = apply_lost,    [MODEL_RECORD_THROTTLE] = apply_throttle,
    };
    static_assert(sizeof appliers / sizeof *appliers == MODEL_RECORD_TYPES, "one for each type");
    return record->type < MODEL_RECORD_TYPES ? appliers[record->type](session, record)
                                             : SPROF_EUNSUPPORTED;
}
