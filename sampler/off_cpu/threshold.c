/* Keeps the number of recorded waits low. */
#include "sampler/off_cpu/threshold.h"

#include "sampler/bpf/off_cpu_weight.h"

enum { MANY_PER_SECOND = 1000 };
static const uint64_t default_ns = 1000000, second_ns = 1000000000;

struct off_cpu_threshold off_cpu_threshold_of(const struct sampler_options *options)
{
    const bool governed = !options->off_cpu.has_threshold;
    return (struct off_cpu_threshold){.ns = governed ? default_ns : options->off_cpu.threshold_ns,
                                      .governed = governed};
}

bool off_cpu_threshold_govern(struct off_cpu_threshold *threshold, uint64_t kept, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns - threshold->looked_ns, before_ns = threshold->ns;
    if (!threshold->governed || passed_ns < second_ns / 4)
        return false;
    const uint64_t rate =
        threshold->looked_ns ? (kept - threshold->kept) * second_ns / passed_ns : 0;
    if (rate > MANY_PER_SECOND && threshold->ns * 2 <= OFF_CPU_THRESHOLD_MAX_NS)
        threshold->ns *= 2;
    else if (rate < MANY_PER_SECOND / 4 && threshold->ns > default_ns)
        threshold->ns /= 2;
    threshold->looked_ns = now_ns;
    threshold->kept = kept;
    return threshold->ns != before_ns;
}
