/* Hands out the records of all rings in the order of their times. */
#include "sampler/agent/sigprof_source.h"

#include "arch/arch.h"

enum { FUTURE_NS = 1000000000 };

/* == The rings with records == */

static void sift_down(struct sigprof_source *source)
{
    struct sigprof_entry *heap = source->heap.items;
    for (size_t i = 0, child; (child = 2 * i + 1) < source->heap.count; i = child) {
        if (child + 1 < source->heap.count && heap[child + 1].time_ns < heap[child].time_ns)
            child++;
        if (heap[i].time_ns <= heap[child].time_ns)
            break;
        const struct sigprof_entry entry = heap[i];
        heap[i] = heap[child];
        heap[child] = entry;
    }
}

static void sift_up(struct sigprof_source *source)
{
    struct sigprof_entry *heap = source->heap.items;
    for (size_t i = source->heap.count - 1; i && heap[i].time_ns < heap[(i - 1) / 2].time_ns;
         i = (i - 1) / 2) {
        const struct sigprof_entry entry = heap[i];
        heap[i] = heap[(i - 1) / 2];
        heap[(i - 1) / 2] = entry;
    }
}

static int queue_rings(struct sigprof_source *source, struct sigprof_process *process)
{
    for (size_t i = 0; i < process->ring_count; i++) {
        struct sigprof_ring *ring = &process->rings[i];
        if (ring->queued || ring->head == ring->tail)
            continue;
        const struct sigprof_entry entry = {sigprof_process_time_ns(process, i), process, i};
        if (sprof_vec_push(&source->heap, entry))
            return SPROF_ENOMEM;
        ring->queued = true;
        source->busy = true;
        sift_up(source);
    }
    return 0;
}

int sigprof_look_at_rings(struct sigprof_source *source)
{
    int result = 0;
    for (size_t i = 0; !result && i < source->processes.count; i++) {
        struct sigprof_process *process = source->processes.items[i];
        if (!process->left)
            result = sigprof_process_refresh(process);
        if (!result)
            result = queue_rings(source, process);
    }
    return result;
}

static void advance(struct sigprof_source *source)
{
    struct sigprof_entry *first = source->heap.items;
    struct sigprof_ring *ring = &first->process->rings[first->ring];
    if (ring->head != ring->tail) {
        first->time_ns = sigprof_process_time_ns(first->process, first->ring);
    } else {
        ring->queued = false;
        *first = source->heap.items[--source->heap.count];
    }
    sift_down(source);
}

/* == One record == */

static bool is_in_the_future(const struct sigprof_source *source, uint64_t time_ns)
{
    return time_ns > source->seen_ns + FUTURE_NS;
}

struct source_next sigprof_next_time(struct source *base)
{
    struct sigprof_source *source = (struct sigprof_source *)base;
    uint64_t first_ns = sigprof_events_time_ns(&source->events);
    if (source->heap.count && source->heap.items->time_ns < first_ns)
        first_ns = source->heap.items->time_ns;
    const bool any = source->heap.count || first_ns != UINT64_MAX;
    if (any && (first_ns <= source->horizon_ns || is_in_the_future(source, first_ns)))
        return (struct source_next){
            SOURCE_RECORD, is_in_the_future(source, first_ns) ? source->last_ns : first_ns};
    return source->stopped ? (struct source_next){SOURCE_ENDED, 0}
                           : (struct source_next){SOURCE_NOTHING_BEFORE, source->horizon_ns};
}

/* No machine starts so many threads: a target that reports more makes them up, to fill the
 * recorder's memory. */
static bool is_thread(struct sigprof_process *process, const struct model_record *record)
{
    enum { THREADS_A_SECOND = 20000 };
    const uint64_t seconds = (record->time_ns - process->begin_ns) / 1000000000 + 1;
    if (record->tid <= 0)
        return false;
    if (sprof_map_get(&process->tids, (uint64_t)record->tid))
        return true;
    return process->tids.count < seconds * THREADS_A_SECOND &&
           sprof_map_put(&process->tids, (uint64_t)record->tid, 1) == 0;
}

/* What a target may say of itself: its threads' samples, births, names, CPU times and ends. That it
 * begins and ends is for the recorder to see. */
static bool is_allowed(const struct sigprof_process *process, struct model_record *record)
{
    const bool is_main = record->tid == process->pid;
    switch (record->type) {
    case MODEL_RECORD_SAMPLE:
        if (record->sample.weight > record->time_ns) /* since the machine began */
            record->sample.weight = 0;
        return !record->sample.in_kernel;
    case MODEL_RECORD_COMM: record->comm.exec = false; return true;
    case MODEL_RECORD_FORK:
        record->fork.parent_pid = record->fork.parent_tid = process->pid;
        return !is_main;
    case MODEL_RECORD_EXIT: return !is_main;
    case MODEL_RECORD_CPU_TIME: return record->cpu_time.cpu_time_ns <= record->time_ns;
    default: return false;
    }
}

static void lose(struct sigprof_source *source, const struct sigprof_process *process)
{
    source->record = (struct model_record){.type = MODEL_RECORD_LOST,
                                           .time_ns = source->last_ns,
                                           .pid = process->pid,
                                           .tid = process->pid,
                                           .cpu = -1};
    source->record.lost.count = 1;
    source->counts.lost++;
}

/* What the slice of the sample in source->record leaves over, if the agent copied it. */
static void attach_tail(struct sigprof_source *source, struct sigprof_process *process,
                        const struct perf_event_header *header, size_t ring)
{
    struct model_sample *sample = &source->record.sample;
    const struct sampler_stack stack = {.pid = process->pid,
                                        .tid = source->record.tid,
                                        .time_ns = source->record.time_ns,
                                        .pointer = sample->registers[ARCH_SP],
                                        .asked = sample->stack_size,
                                        .captured = sample->stack_size};
    if (sigprof_tails_take(&source->shared_tails, process->shared, header) && sample->stack_full &&
        sampler_stack_tails_find(&source->tails, &stack, ring, 0, sample))
        source->counts.tails++, source->counts.tails_with_sample++;
}

/* Reads one record of a ring into source->record. */
static void read_record(struct sigprof_source *source)
{
    const struct sigprof_entry first = *source->heap.items;
    struct sigprof_process *process = first.process;
    struct model_record *record = &source->record;
    uint64_t event_id;
    const struct perf_event_header *header =
        sigprof_process_take(process, first.ring, source->buffer);
    const bool good = header && sampler_decode_record(&source->layouts, header, record,
                                                      &event_id) == SAMPLER_DECODED_RECORD;
    if (good && record->type == MODEL_RECORD_SAMPLE)
        attach_tail(source, process, header, first.ring);
    advance(source);
    if (good) {
        source->counts.bytes += header->size;
        record->pid = process->pid; /* whatever it says */
        record->tid = record->tid == process->inner_pid ? process->pid : record->tid;
    }
    if (good && record->time_ns < process->begin_ns)
        record->time_ns = process->begin_ns;
    if (!good || is_in_the_future(source, record->time_ns) || !is_allowed(process, record) ||
        !is_thread(process, record)) {
        lose(source, process);
        return;
    }
    source->counts.samples += record->type == MODEL_RECORD_SAMPLE;
}

int sigprof_take(struct source *base, struct model_record **record)
{
    struct sigprof_source *source = (struct sigprof_source *)base;
    const bool has_event = source->events.next < source->events.items.count;
    const uint64_t event_ns = sigprof_events_time_ns(&source->events);
    if (!has_event || (source->heap.count && source->heap.items->time_ns < event_ns))
        read_record(source);
    else
        sigprof_events_take(&source->events, &source->record);
    source->counts.records++;
    if (source->record.time_ns > source->last_ns)
        source->last_ns = source->record.time_ns;
    *record = &source->record;
    if (source->record.type != MODEL_RECORD_SAMPLE)
        return 0;
    const bool paused = sigprof_is_paused(source, &source->record);
    source->record.sample.late =
        (int64_t)source->record.sample.weight - (int64_t)sigprof_due_ns(source);
    return paused;
}
