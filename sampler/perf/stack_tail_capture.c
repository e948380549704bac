/* Catches what follows the slices of samples before it changes: stacks that are deeper than them.
 */
#include "arch/arch.h"
#include "sampler/perf/perf_source.h"
#include "target/target.h"

/* How long after a stack deeper than its slice the next ones are expected. */
static const uint64_t deep_ns = 200000000;

enum {
    LATE_NS = 1000000,     /* records may be that much out of order */
    APART_NS_MAX = 500000, /* a virtual CPU may rest between a sample's time and its tail's */
    APART_NS_MIN = 45000,
    COPIED_HZ = 2000,          /* a sample may have all of its stack copied up to this rate */
    MOST_BYTES_MIN = 64 << 10, /* … and this much at any */
    TAIL_RING_BYTES_MIN = 8 << 20,
    TAIL_RING_BYTES_CPU = 2 << 20,
};

/* Copying takes the target's time, 0.1 ms for the largest stacks: at higher rates less is copied.
 */
static size_t most_bytes(const struct perf_config *config)
{
    const uint64_t hz = perf_config_samples_per_second(config);
    const size_t most = hz > COPIED_HZ ? (size_t)((uint64_t)STACK_TAIL_BYTES_MAX * COPIED_HZ / hz)
                                       : STACK_TAIL_BYTES_MAX;
    return most > MOST_BYTES_MIN ? most / 8 * 8 : MOST_BYTES_MIN;
}

/* Samples from before are taken, whatever the order of records. */
static uint64_t settled_ns(const struct perf_progress *progress)
{
    return progress->last_ns > LATE_NS ? progress->last_ns - LATE_NS : 0;
}

/* How much to copy above a slice. Of a stack that nothing is known of yet, a slice that is not full
 * may end at a page that was never used, and not with the stack: then all of it counts, where there
 * is memory behind what is worth copying otherwise. */
static size_t bytes_wanted(const struct perf_stack_tails *tails, const struct sampler_stack *stack,
                           bool *known)
{
    const size_t wanted =
        sampler_stack_ends_beyond(&tails->found.ends, stack, STACK_TAIL_BYTES_MAX, known);
    const uint64_t end = stack->pointer + stack->captured + wanted;
    uint64_t word;
    if (*known || !wanted || wanted == STACK_TAIL_BYTES_MAX ||
        target_read_memory(stack->pid, end - sizeof word, &word, sizeof word) != sizeof word)
        return wanted;
    return STACK_TAIL_BYTES_MAX;
}

/* What follows the slices of a ring's new records, where the kernel has not captured it. */
static void copy_new(struct perf_source *source, size_t index)
{
    struct sampler_ring *ring = &source->rings.merge.rings.items[index], now = *ring;
    uint64_t offset = ring->scanned > ring->tail ? ring->scanned : ring->tail;
    struct perf_event_header header;
    sampler_ring_refresh(&now);
    for (; sampler_ring_header(&now, offset, &header); offset += header.size) {
        struct sampler_stack stack;
        struct sampler_stack_tail bytes;
        bool known;
        if (!sampler_decode_peek_stack(&source->layouts, &now, offset, &stack) ||
            !perf_members_know(&source->members, stack.pid, stack.tid))
            continue;
        const size_t wanted = bytes_wanted(&source->tails, &stack, &known);
        if (!known && source->tails.mapper)
            sampler_stack_mapper_ask(source->tails.mapper, stack.pid, stack.tid, stack.pointer);
        if (wanted && !perf_stack_tail_bpf_find(&source->tails.bpf, &stack, &bytes))
            sampler_stack_tail_copies_make(&source->tails.copies, index, offset, &stack, wanted);
    }
    ring->scanned = offset;
}

/* Where the mapping of a stack cannot be found, its end is where copies end. */
static void take_mappings(struct perf_stack_tails *tails)
{
    struct stack_mapping found;
    while (tails->mapper && sampler_stack_mapper_take(tails->mapper, &found)) {
        const bool none = !found.end;
        sampler_stack_ends_set_mapping(
            &tails->found.ends, found.tid, none ? found.stack_pointer : found.low,
            none ? found.stack_pointer + STACK_TAIL_BYTES_MAX : found.end);
    }
}

void perf_stack_tail_copy(struct perf_source *source)
{
    if (!source->config.layout.has_stack)
        return;
    take_mappings(&source->tails);
    perf_stack_tail_bpf_drop(&source->tails.bpf, settled_ns(&source->progress));
    for (size_t i = 0; i < source->rings.merge.rings.count; i++)
        copy_new(source, i);
}

static struct sampler_stack stack_of(const struct model_record *record)
{
    const struct model_sample *sample = &record->sample;
    return (struct sampler_stack){.pid = record->pid,
                                  .tid = record->tid,
                                  .cpu = record->cpu,
                                  .time_ns = record->time_ns,
                                  .pointer = sample->registers[ARCH_SP],
                                  .asked = sample->stack_size + !sample->stack_full,
                                  .captured = sample->stack_size};
}

static void take_place(const struct perf_stack_tail_bpf *tails, const struct sampler_stack *stack,
                       struct model_sample *sample)
{
    const uint64_t place = perf_stack_tail_bpf_place(tails, stack);
    if (!place)
        return;
    sample->registers[ARCH_PC] = place;
    if (!sample->in_kernel)
        sample->ip = place;
}

void perf_stack_tail_attach(struct perf_source *source, size_t ring, uint64_t offset)
{
    struct model_sample *sample = &source->record.sample;
    const struct sampler_stack stack = stack_of(&source->record);
    perf_stack_tail_bpf_drop(&source->tails.bpf, settled_ns(&source->progress));
    take_place(&source->tails.bpf, &stack, sample);
    sample->call_count = perf_stack_tail_bpf_calls(&source->tails.bpf, &stack, &sample->calls);
    if (!sampler_stack_tails_find(&source->tails.found, &stack, ring, offset, sample))
        return;
    source->counts.tails++;
    source->counts.tails_with_sample += sample->tail_with_sample;
}

void perf_stack_tail_expect(struct perf_stack_tails *tails, const struct model_record *record)
{
    const struct model_sample *sample = &record->sample;
    const struct sampler_stack stack = stack_of(record);
    bool known;
    /* What was captured with the sample does not change any more; nor does what is not there. */
    if (sample->tail_with_sample ||
        !sampler_stack_ends_beyond(&tails->found.ends, &stack, STACK_TAIL_BYTES_MAX, &known))
        return;
    tails->deep_until_ns = record->time_ns + deep_ns;
}

void perf_stack_tail_learn(struct source *opened, pid_t tid, uint64_t stack_pointer,
                           struct model_stack_extent extent)
{
    struct perf_source *source = (struct perf_source *)opened;
    perf_early_copies_lock(&source->programs.early_copies);
    sampler_stack_tails_learn(&source->tails.found, tid, stack_pointer,
                              stack_pointer + source->config.stack_bytes, extent);
    perf_early_copies_unlock(&source->programs.early_copies);
}

void perf_stack_tail_forget(struct perf_stack_tails *tails, pid_t tid)
{
    sampler_stack_tails_forget(&tails->found, tid);
}

struct perf_filter_bpf_tails perf_stack_tail_wanted(const struct perf_source *source)
{
    struct perf_filter_bpf_tails tails = {.ring_bytes = TAIL_RING_BYTES_MIN};
    if (!source->config.layout.has_stack)
        return tails;
    while (tails.ring_bytes < STACK_TAIL_POOL_BYTES &&
           tails.ring_bytes < source->cpus.count * TAIL_RING_BYTES_CPU)
        tails.ring_bytes *= 2;
    tails.wanted = true;
    tails.most_bytes = most_bytes(&source->config);
    return tails;
}

void perf_stack_tail_open(struct perf_source *source)
{
    sampler_stack_tails_add(&source->tails.found, perf_stack_tail_bpf_provide, &source->tails.bpf);
    sampler_stack_tails_add(&source->tails.found, sampler_stack_tail_copies_provide,
                            &source->tails.copies);
    perf_stack_tail_begin(source);
}

static uint64_t apart_ns(const struct perf_config *config)
{
    const uint64_t half = UINT64_C(500000000) / perf_config_samples_per_second(config);
    return half > APART_NS_MAX ? APART_NS_MAX : half < APART_NS_MIN ? APART_NS_MIN : half;
}

void perf_stack_tail_begin(struct perf_source *source)
{
    if (!source->config.layout.has_stack || source->tails.bpf.wake_fd >= 0 || source->tails.mapper)
        return;
    if (source->programs.filter.captures &&
        !sampler_stack_ends_open(&source->tails.found.ends,
                                 perf_filter_bpf_stacks_fd(&source->programs.filter)) &&
        !perf_stack_tail_bpf_open(&source->tails.bpf, &source->programs.filter,
                                  apart_ns(&source->config)))
        return;
    if (!source->programs.come)
        sprof_log_message(source->log, SPROF_LOG_DEBUG,
                          "stacks deeper than %zu bytes are not captured in the kernel",
                          source->config.stack_bytes);
    sampler_stack_ends_close(&source->tails.found.ends);
    sampler_stack_ends_open(&source->tails.found.ends, -1);
    source->tails.mapper = sampler_stack_mapper_new();
}

void perf_stack_tail_begin_anew(struct perf_source *source)
{
    sampler_stack_ends_close(&source->tails.found.ends);
    sampler_stack_mapper_free(source->tails.mapper);
    source->tails.mapper = NULL;
    perf_stack_tail_begin(source);
}
