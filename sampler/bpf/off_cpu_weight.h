/* How long a thread was blocked and ready while it had no CPU, which of these waits are kept, and
 * what they weigh: part of the program off_cpu.bpf.c, and of tests. */
#ifndef SPROF_SAMPLER_BPF_OFF_CPU_WEIGHT_H
#define SPROF_SAMPLER_BPF_OFF_CPU_WEIGHT_H

#include <linux/types.h>
#include <stdbool.h>

/* A threshold is less than 2^32 ns, so that weights do not overflow. */
#define OFF_CPU_THRESHOLD_MAX_NS 4000000000ULL

/* One wait of a thread; CLOCK_MONOTONIC. */
struct off_cpu_wait {
    __u64 begun_ns; /* when it left its CPU */
    __u64 woken_ns; /* when it was woken last, 0: never; before it left: it did not block */
    __u64 ended_ns; /* when it had a CPU again, or now */
    bool blocks;    /* it left to wait for something; else it was ready all along */
};

struct off_cpu_parts {
    __u64 blocked_ns, ready_ns;
};

static inline __attribute__((always_inline)) struct off_cpu_parts
off_cpu_split(const struct off_cpu_wait *wait)
{
    struct off_cpu_parts parts = {0, 0};
    __u64 woken_ns = wait->blocks ? wait->woken_ns : wait->begun_ns;
    if (wait->ended_ns <= wait->begun_ns)
        return parts;
    if (woken_ns < wait->begun_ns)
        woken_ns = wait->begun_ns;
    if (woken_ns > wait->ended_ns)
        woken_ns = wait->ended_ns;
    parts.blocked_ns = woken_ns - wait->begun_ns;
    parts.ready_ns = wait->ended_ns - woken_ns;
    return parts;
}

/* A wait below the threshold is kept with the probability wait / threshold, and then stands for the
 * threshold: what waits add up to has no bias, and there are no more records than time waited /
 * threshold. `random` is uniform in 32 bits. */
static inline __attribute__((always_inline)) bool off_cpu_keep(__u64 waited_ns, __u64 threshold_ns,
                                                               __u32 random)
{
    return waited_ns >= threshold_ns ||
           (waited_ns && (__u64)random * threshold_ns < waited_ns << 32);
}

/* What a part of a wait that was kept weighs. */
static inline __attribute__((always_inline)) __u64 off_cpu_weigh(__u64 part_ns, __u64 waited_ns,
                                                                 __u64 threshold_ns)
{
    return waited_ns < threshold_ns ? part_ns * threshold_ns / waited_ns : part_ns;
}

/* How long each part of a wait took, from what both weigh and how long they took together. */
static inline struct off_cpu_parts off_cpu_lasted(__u64 blocked_weight, __u64 ready_weight,
                                                  __u64 lasted_ns)
{
    const __u64 weight = blocked_weight + ready_weight;
    struct off_cpu_parts parts = {blocked_weight, ready_weight};
    if (weight > lasted_ns) /* then it is at most the threshold */
        parts.ready_ns = ready_weight * lasted_ns / weight;
    parts.blocked_ns = lasted_ns - parts.ready_ns;
    return parts;
}

#endif
