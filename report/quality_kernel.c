/* What an older or busier kernel took away from a measurement, in words. */
#include "report/quality_kernel.h"

#include "report/report.h"

#include <string.h>

enum {
    LATE_PERCENT = 90,     /* of the rate that was asked for: below, timers were late */
    SAMPLES_FOR_LATE = 100 /* fewer say nothing of the rate */
};

static bool begins(const char *text, const char *with)
{
    return text && !strncmp(text, with, strlen(with));
}

static bool holds(const struct report_dataset *dataset, const char *text)
{
    return dataset->run.source && strstr(dataset->run.source, text);
}

static bool is_per_cpu(const struct report_dataset *dataset)
{
    return begins(dataset->run.source, MODEL_SOURCE_PERF_CPUS);
}

/* Whether a BPF program weighed each sample by the ticks that its timer was late. */
static bool has_exact_weights(const struct report_dataset *dataset)
{
    return holds(dataset, MODEL_SOURCE_FILTERED) && !holds(dataset, MODEL_SOURCE_NO_WEIGHTS) &&
           !dataset->run.kernel_excluded;
}

static bool came_slowly(const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    return quality->samples + quality->lost >= SAMPLES_FOR_LATE && quality->requested_hz > 0 &&
           100 * quality->reached_hz < LATE_PERCENT * quality->requested_hz && !quality->lost;
}

bool report_quality_timer_was_late(const struct report_dataset *dataset)
{
    return is_per_cpu(dataset) && !has_exact_weights(dataset) && came_slowly(dataset);
}

/* Up to Linux 5.16 there are no programs. The reason is in the source's words, up to its bracket.
 */
static int note_no_bpf(struct report_dataset *dataset, struct quality_parts *notes)
{
    const char *at = strstr(dataset->run.source, MODEL_SOURCE_NO_BPF);
    const char *why = at + strlen(MODEL_SOURCE_NO_BPF);
    const bool is_old =
        dataset->run.kernel && sprof_kernel_release_is_before(dataset->run.kernel, 5, 17);
    return report_quality_part(
        dataset, notes,
        "without BPF (%.*s%s): samples have no exact weights, and stacks beyond %llu bytes were "
        "read after their samples",
        (int)strcspn(why, ")"), why, is_old ? "; Linux 5.17 and later take them" : "",
        (unsigned long long)dataset->run.stack_bytes);
}

int report_quality_note_lacks(struct report_dataset *dataset, struct quality_parts *notes)
{
    if (!is_per_cpu(dataset))
        return 0;
    if (holds(dataset, MODEL_SOURCE_NO_BPF))
        return note_no_bpf(dataset, notes);
    int result = 0;
    if (holds(dataset, MODEL_SOURCE_NO_WEIGHTS))
        result = report_quality_part(dataset, notes,
                                     "this kernel refuses the BPF program's clock: samples have no "
                                     "exact weights");
    if (!result && holds(dataset, MODEL_SOURCE_NO_CAPTURES))
        result = report_quality_part(
            dataset, notes,
            "this kernel refuses the BPF program's copies: stacks beyond %llu bytes were read "
            "after their samples",
            (unsigned long long)dataset->run.stack_bytes);
    return result;
}

int report_quality_note_rate(struct report_dataset *dataset, struct quality_parts *notes)
{
    const char *at = dataset->run.source ? strstr(dataset->run.source, MODEL_SOURCE_AT_MOST) : NULL;
    char rate[NUMBER_BYTES];
    int result = 0;
    if (at && !report_quality_is_by_agents(dataset))
        result = report_quality_part(
            dataset, notes,
            "the usual rate is above the kernel's limit, %llu Hz, which was used: `sudo sysctl "
            "kernel.perf_event_max_sample_rate=N` raises it",
            strtoull(at + strlen(MODEL_SOURCE_AT_MOST), NULL, 10));
    if (!result && begins(dataset->run.source, MODEL_SOURCE_PERF_THREADS) && came_slowly(dataset))
        result = report_quality_part(
            dataset, notes,
            "%s: the timer fired late, or threads were too short for a sample; times are too "
            "small by as much",
            report_quality_rate(rate, &dataset->quality));
    return result;
}

/* The least kernel.perf_event_mlock_kb with which an ordinary user's rings hold whole slices: a
 * ring is a power of two that holds 64 samples, and one page (sampler/perf/event_config.c). */
static unsigned long long mlock_kb(uint64_t stack_bytes)
{
    enum { SAMPLES_PER_RING = 64, BESIDE_STACK_BYTES = 2048, PAGE_KB = 4 };
    unsigned long long kb = 128;
    while (kb << 10 < SAMPLES_PER_RING * (stack_bytes + BESIDE_STACK_BYTES))
        kb *= 2;
    return kb + PAGE_KB;
}

int report_quality_note_slices(struct report_dataset *dataset, struct quality_parts *notes)
{
    const struct store_run *run = &dataset->run;
    if (run->stack_bytes >= run->stack_bytes_wanted - run->stack_bytes_wanted / 16)
        return 0; /* what an ordinary user's rings hold of the largest slice; it is not missed */
    return report_quality_part(
        dataset, notes,
        "%llu bytes of each stack were copied, not %llu: there was no more memory for rings; raise "
        "`ulimit -l`, or run `sudo sysctl kernel.perf_event_mlock_kb=%llu`",
        (unsigned long long)run->stack_bytes, (unsigned long long)run->stack_bytes_wanted,
        mlock_kb(run->stack_bytes_wanted));
}
