#include "sampler/plan.h"

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
    REGISTER_BYTES = 8 + 17 * 8 + 16,
    CHAIN_BYTES = 8 + (127 + 8) * 8, /* kernel.perf_event_max_stack and its markers */
    RING_LEAST_PC = 32 << 10,
    RING_LEAST_STACK = 128 << 10,
    RING_COMFORT_PC = 512 << 10, /* mappings and names of many short processes */
    ASSUMED_HZ = 4000,           /* of an event with a fixed period that is not a clock */
    CLOCK_PERIOD_MIN_NS = 10000, /* perf_swevent_start_hrtimer */
};
static const char max_rate_path[] = "/proc/sys/kernel/perf_event_max_sample_rate";

static bool opens_here(const struct event_name *event)
{
    struct perf_event_attr attr;
    plan_counter(&attr);
    attr.type = event->type;
    attr.config = event->config;
    const int fd = perf_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (fd != -ENOENT && fd != -EOPNOTSUPP && fd != -ENODEV && fd != -EINVAL);
}

static int choose_event(struct plan *plan, const char *name, struct sprof_error *error)
{
    if (!name) {
        plan->event = event_name_find("cycles");
        if (!opens_here(plan->event))
            plan->event = event_name_find("cpu-clock");
        return 0;
    }
    plan->event = event_name_find(name);
    if (!plan->event) {
        char known[512];
        event_name_list(known, sizeof known);
        return sprof_error_set(error, SPROF_EUSAGE, 0, "unknown event `%s`; known are: %s", name,
                               known);
    }
    if (plan->event->type == PERF_TYPE_HARDWARE && !opens_here(plan->event))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, ENOENT,
                               "this machine has no hardware counter for `%s` (a virtual machine "
                               "often has none); use `-e cpu-clock`",
                               name);
    return 0;
}

static int choose_rate(struct plan *plan, const struct sampler_options *options,
                       struct sprof_error *error)
{
    if (options->frequency_hz && options->period)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a frequency and a period exclude each other; give one");
    plan->period = options->period;
    plan->frequency_hz = options->period ? 0 : options->frequency_hz;
    if (!plan->period && !plan->frequency_hz)
        plan->frequency_hz = DEFAULT_HZ;
    const long max_hz = sprof_proc_number(max_rate_path, 100000);
    if (plan->frequency_hz > (uint64_t)(max_hz > 0 ? max_hz : 1))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%llu Hz is above kernel.perf_event_max_sample_rate, which is %ld\n"
                               "choose a lower rate, or run `sudo sysctl "
                               "kernel.perf_event_max_sample_rate=%llu`",
                               (unsigned long long)plan->frequency_hz, max_hz,
                               (unsigned long long)plan->frequency_hz);
    if (plan->period >> 62)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "the period %llu is too large",
                               (unsigned long long)plan->period);
    if (plan->event->is_clock && plan->period && plan->period < CLOCK_PERIOD_MIN_NS)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "the period of a clock is in nanoseconds, at least %d",
                               CLOCK_PERIOD_MIN_NS);
    return 0;
}

int plan_make(struct plan *plan, const struct sampler_options *options, struct sprof_error *error)
{
    *plan = (struct plan){.capture = options->capture, .exclude_kernel = options->user_only};
    size_t wanted = options->stack_bytes ? options->stack_bytes : STACK_BYTES_MAX;
    if (wanted > STACK_BYTES_MAX || wanted < STACK_BYTES_MIN)
        return sprof_error_set(error, SPROF_EUSAGE, 0, "a stack slice has %d to %d bytes, not %zu",
                               STACK_BYTES_MIN, STACK_BYTES_MAX, wanted);
    if (options->capture != SAMPLER_CAPTURE_PC)
        plan->stack_bytes_wanted = plan->stack_bytes = wanted / 8 * 8;
    const int result = choose_event(plan, options->event, error);
    return result ? result : choose_rate(plan, options, error);
}

size_t plan_sample_bytes(const struct plan *plan, size_t stack_bytes)
{
    if (plan->capture == SAMPLER_CAPTURE_PC)
        return FIXED_BYTES;
    const size_t chain = plan->capture == SAMPLER_CAPTURE_FULL ? CHAIN_BYTES : 0;
    return FIXED_BYTES + REGISTER_BYTES + chain + stack_bytes;
}

uint64_t plan_samples_per_second(const struct plan *plan)
{
    if (plan->frequency_hz)
        return plan->frequency_hz;
    return plan->event->is_clock ? UINT64_C(1000000000) / plan->period : ASSUMED_HZ;
}

size_t plan_ring_least(const struct plan *plan)
{
    return plan->capture == SAMPLER_CAPTURE_PC ? RING_LEAST_PC : RING_LEAST_STACK;
}

size_t plan_ring_bytes(const struct plan *plan, size_t limit)
{
    const uint64_t sample_bytes = plan_sample_bytes(plan, plan->stack_bytes);
    const uint64_t tenth = plan_samples_per_second(plan) * sample_bytes / 10;
    const uint64_t least_samples =
        plan->capture == SAMPLER_CAPTURE_PC ? 0 : SAMPLES_PER_RING * sample_bytes;
    const uint64_t needed = tenth > least_samples ? tenth : least_samples;
    const size_t least = plan_ring_least(plan);
    const size_t comfort = plan->capture == SAMPLER_CAPTURE_PC ? RING_COMFORT_PC : RING_LEAST_STACK;
    size_t size = least;
    while (size * 2 <= limit && (size < needed || size < comfort))
        size *= 2;
    return size;
}

void plan_fit_stack(struct plan *plan, size_t ring_bytes)
{
    if (plan->capture == SAMPLER_CAPTURE_PC)
        return;
    const size_t room = ring_bytes / SAMPLES_PER_RING, others = plan_sample_bytes(plan, 0);
    const size_t most = room > others + STACK_BYTES_MIN ? room - others : STACK_BYTES_MIN;
    if (plan->stack_bytes > most)
        plan->stack_bytes = most / 8 * 8;
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
    attr->build_id = 1;
    attr->comm = attr->comm_exec = 1;
    attr->task = 1;
}

void plan_ring_event(struct perf_event_attr *attr, bool tracks)
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

void plan_sampling_event(const struct plan *plan, struct perf_event_attr *attr, bool cpu_wide,
                         bool tracks)
{
    common_event(attr, plan->event->config);
    attr->type = plan->event->type;
    /* The two clocks sample alike; the task's has no meaning on a whole CPU. */
    if (cpu_wide && attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_TASK_CLOCK)
        attr->config = PERF_COUNT_SW_CPU_CLOCK;
    attr->read_format = PERF_FORMAT_LOST;
    attr->disabled = 1;
    attr->freq = plan->frequency_hz > 0;
    attr->sample_period = plan->frequency_hz ? plan->frequency_hz : plan->period;
    attr->sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    attr->exclude_kernel = plan->exclude_kernel;
    attr->exclude_hv = 1;
    attr->exclude_guest = 1;
    attr->exclude_idle = cpu_wide;
    if (plan->layout.has_chain) {
        attr->sample_type |= PERF_SAMPLE_CALLCHAIN;
        attr->exclude_callchain_user = 1;
    }
    if (plan->layout.has_stack) {
        attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attr->sample_regs_user = decode_register_mask();
        attr->sample_stack_user = (uint32_t)plan->stack_bytes;
    }
    if (tracks)
        track(attr);
}

void plan_counter(struct perf_event_attr *attr)
{
    common_event(attr, PERF_COUNT_SW_TASK_CLOCK);
    attr->disabled = 1;
}

void perf_warm_up(void)
{
    struct perf_event_attr attr;
    plan_ring_event(&attr, false);
    perf_open(&attr, 0, -1, -1); /* closed by the execve */
}
