/* Decides how an event is opened: its rate, slice and rings. */
#include "sampler/perf/event_config.h"

#include "arch/arch.h"
#include "sampler/bpf/sampling.h"
#include "sampler/compat.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    DEFAULT_HZ = 997,
    STACK_BYTES_MAX = 65528, /* sample_stack_user is 16 bits wide and a multiple of eight */
    STACK_BYTES_MIN = 64,
    SAMPLES_PER_RING = 64,
    FIXED_BYTES = 56, /* decode.c */
    REGISTER_BYTES = 8 + ARCH_REGISTERS * 8 + 16,
    RAW_BYTES = 256,                 /* of most tracepoints */
    CHAIN_BYTES = 8 + (127 + 8) * 8, /* kernel.perf_event_max_stack and its markers */
    RING_LEAST_PC = 32 << 10,
    RING_LEAST_STACK = 128 << 10,
    RING_COMFORT_PC = 512 << 10,  /* mappings and names of many short processes */
    RING_COMFORT_STACK = 8 << 20, /* less stack makes them last longer where sprof has no CPU */
    ASSUMED_HZ = 4000,            /* of an event with a fixed period that is not a clock */
    CLOCK_PERIOD_MIN_NS = 10000,  /* perf_swevent_start_hrtimer */
};
static const char max_rate_path[] = "/proc/sys/kernel/perf_event_max_sample_rate";

static bool opens_here(const struct perf_event *event)
{
    struct perf_event_attr attr;
    perf_config_counter(&attr);
    attr.type = event->type;
    attr.config = event->config;
    attr.config1 = event->config1;
    attr.config2 = event->config2;
    const int fd = perf_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (fd != -ENOENT && fd != -EOPNOTSUPP && fd != -ENODEV && fd != -EINVAL);
}

static int parse(struct perf_config *config, const char *text, struct sprof_error *error)
{
    perf_event_list_release(&config->events);
    return perf_event_list_parse(&config->events, text, error);
}

static int choose_events(struct perf_config *config, const char *text, struct sprof_error *error)
{
    int result = parse(config, text ? text : "cycles", error);
    if (!text && !result)
        return opens_here(config->events.items) ? 0 : parse(config, "cpu-clock", error);
    for (size_t i = 0; i < config->events.count && !result; i++) {
        const struct perf_event *event = &config->events.items[i];
        if ((event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE ||
             event->type == PERF_TYPE_RAW || event->is_pmu) &&
            !opens_here(event))
            result =
                sprof_error_set(error, SPROF_EUNSUPPORTED, ENOENT,
                                "this machine has no hardware counter for `%s` (a virtual machine "
                                "often has none); use `-e cpu-clock`",
                                event->name);
    }
    return result;
}

/* The kernel lowers its limit by itself where its interrupts take too long. */
static uint64_t most_hz(void)
{
    const long most = sprof_proc_number(max_rate_path, 100000);
    return most > 0 ? (uint64_t)most : 1;
}

static int check_rate(uint64_t frequency_hz, struct sprof_error *error)
{
    const unsigned long long most = most_hz();
    if (frequency_hz <= most)
        return 0;
    return sprof_error_set(error, SPROF_EUSAGE, 0,
                           "%llu Hz is above kernel.perf_event_max_sample_rate, which is %llu\n"
                           "choose a lower rate, or run `sudo sysctl "
                           "kernel.perf_event_max_sample_rate=%llu`",
                           (unsigned long long)frequency_hz, most,
                           (unsigned long long)frequency_hz);
}

int perf_config_set_rate(struct perf_config *config, uint64_t frequency_hz,
                         struct sprof_error *error)
{
    size_t following = 0;
    for (size_t i = 0; i < config->events.count; i++)
        following += perf_config_follows(&config->events.items[i]);
    if (!following)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "each event of this recording has a period or a frequency of its "
                               "own, which stays");
    const int result = check_rate(frequency_hz, error);
    if (result)
        return result;
    config->period = 0;
    config->frequency_hz = frequency_hz;
    config->lowered = false;
    return 0;
}

/* A rate that was not asked for gives way to the limit. */
static void set_default_rate(struct perf_config *config, uint64_t frequency_hz)
{
    const uint64_t most = most_hz();
    config->lowered = frequency_hz > most;
    config->frequency_hz = config->lowered ? most : frequency_hz;
}

void perf_config_set_capture(struct perf_config *config, enum sampler_capture capture)
{
    config->capture = capture;
    config->layout.has_stack = capture != SAMPLER_CAPTURE_PC;
    config->layout.has_chain = capture == SAMPLER_CAPTURE_FULL && !config->exclude_kernel;
    config->stack_bytes_wanted = config->stack_bytes =
        config->layout.has_stack ? config->stack_bytes_asked : 0;
}

void perf_config_set_slice(struct perf_config *config, size_t stack_bytes)
{
    const size_t most = config->stack_bytes_wanted, bytes = stack_bytes / 8 * 8;
    config->stack_bytes = bytes > most ? most : bytes < STACK_BYTES_MIN ? STACK_BYTES_MIN : bytes;
}

static int choose_rate(struct perf_config *config, const struct sampler_options *options,
                       struct sprof_error *error)
{
    if (options->frequency_hz && options->period)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a frequency and a period exclude each other; give one");
    config->period = options->period;
    config->frequency_hz = options->frequency_hz;
    if (!config->period && !config->frequency_hz)
        set_default_rate(config,
                         options->clock == SAMPLER_CLOCK_WALL ? SAMPLER_WALL_HZ : DEFAULT_HZ);
    return 0;
}

static int check_period(const struct perf_event *event, uint64_t period, struct sprof_error *error)
{
    if (period >> 62)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the period %llu is too large",
                               (unsigned long long)period);
    if (event->is_clock && period && period < CLOCK_PERIOD_MIN_NS)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the period of a clock is in nanoseconds, at least %d",
                               CLOCK_PERIOD_MIN_NS);
    return 0;
}

/* Each tracepoint counts where nothing else was asked for. The program in the kernel weighs the
 * samples of one clock, and of that only where it sees all of them. */
static int settle_events(struct perf_config *config, const struct sampler_options *options,
                         struct sprof_error *error)
{
    bool weighed = config->exclude_kernel;
    int result = 0;
    for (size_t i = 0; i < config->events.count; i++)
        config->layout.has_raw |= config->events.items[i].fields.count > 0;
    for (size_t i = 0; i < config->events.count && !result; i++) {
        struct perf_event *event = &config->events.items[i];
        if (perf_event_is_tracepoint(event) && perf_config_follows(event) && !options->period &&
            !options->frequency_hz)
            event->period = 1;
        event->is_weighed =
            !weighed && event->is_clock && !event->exclude_kernel && !event->exclude_user;
        weighed |= event->is_weighed;
        result = check_rate(perf_config_frequency(config, event), error);
        if (!result)
            result = check_period(
                event, perf_config_follows(event) ? config->period : event->period, error);
    }
    return result;
}

static int make(struct perf_config *config, const struct sampler_options *options,
                struct sprof_error *error)
{
    size_t wanted = options->stack_bytes ? options->stack_bytes : STACK_BYTES_MAX;
    if (wanted > STACK_BYTES_MAX || wanted < STACK_BYTES_MIN)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a stack slice has %d to %d bytes, not %zu",
                               STACK_BYTES_MIN, STACK_BYTES_MAX, wanted);
    config->stack_bytes_asked = wanted / 8 * 8;
    perf_config_set_capture(config, options->capture);
    const bool wall = options->clock == SAMPLER_CLOCK_WALL;
    int result = choose_events(config, wall ? "cpu-clock" : options->event, error);
    if (!result)
        result = choose_rate(config, options, error);
    if (!result)
        result = settle_events(config, options, error);
    return !result && options->user_only ? perf_config_exclude_kernel(config, error) : result;
}

int perf_config_make(struct perf_config *config, const struct sampler_options *options,
                     struct sprof_error *error)
{
    *config = (struct perf_config){.capture = options->capture,
                                   .clock = options->clock,
                                   .beside_waits = options->off_cpu.wanted,
                                   .takes_switches = options->off_cpu.by_switches,
                                   .exclude_kernel = options->user_only};
    const int result = make(config, options, error);
    if (result)
        perf_config_release(config);
    return result;
}

void perf_config_release(struct perf_config *config)
{
    perf_event_list_release(&config->events);
}

int perf_config_exclude_kernel(struct perf_config *config, struct sprof_error *error)
{
    config->exclude_kernel = true;
    for (size_t i = 0; i < config->events.count; i++) {
        struct perf_event *event = &config->events.items[i];
        event->is_weighed = false;
        if (event->exclude_user)
            return sprof_error_set(
                error, SPROF_EUSAGE, 0,
                "`%s` samples the kernel alone, which is not permitted here\nrun "
                "`sudo sysctl kernel.perf_event_paranoid=1`, or run sprof as "
                "root",
                event->name);
        if (perf_event_check_user_mode(event,
                                       "kernel.perf_event_paranoid permits no more; `sudo "
                                       "sysctl kernel.perf_event_paranoid=1` does",
                                       error))
            return SPROF_EUSAGE;
    }
    return 0;
}

size_t perf_config_sample_bytes(const struct perf_config *config, size_t stack_bytes)
{
    const size_t raw = config->layout.has_raw ? RAW_BYTES : 0;
    if (config->capture == SAMPLER_CAPTURE_PC)
        return FIXED_BYTES + raw;
    const size_t chain = config->capture == SAMPLER_CAPTURE_FULL ? CHAIN_BYTES : 0;
    return FIXED_BYTES + raw + REGISTER_BYTES + chain + stack_bytes;
}

bool perf_config_follows(const struct perf_event *event)
{
    return !event->frequency_hz && !event->period;
}

uint64_t perf_config_frequency(const struct perf_config *config, const struct perf_event *event)
{
    return perf_config_follows(event) ? config->frequency_hz : event->frequency_hz;
}

uint64_t perf_config_period(const struct perf_config *config, const struct perf_event *event)
{
    const uint64_t frequency_hz = perf_config_frequency(config, event);
    if (!frequency_hz)
        return perf_config_follows(event) ? config->period : event->period;
    return event->is_clock ? UINT64_C(1000000000) / frequency_hz : 0;
}

bool perf_config_has_tracepoint(const struct perf_config *config)
{
    for (size_t i = 0; i < config->events.count; i++)
        if (perf_event_is_tracepoint(&config->events.items[i]))
            return true;
    return false;
}

static uint64_t samples_of(const struct perf_config *config, const struct perf_event *event)
{
    const uint64_t frequency_hz = perf_config_frequency(config, event);
    if (frequency_hz)
        return frequency_hz;
    if (!event->is_clock)
        return ASSUMED_HZ;
    const uint64_t period = perf_config_period(config, event);
    return period < UINT64_C(1000000000) ? UINT64_C(1000000000) / period : 1;
}

uint64_t perf_config_samples_per_second(const struct perf_config *config)
{
    uint64_t samples = 0;
    for (size_t i = 0; i < config->events.count; i++)
        samples += samples_of(config, &config->events.items[i]);
    return samples;
}

size_t perf_config_ring_least(const struct perf_config *config)
{
    return config->capture == SAMPLER_CAPTURE_PC ? RING_LEAST_PC : RING_LEAST_STACK;
}

size_t perf_config_ring_bytes(const struct perf_config *config, size_t limit)
{
    const uint64_t sample_bytes = perf_config_sample_bytes(config, config->stack_bytes);
    const uint64_t tenth = perf_config_samples_per_second(config) * sample_bytes / 10;
    const uint64_t least_samples =
        config->capture == SAMPLER_CAPTURE_PC ? 0 : SAMPLES_PER_RING * sample_bytes;
    const uint64_t needed = tenth > least_samples ? tenth : least_samples;
    const size_t least = perf_config_ring_least(config);
    const size_t comfort =
        config->capture == SAMPLER_CAPTURE_PC ? RING_COMFORT_PC : RING_COMFORT_STACK;
    size_t size = least;
    while (size * 2 <= limit && (size < needed || size < comfort))
        size *= 2;
    return size;
}

void perf_config_fit_stack(struct perf_config *config, size_t ring_bytes)
{
    if (config->capture == SAMPLER_CAPTURE_PC)
        return;
    const size_t room = ring_bytes / SAMPLES_PER_RING, others = perf_config_sample_bytes(config, 0);
    const size_t most = room > others + STACK_BYTES_MIN ? room - others : STACK_BYTES_MIN;
    if (config->stack_bytes > most)
        config->stack_bytes = most / 8 * 8;
}

/* What all events have in common. */
static void common_event(struct perf_event_attr *attr, uint64_t config)
{
    memset(attr, 0, sizeof *attr);
    attr->size = sizeof *attr;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = config;
    attr->sample_type = PERF_SAMPLE_COMMON;
    attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->exclude_kernel = 1; /* neither dummies nor clocks look at it, but permissions do */
}

static void track(struct perf_event_attr *attr)
{
    attr->mmap = attr->mmap2 = 1;
    SPROF_PERF_BUILD_ID(attr) = 1;
    attr->comm = attr->comm_exec = 1;
    attr->task = 1;
}

void perf_config_ring_event(struct perf_event_attr *attr, bool tracks)
{
    common_event(attr, PERF_COUNT_SW_DUMMY);
    attr->read_format = PERF_FORMAT_LOST;
    attr->disabled = 1;
    /* Wake at once: sampler_wait listens to the rings only while nothing is going on. */
    attr->watermark = 1;
    attr->wakeup_watermark = 1;
    if (tracks)
        track(attr);
}

void perf_config_take_switches(const struct perf_config *config, struct perf_event_attr *attr)
{
    attr->context_switch = config->takes_switches && attr->task;
}

void perf_config_sampling_event(const struct perf_config *config, size_t index,
                                struct perf_event_attr *attr, bool cpu_wide, bool tracks)
{
    const struct perf_event *event = &config->events.items[index];
    common_event(attr, event->config);
    attr->type = event->type;
    /* The two clocks sample alike; the task's has no meaning on a whole CPU. */
    if (cpu_wide && attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_TASK_CLOCK)
        attr->config = PERF_COUNT_SW_CPU_CLOCK;
    attr->read_format = PERF_FORMAT_LOST;
    attr->disabled = 1;
    const uint64_t period = perf_config_period(config, event);
    attr->freq = !period;
    attr->sample_period = period ? period : perf_config_frequency(config, event);
    attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    attr->exclude_kernel = config->exclude_kernel || event->exclude_kernel;
    attr->exclude_user = event->exclude_user;
    attr->config1 = event->config1;
    attr->config2 = event->is_weighed ? SAMPLING_WEIGHED : event->config2;
    attr->exclude_hv = !event->has_hypervisor;
    attr->precise_ip = event->precise & 3;
    attr->exclude_guest = 1;
    attr->exclude_idle = cpu_wide;
    if (config->layout.has_chain) {
        attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
        attr->exclude_callchain_user = 1;
    }
    if (config->layout.has_raw)
        attr->sample_type |= PERF_SAMPLE_RAW;
    if (config->layout.has_stack) {
        attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr->sample_regs_user = arch_perf_register_mask();
        attr->sample_stack_user = (uint32_t)config->stack_bytes;
    }
    if (tracks)
        track(attr);
    perf_config_take_switches(config, attr);
}

void perf_config_kernel_clock(struct perf_event_attr *attr)
{
    common_event(attr, PERF_COUNT_SW_CPU_CLOCK);
    attr->disabled = 1;
    attr->exclude_kernel = 0;
}

void perf_config_counter(struct perf_event_attr *attr)
{
    common_event(attr, PERF_COUNT_SW_TASK_CLOCK);
    attr->disabled = 1;
}

void perf_warm_up(void)
{
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, false);
    perf_open(&attr, 0, -1, -1); /* closed by the execve */
}
