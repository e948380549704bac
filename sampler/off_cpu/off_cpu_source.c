/* The source of waits: starts and stops their measurement, and hands out records as samples. */
#include "sampler/off_cpu/off_cpu_source.h"

#include "arch/arch.h"
#include "sampler/bpf/off_cpu_weight.h"
#include "sampler/off_cpu/kinds.h"
#include "sampler/off_cpu/programs.h"
#include "sampler/off_cpu/threshold.h"
#include "sampler/perf/bpf_refusal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    RING_BYTES = 16 << 20,
    QUEUE_BYTES_MAX = 64 << 20, /* beyond it records stay in the ring */
    LOOK_NS = 50000000,         /* between two looks: the ring holds more than comes meanwhile */
    LATE_NS = 2000000,          /* a record may come so long after its time */
};

/* A record that was read, by its time. */
struct queued {
    uint64_t time_ns;
    struct off_cpu_record *record; /* the queue's */
};

/* What records of waits for a futex bring. */
struct lock_fields {
    uint64_t lock;
    uint32_t holder_tid;
};
static const struct model_field fields_of_locks[] = {
    {MODEL_FIELD_LOCK, offsetof(struct lock_fields, lock), sizeof(uint64_t), MODEL_FIELD_POINTER},
    {MODEL_FIELD_HOLDER, offsetof(struct lock_fields, holder_tid), sizeof(uint32_t),
     MODEL_FIELD_NUMBER},
};

struct off_cpu_source {
    struct source source;
    struct off_cpu_programs programs;
    struct off_cpu_settings *settings;
    SPROF_VEC(struct queued) queue; /* in the order of time */
    size_t first;                   /* … that was not handed out */
    size_t queue_bytes;
    bool first_is_begun; /* the blocked part of it was handed out */
    struct off_cpu_threshold threshold;
    uint64_t seen_ns, last_ns, lost_told, samples, records;
    size_t stack_bytes_asked, slice_bytes;
    bool started, stopped, paused;
    struct model_record record;
    struct lock_fields lock; /* of the record */
};

static struct off_cpu_source *of(struct source *source)
{
    return (struct off_cpu_source *)source;
}

/* == Opening == */

static int set_slice(struct source *opened, size_t stack_bytes, struct sprof_error *error)
{
    (void)error;
    struct off_cpu_source *source = of(opened);
    const size_t asked = source->stack_bytes_asked;
    source->slice_bytes = (stack_bytes < asked ? stack_bytes : asked) & ~(size_t)7;
    if (source->slice_bytes > OFF_CPU_STACK_MAX)
        source->slice_bytes = OFF_CPU_STACK_MAX;
    if (source->settings->stack_bytes)
        source->settings->stack_bytes = (uint32_t)source->slice_bytes;
    return 0;
}

static int set_capture(struct source *opened, enum sampler_capture capture,
                       struct sprof_error *error)
{
    (void)error;
    struct off_cpu_source *source = of(opened);
    source->settings->stack_bytes =
        capture == SAMPLER_CAPTURE_PC ? 0 : (uint32_t)source->slice_bytes;
    source->settings->takes_chain = capture == SAMPLER_CAPTURE_FULL;
    return 0;
}

/* How many samples there are follows from the waits. */
static int set_rate(struct source *source, uint64_t frequency_hz, struct sprof_error *error)
{
    (void)source;
    (void)frequency_hz;
    (void)error;
    return 0;
}

static int open_source(struct source **opened, const struct source_request *request,
                       struct sprof_error *error)
{
    const struct sampler_options *options = request->options;
    struct off_cpu_wanted wanted = {.only_tid = target_thread(request->target),
                                    .command_pid = target_command(request->target),
                                    .all = options->all_cpus,
                                    .ring_bytes = RING_BYTES};
    wanted.pids = target_processes(request->target, &wanted.pid_count);
    struct off_cpu_source *source = calloc(1, sizeof *source);
    if (!source)
        return sprof_error_memory(error);
    source->source.kind = &sampler_off_cpu_kind;
    const int result = off_cpu_programs_open(&source->programs, &wanted);
    if (result) {
        free(source);
        return perf_bpf_refuse(
            result, "waits cannot be measured",
            options->command
                ? "; `sprof record --clock wall -- COMMAND` samples waiting threads without BPF"
                : "",
            error);
    }
    source->settings = off_cpu_programs_settings(&source->programs);
    source->threshold = off_cpu_threshold_of(options);
    source->settings->threshold_ns = source->threshold.ns;
    source->settings->takes_wakers = options->off_cpu.wakers;
    source->paused = options->paused;
    source->stack_bytes_asked = options->stack_bytes ? options->stack_bytes : SIZE_MAX;
    set_slice(&source->source, SIZE_MAX, NULL);
    set_capture(&source->source, options->capture, NULL);
    *opened = &source->source;
    return 0;
}

static void drop_taken(struct off_cpu_source *source)
{
    if (!source->first)
        return;
    for (size_t i = 0; i < source->first; i++)
        free(source->queue.items[i].record);
    memmove(source->queue.items, source->queue.items + source->first,
            (source->queue.count - source->first) * sizeof *source->queue.items);
    source->queue.count -= source->first;
    source->first = 0;
}

static void free_source(struct source *opened)
{
    struct off_cpu_source *source = of(opened);
    source->first = source->queue.count;
    if (source->first)
        drop_taken(source);
    sprof_vec_release(&source->queue);
    off_cpu_programs_close(&source->programs);
    free(source);
}

static int events(const struct source *opened, struct sampler_event_list *list)
{
    const struct off_cpu_source *source = (const struct off_cpu_source *)opened;
    struct sampler_event wakeup = {
        .name = MODEL_EVENT_WAKEUP, .varying_period = true, .is_wait = true};
    const int result = off_cpu_kind_events(list, fields_of_locks,
                                           sizeof fields_of_locks / sizeof *fields_of_locks);
    return !result && source->settings->takes_wakers ? sprof_vec_push(list, wakeup) : result;
}

static void facts(const struct source *source, struct sampler_facts *facts)
{
    (void)source; /* those of the source beside it hold */
    (void)facts;
}

/* == Measuring == */

/* Records come nearly in the order of time: CPUs write them side by side. */
static int take_in(void *context, const struct off_cpu_record *record)
{
    struct off_cpu_source *source = context;
    const size_t bytes = sizeof *record + record->stack_bytes;
    struct queued queued = {record->time_ns, malloc(bytes)};
    if (!queued.record || sprof_vec_push(&source->queue, queued)) {
        free(queued.record);
        return SPROF_ENOMEM;
    }
    memcpy(queued.record, record, bytes);
    source->queue_bytes += bytes;
    source->records++;
    size_t at = source->queue.count - 1;
    /* What was begun stays the first. */
    const size_t least = source->first + source->first_is_begun;
    for (; at > least && source->queue.items[at - 1].time_ns > queued.time_ns; at--)
        source->queue.items[at] = source->queue.items[at - 1];
    source->queue.items[at] = queued;
    return 0;
}

static int read_ring(struct off_cpu_source *source)
{
    int result = 0;
    const struct off_cpu_record *record;
    while (!result && source->queue_bytes < QUEUE_BYTES_MAX &&
           (record = off_cpu_programs_next(&source->programs)))
        result = take_in(source, record);
    return result;
}

static void govern(struct off_cpu_source *source, uint64_t now_ns)
{
    const uint64_t kept = off_cpu_programs_counts(&source->programs)->kept;
    if (off_cpu_threshold_govern(&source->threshold, kept, now_ns))
        source->settings->threshold_ns = source->threshold.ns;
}

static void turn(struct off_cpu_source *source, bool on)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    if (on)
        __atomic_store_n(&source->settings->since_ns, now_ns, __ATOMIC_RELEASE);
    source->threshold.looked_ns = now_ns;
    __atomic_store_n(&source->settings->on, on, __ATOMIC_RELEASE);
}

static int start(struct source *opened, struct sprof_error *error)
{
    (void)error;
    of(opened)->started = true;
    turn(of(opened), !of(opened)->paused);
    return 0;
}

static int wait_for(struct source *opened, uint64_t now_ns, struct source_wait *wait)
{
    struct off_cpu_source *source = of(opened);
    drop_taken(source);
    if (!source->stopped && !source->paused && now_ns + LOOK_NS < wait->deadline_ns)
        wait->deadline_ns = now_ns + LOOK_NS;
    return 0;
}

static int look(struct source *opened, uint64_t now_ns, const struct pollfd *polls, size_t count)
{
    struct off_cpu_source *source = of(opened);
    (void)polls;
    (void)count;
    if (source->stopped)
        return 0;
    source->seen_ns = now_ns > LATE_NS ? now_ns - LATE_NS : 0;
    govern(source, now_ns);
    return read_ring(source);
}

/* What threads wait for just now counts up to now. A wait whose record is not written is lost. */
static int end_waits(struct off_cpu_source *source)
{
    const int result = off_cpu_programs_end_waits(&source->programs, take_in, source);
    turn(source, false);
    return result == SPROF_ENOMEM ? result : read_ring(source);
}

static void stop(struct source *opened)
{
    struct off_cpu_source *source = of(opened);
    if (source->started && !source->paused && !source->stopped)
        end_waits(source);
    source->stopped = true;
}

static int set_paused(struct source *opened, bool paused, struct sprof_error *error)
{
    struct off_cpu_source *source = of(opened);
    if (source->paused == paused)
        return 0;
    source->paused = paused;
    if (!paused)
        turn(source, true);
    else if (end_waits(source))
        return sprof_error_memory(error);
    return 0;
}

/* == Handing out == */

static uint64_t untold_losses(const struct off_cpu_source *source)
{
    return off_cpu_programs_counts(&source->programs)->lost - source->lost_told;
}

static struct source_next next_time(struct source *opened)
{
    const struct off_cpu_source *source = (const struct off_cpu_source *)opened;
    const struct queued *next = source->queue.items + source->first;
    const bool has_next = source->first < source->queue.count;
    if (source->started && untold_losses(source))
        return (struct source_next){SOURCE_RECORD, source->last_ns};
    if (has_next && (source->stopped || next->time_ns <= source->seen_ns))
        return (struct source_next){SOURCE_RECORD, next->time_ns};
    if (source->stopped)
        return (struct source_next){.state = SOURCE_ENDED};
    return (struct source_next){SOURCE_NOTHING_BEFORE, source->seen_ns};
}

static size_t kind_of(const struct off_cpu_record *wait, bool is_ready)
{
    if (wait->is & OFF_CPU_WAKES)
        return off_cpu_kind_wakeup();
    return is_ready ? OFF_CPU_KIND_READY : off_cpu_kind_of(wait->entry, wait->is);
}

static void fill(struct off_cpu_source *source, const struct off_cpu_record *wait, bool is_ready)
{
    struct model_record *record = &source->record;
    *record = (struct model_record){
        .type = MODEL_RECORD_SAMPLE,
        .time_ns = wait->time_ns,
        .event = (uint32_t)kind_of(wait, is_ready),
        .pid = (pid_t)wait->pid,
        .tid = (pid_t)wait->tid,
        .cpu = (int)wait->cpu,
    };
    struct model_sample *sample = &record->sample;
    const struct off_cpu_parts lasted =
        off_cpu_lasted(wait->blocked_ns, wait->ready_ns, wait->lasted_ns);
    sample->weight = is_ready ? wait->ready_ns : wait->blocked_ns;
    sample->lasted_ns = is_ready ? lasted.ready_ns : lasted.blocked_ns;
    sample->ended_ns = is_ready ? wait->time_ns : wait->time_ns - lasted.ready_ns;
    if (!is_ready && wait->woken_ns) {
        sample->woken_ns = wait->woken_ns;
        sample->waker_pid = (pid_t)wait->waker_pid;
        sample->waker_tid = (pid_t)wait->waker_tid;
    }
    if (record->event == off_cpu_kind_futex() && wait->lock) {
        source->lock = (struct lock_fields){wait->lock, wait->holder_tid};
        sample->fields = (struct sprof_bytes){(const uint8_t *)&source->lock, sizeof source->lock};
    }
    sample->is_32bit = wait->is_32bit;
    for (size_t i = 0; i < ARCH_REGISTERS; i++)
        sample->registers[arch_perf_registers[i].number] = wait->registers[i];
    sample->ip = sample->registers[ARCH_PC];
    if (wait->chain_count) {
        sample->in_kernel = true;
        sample->ip = *wait->chain;
        sample->kernel_chain = (const uint64_t *)wait->chain;
        sample->kernel_chain_count = wait->chain_count;
    }
    if (!source->settings->stack_bytes)
        return;
    sample->register_count = ARCH_REGISTERS;
    sample->stack = (const uint8_t *)(wait + 1);
    sample->stack_size = wait->stack_bytes;
    sample->stack_full = wait->stack_bytes >= source->settings->stack_bytes;
}

static void fill_lost(struct off_cpu_source *source)
{
    const uint64_t count = untold_losses(source);
    source->lost_told += count;
    source->record = (struct model_record){.type = MODEL_RECORD_LOST,
                                           .time_ns = source->last_ns,
                                           .event = (uint32_t)off_cpu_kind_other(),
                                           .pid = -1,
                                           .tid = -1,
                                           .cpu = -1};
    source->record.lost.count = count;
}

/* A wait may be two samples: blocked, then ready. */
static int take(struct source *opened, struct model_record **record)
{
    struct off_cpu_source *source = of(opened);
    *record = &source->record;
    if (untold_losses(source)) {
        fill_lost(source);
        return 0;
    }
    const struct off_cpu_record *wait = source->queue.items[source->first].record;
    const bool is_ready = source->first_is_begun || !wait->blocked_ns;
    fill(source, wait, is_ready);
    source->last_ns = wait->time_ns;
    source->samples++;
    source->first_is_begun = !is_ready && wait->ready_ns;
    if (!source->first_is_begun) {
        source->queue_bytes -= sizeof *wait + wait->stack_bytes;
        source->first++;
    }
    return 0;
}

static void count(const struct source *opened, struct sampler_counters *counters)
{
    const struct off_cpu_source *source = (const struct off_cpu_source *)opened;
    counters->records += source->records;
    counters->samples += source->samples;
    counters->lost += source->lost_told;
}

static bool is_wanted(const struct sampler_options *options)
{
    return options->off_cpu.wanted;
}

/* The times alone are known by perf events, too. */
static const char *do_without(struct sampler_options *options)
{
    if (options->off_cpu.stacks || options->off_cpu.wakers || options->all_cpus)
        return NULL;
    options->off_cpu.by_switches = true;
    return "BPF would show where and for what threads wait";
}

const struct source_kind sampler_off_cpu_kind = {
    .name = "off-cpu",
    .is_wanted = is_wanted,
    .do_without = do_without,
    .open = open_source,
    .facts = facts,
    .events = events,
    .start = start,
    .stop = stop,
    .wait_for = wait_for,
    .look = look,
    .next_time = next_time,
    .take = take,
    .count = count,
    .set_paused = set_paused,
    .set_rate = set_rate,
    .set_capture = set_capture,
    .set_slice = set_slice,
    .free = free_source,
};
