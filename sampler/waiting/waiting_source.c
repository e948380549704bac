/* The source of samples of threads that wait: looks at all threads of the targets from time to
 * time. */
#include "sampler/waiting/waiting_source.h"

#include "arch/arch.h"
#include "sampler/off_cpu/kinds.h"
#include "sampler/perf/bpf_refusal.h"
#include "sampler/waiting/looks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

enum {
    RECORDS_MOST = 64,  /* of a look: of more threads that wait, some stand for all */
    CPU_FRACTION = 25,  /* of a CPU may be spent in looks */
    LEAST_FRACTION = 16 /* of the time between looks: for less waiting there is no record yet */
};

struct waiting_source {
    struct source source;
    struct waiting_looks looks;
    struct waiting_look next; /* as it is to be asked for */
    struct waiting_records records;
    size_t taken; /* words of them */
    uint64_t period_ns, next_ns;
    size_t stack_bytes_asked, slice_bytes;
    uint64_t seen_ns; /* records to come are of after that */
    uint64_t random, counted;
    bool started, stopped, paused;
    struct model_record record;
};

static struct waiting_source *of(struct source *source)
{
    return (struct waiting_source *)source;
}

/* == Opening == */

static void add_targets(const struct waiting_source *source, const struct target *target)
{
    size_t count;
    const pid_t *pids = target_processes(target, &count);
    if (target_command(target))
        waiting_looks_add(&source->looks, target_command(target));
    for (size_t i = 0; i < count; i++)
        waiting_looks_add(&source->looks, pids[i]);
}

static void free_source(struct source *opened)
{
    struct waiting_source *source = of(opened);
    waiting_looks_close(&source->looks);
    sprof_vec_release(&source->records.words);
    free(source);
}

static int set_rate(struct source *opened, uint64_t frequency_hz, struct sprof_error *error)
{
    (void)error;
    of(opened)->period_ns = UINT64_C(1000000000) / frequency_hz;
    return 0;
}

static int set_slice(struct source *opened, size_t stack_bytes, struct sprof_error *error)
{
    (void)error;
    struct waiting_source *source = of(opened);
    const size_t asked = source->stack_bytes_asked;
    source->slice_bytes = (stack_bytes < asked ? stack_bytes : asked) & ~(size_t)7;
    if (source->slice_bytes > WAITING_STACK_MAX)
        source->slice_bytes = WAITING_STACK_MAX;
    if (source->next.stack_bytes)
        source->next.stack_bytes = (uint32_t)source->slice_bytes;
    return 0;
}

static int set_capture(struct source *opened, enum sampler_capture capture,
                       struct sprof_error *error)
{
    (void)error;
    struct waiting_source *source = of(opened);
    source->next.stack_bytes = capture == SAMPLER_CAPTURE_PC ? 0 : (uint32_t)source->slice_bytes;
    source->next.chain_bytes =
        capture == SAMPLER_CAPTURE_FULL ? WAITING_CHAIN_MAX * sizeof(uint64_t) : 0;
    return 0;
}

static int open_source(struct source **opened, const struct source_request *request,
                       struct sprof_error *error)
{
    const struct sampler_options *options = request->options;
    struct waiting_source *source = calloc(1, sizeof *source);
    if (!source)
        return sprof_error_memory(error);
    source->source.kind = &sampler_waiting_kind;
    const int result = waiting_looks_open(&source->looks, target_thread(request->target));
    if (result) {
        free(source);
        return perf_bpf_refuse(result, "threads that wait cannot be sampled",
                               options->command
                                   ? ""
                                   : "; what sprof launches itself (`sprof record --clock wall -- "
                                     "COMMAND`) needs no BPF",
                               error);
    }
    add_targets(source, request->target);
    source->paused = options->paused;
    source->stack_bytes_asked = options->stack_bytes ? options->stack_bytes : SIZE_MAX;
    set_slice(&source->source, SIZE_MAX, NULL);
    set_capture(&source->source, options->capture, NULL);
    set_rate(&source->source, options->frequency_hz ? options->frequency_hz : SAMPLER_WALL_HZ,
             NULL);
    if (getrandom(&source->random, sizeof source->random, GRND_NONBLOCK) < 0 || !source->random)
        source->random = sprof_clock_monotonic_ns() | 1;
    *opened = &source->source;
    return 0;
}

/* == Looking == */

/* Marsaglia, "Xorshift RNGs" (2003), with the triple 13, 7, 17. */
static uint64_t random_word(struct waiting_source *source)
{
    source->random ^= source->random << 13;
    source->random ^= source->random >> 7;
    return source->random ^= source->random << 17;
}

/* What was taken makes room. */
static void drop_taken(struct waiting_source *source)
{
    const size_t left = source->records.words.count - source->taken;
    if (left)
        memmove(source->records.words.items, source->records.words.items + source->taken,
                left * sizeof *source->records.words.items);
    source->records.words.count = left;
    source->taken = 0;
}

static uint64_t used_ns(void)
{
    struct timespec time = {0};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* At moments that are random within ±30 % of the period, so that nothing is in step with them, and
 * no more often than a twenty-fifth of a CPU allows. */
static void plan_next(struct waiting_source *source, uint64_t begun_ns, uint64_t cost_ns)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns(), shortest = source->period_ns * 7 / 10;
    const uint64_t pause_ns = shortest + random_word(source) % (source->period_ns * 6 / 10 + 1);
    const uint64_t least_ns = cost_ns * CPU_FRACTION;
    source->next_ns = begun_ns + (pause_ns > least_ns ? pause_ns : least_ns);
    source->seen_ns = now_ns;
}

/* With `only_notes`, what was before counts for nothing. */
static int look_at_threads(struct waiting_source *source, bool only_notes)
{
    const uint64_t begun_ns = sprof_clock_monotonic_ns(), used_before_ns = used_ns();
    struct waiting_seen seen;
    source->next.only_notes = only_notes;
    source->next.turn = (uint32_t)random_word(source);
    source->next.least_ns = source->period_ns / LEAST_FRACTION;
    drop_taken(source);
    const int result = waiting_looks_look(&source->looks, &source->next, &source->records, &seen);
    plan_next(source, begun_ns, used_ns() - used_before_ns);
    if (result)
        return result;
    source->next.one_of = (uint32_t)((seen.waiting + RECORDS_MOST - 1) / RECORDS_MOST);
    source->next.before_ns = begun_ns;
    return 0;
}

static int start(struct source *opened, struct sprof_error *error)
{
    struct waiting_source *source = of(opened);
    source->started = true;
    source->next.before_ns = sprof_clock_monotonic_ns();
    const int result = look_at_threads(source, true);
    return result ? sprof_error_set(error, (enum sprof_code)result, errno,
                                    "cannot look at threads that wait: %s", strerror(errno))
                  : 0;
}

static int wait_for(struct source *opened, uint64_t now_ns, struct source_wait *wait)
{
    struct waiting_source *source = of(opened);
    (void)now_ns;
    if (!source->paused && !source->stopped && source->next_ns < wait->deadline_ns)
        wait->deadline_ns = source->next_ns;
    return 0;
}

static int look(struct source *opened, uint64_t now_ns, const struct pollfd *polls, size_t count)
{
    struct waiting_source *source = of(opened);
    (void)polls;
    (void)count;
    if (source->stopped)
        return 0;
    source->seen_ns = now_ns;
    if (source->paused || now_ns < source->next_ns)
        return 0;
    /* What one look does not see, the next one does. */
    return look_at_threads(source, false) == SPROF_ENOMEM ? SPROF_ENOMEM : 0;
}

/* What was waited up to now is handed out, with the last look. */
static void stop(struct source *opened)
{
    struct waiting_source *source = of(opened);
    if (source->started && !source->paused && !source->stopped)
        look_at_threads(source, false);
    source->stopped = true;
}

static int set_paused(struct source *opened, bool paused, struct sprof_error *error)
{
    struct waiting_source *source = of(opened);
    if (source->paused == paused)
        return 0;
    const int result = look_at_threads(source, !paused);
    if (result)
        return sprof_error_set(error, (enum sprof_code)result, errno,
                               "cannot look at threads that wait: %s", strerror(errno));
    source->paused = paused;
    return 0;
}

/* == Handing out == */

/* The next record, whole; NULL: none. */
static const struct waiting_record *next_record(const struct waiting_source *source)
{
    const size_t left =
        (source->records.words.count - source->taken) * sizeof *source->records.words.items;
    const struct waiting_record *record =
        left ? (const void *)(source->records.words.items + source->taken) : NULL;
    return left >= sizeof *record && left - sizeof *record >= record->chain_bytes &&
                   left - sizeof *record - record->chain_bytes >= record->stack_bytes
               ? record
               : NULL;
}

static struct source_next next_time(struct source *opened)
{
    const struct waiting_source *source = (const struct waiting_source *)opened;
    const struct waiting_record *record = next_record(source);
    if (record)
        return (struct source_next){SOURCE_RECORD, record->time_ns};
    if (source->stopped)
        return (struct source_next){.state = SOURCE_ENDED};
    return (struct source_next){SOURCE_NOTHING_BEFORE, source->seen_ns};
}

static void fill(struct waiting_source *source, const struct waiting_record *waiting)
{
    struct model_record *record = &source->record;
    const uint64_t *chain = (const uint64_t *)(waiting + 1);
    *record = (struct model_record){
        .type = MODEL_RECORD_SAMPLE,
        .time_ns = waiting->time_ns,
        .event = (uint32_t)off_cpu_kind_of(waiting->entry, waiting->is),
        .pid = (pid_t)waiting->pid,
        .tid = (pid_t)waiting->tid,
        .cpu = (int)waiting->cpu,
    };
    struct model_sample *sample = &record->sample;
    sample->weight = waiting->weight_ns;
    sample->is_32bit = waiting->is_32bit;
    for (size_t i = 0; i < ARCH_REGISTERS; i++)
        sample->registers[arch_perf_registers[i].number] = waiting->registers[i];
    sample->ip = sample->registers[ARCH_PC];
    if (waiting->chain_bytes) {
        sample->in_kernel = true;
        sample->ip = *chain;
        sample->kernel_chain = chain;
        sample->kernel_chain_count = waiting->chain_bytes / sizeof *chain;
    }
    if (!waiting->stack_bytes)
        return;
    sample->register_count = ARCH_REGISTERS;
    sample->stack = (const uint8_t *)chain + waiting->chain_bytes;
    sample->stack_size = waiting->stack_bytes;
    sample->stack_full = waiting->stack_bytes >= source->next.stack_bytes;
}

static int take(struct source *opened, struct model_record **record)
{
    struct waiting_source *source = of(opened);
    const struct waiting_record *next = next_record(source);
    if (!next)
        return 1;
    fill(source, next);
    source->taken += (sizeof *next + next->chain_bytes + next->stack_bytes) / sizeof(uint64_t);
    source->counted++;
    *record = &source->record;
    return 0;
}

static void count(const struct source *opened, struct sampler_counters *counters)
{
    const struct waiting_source *source = (const struct waiting_source *)opened;
    counters->records += source->counted;
    counters->samples += source->counted;
}

static bool is_wanted(const struct sampler_options *options)
{
    return options->clock == SAMPLER_CLOCK_WALL;
}

static void facts(const struct source *source, struct sampler_facts *facts)
{
    (void)source; /* those of the source beside it hold */
    (void)facts;
}

/* Of each record the state at its look. */
static int events(const struct source *source, struct sampler_event_list *list)
{
    (void)source;
    return off_cpu_kind_events(list, NULL, 0);
}

const struct source_kind sampler_waiting_kind = {
    .name = "waiting",
    .is_wanted = is_wanted,
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
