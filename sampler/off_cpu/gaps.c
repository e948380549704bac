/* Hands out gaps of threads, as the BPF programs that measure waits write them. */
#include "sampler/gaps.h"

#include "sampler/off_cpu/programs.h"
#include "sampler/perf/bpf_refusal.h"

#include <errno.h>
#include <stdlib.h>

enum { RING_BYTES = 4 << 20 }; /* of some 70 000 gaps */

struct sampler_gaps {
    struct off_cpu_programs programs;
};

int sampler_gaps_open(struct sampler_gaps **gaps, pid_t command, const pid_t *pids, size_t count,
                      const char **reason)
{
    const struct off_cpu_wanted wanted = {.command_pid = command,
                                          .pids = pids,
                                          .pid_count = count,
                                          .ring_bytes = RING_BYTES,
                                          .only_gaps = true};
    *gaps = calloc(1, sizeof **gaps);
    const int result = *gaps ? off_cpu_programs_open(&(*gaps)->programs, &wanted) : -ENOMEM;
    if (!result)
        return 0;
    *reason = perf_bpf_reason(result);
    free(*gaps);
    *gaps = NULL;
    return result;
}

bool sampler_gaps_next(struct sampler_gaps *gaps, struct sampler_gap *gap)
{
    const struct off_cpu_gap *next = off_cpu_programs_next_gap(&gaps->programs);
    if (next)
        *gap = (struct sampler_gap){.begun_ns = next->begun_ns,
                                    .ended_ns = next->ended_ns,
                                    .waiting_ns = next->blocked_ns,
                                    .ready_ns = next->ready_ns,
                                    .pid = (pid_t)next->pid,
                                    .tid = (pid_t)next->tid,
                                    .is_last = next->is_last != 0};
    return next != NULL;
}

uint64_t sampler_gaps_lost(const struct sampler_gaps *gaps)
{
    return off_cpu_programs_counts(&gaps->programs)->lost;
}

void sampler_gaps_free(struct sampler_gaps *gaps)
{
    if (!gaps)
        return;
    off_cpu_programs_close(&gaps->programs);
    free(gaps);
}
