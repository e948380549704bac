/* Stacks deeper than their slices: catching what follows before it changes. */
#include "sampler/session.h"

/* How long after a stack deeper than its slice the next ones are expected. */
static const uint64_t deep_ns = 200000000;

enum {
    LATE_NS = 1000000,         /* records may be that much out of order */
    COPIED_HZ = 2000,          /* a sample may have all of its stack copied up to this rate */
    MOST_BYTES_MIN = 64 << 10, /* … and this much at any */
    REST_RING_BYTES_MIN = 8 << 20,
    REST_RING_BYTES_CPU = 2 << 20,
};

/* Copying takes the target's time, 0.1 ms for the largest stacks: at higher rates less is copied.
 */
static size_t most_bytes(const struct plan *plan)
{
    const uint64_t hz = plan_samples_per_second(plan);
    const size_t most =
        hz > COPIED_HZ ? (size_t)((uint64_t)REST_BYTES_MAX * COPIED_HZ / hz) : REST_BYTES_MAX;
    return most > MOST_BYTES_MIN ? most / 8 * 8 : MOST_BYTES_MIN;
}

/* What follows the slices of a ring's new records, where the kernel has not captured it. */
static void copy_new(struct sampler *sampler, size_t index)
{
    struct ring *ring = &sampler->merge.rings.items[index];
    uint64_t offset = ring->scanned > ring->tail ? ring->scanned : ring->tail;
    struct perf_event_header header;
    for (; ring_header(ring, offset, &header); offset += header.size) {
        struct decode_stack stack;
        struct rest_bytes bytes;
        bool known;
        if (!decode_peek_stack(&sampler->plan.layout, ring, offset, &stack) ||
            !targets_know(&sampler->targets, stack.pid, stack.tid))
            continue;
        const size_t wanted =
            stack_ends_beyond(&sampler->stack_ends, &stack, REST_BYTES_MAX, &known);
        if (wanted && !rest_bpf_find(&sampler->rest_bpf, &stack, &bytes))
            rests_copy(&sampler->rests, index, offset, &stack, wanted);
    }
    ring->scanned = ring->head;
}

void session_copy_rests(struct sampler *sampler)
{
    if (!sampler->plan.layout.has_stack)
        return;
    rests_drop_taken(&sampler->rests);
    rest_bpf_drop(&sampler->rest_bpf, sampler->last_ns - LATE_NS);
    for (size_t i = 0; i < sampler->merge.rings.count; i++)
        copy_new(sampler, i);
}

static struct decode_stack stack_of(const struct model_record *record)
{
    const struct model_sample *sample = &record->sample;
    return (struct decode_stack){.pid = record->pid,
                                 .tid = record->tid,
                                 .cpu = record->cpu,
                                 .time_ns = record->time_ns,
                                 .pointer = sample->registers[7],
                                 .asked = sample->stack_size + !sample->stack_full,
                                 .captured = sample->stack_size};
}

static bool attach_exact(struct sampler *sampler)
{
    const struct model_record *record = &sampler->record;
    struct model_sample *sample = &sampler->record.sample;
    const struct decode_stack stack = stack_of(record);
    struct rest_bytes found;
    if (!sample->register_count || !rest_bpf_find(&sampler->rest_bpf, &stack, &found))
        return false;
    sample->tail = found.bytes;
    sample->tail_size = found.size;
    sample->tail_address = found.address;
    sample->tail_with_sample = true;
    sampler->counts.rests++;
    sampler->counts.exact_rests++;
    return true;
}

void session_attach_rest(struct sampler *sampler, size_t ring, uint64_t offset)
{
    struct model_sample *sample = &sampler->record.sample;
    const struct rest *rest = rests_take(&sampler->rests, ring, offset);
    if (attach_exact(sampler) || !rest)
        return;
    sample->tail = sampler->rests.bytes + rest->start;
    sample->tail_size = rest->size;
    sample->tail_address = rest->address;
    sampler->counts.rests++;
}

void session_expect_deep(struct sampler *sampler)
{
    const struct model_record *record = &sampler->record;
    const struct model_sample *sample = &record->sample;
    const struct decode_stack stack = stack_of(record);
    bool known;
    /* What was captured with the sample does not change any more; nor does what is not there. */
    if (sample->tail_with_sample ||
        !stack_ends_beyond(&sampler->stack_ends, &stack, REST_BYTES_MAX, &known))
        return;
    sampler->deep_until_ns = record->time_ns + deep_ns;
}

void sampler_stack_end(struct sampler *sampler, pid_t tid, uint64_t stack_pointer, uint64_t end)
{
    stack_ends_learn(&sampler->stack_ends, tid, stack_pointer,
                     stack_pointer + sampler->plan.stack_bytes, end);
}

void session_forget_end(struct sampler *sampler, pid_t tid)
{
    stack_ends_forget(&sampler->stack_ends, tid);
}

struct filter_bpf_tails session_tails(const struct sampler *sampler)
{
    struct filter_bpf_tails tails = {.ring_bytes = REST_RING_BYTES_MIN};
    if (!sampler->plan.layout.has_stack)
        return tails;
    while (tails.ring_bytes < REST_POOL_BYTES &&
           tails.ring_bytes < sampler->cpus.count * REST_RING_BYTES_CPU)
        tails.ring_bytes *= 2;
    tails.stack_bytes = sampler->plan.stack_bytes;
    tails.most_bytes = most_bytes(&sampler->plan);
    return tails;
}

void session_open_rests(struct sampler *sampler)
{
    if (!sampler->plan.layout.has_stack)
        return;
    if (sampler->filter.captures &&
        !stack_ends_open(&sampler->stack_ends, filter_bpf_stacks_fd(&sampler->filter)) &&
        !rest_bpf_open(&sampler->rest_bpf, &sampler->filter))
        return;
    sprof_log_message(sampler->log, SPROF_LOG_DEBUG,
                      "stacks deeper than %zu bytes are not captured in the kernel",
                      sampler->plan.stack_bytes);
    stack_ends_close(&sampler->stack_ends);
    stack_ends_open(&sampler->stack_ends, -1);
}
