/* What the BPF programs of sampling.bpf.c and sprof share: the record of a captured stack, and the
 * words for where a thread's stack ends. */
#ifndef SPROF_SAMPLER_BPF_SAMPLING_H
#define SPROF_SAMPLER_BPF_SAMPLING_H

#include <linux/types.h>

enum {
    SAMPLING_MEMBER_WORDS = 1 << 16, /* of 64 bits: one for each thread id, PID_MAX_LIMIT */
    SAMPLING_TAIL_MAX = 1 << 20,     /* bytes of one captured tail */
    SAMPLING_SPAN_MAX = 16 << 20, /* an end that far above the stack pointer is another stack's */
};

/* In the map `stack_ends`, instead of an address. */
#define SAMPLING_END_IN_SLICE ((__u64)-2)
#define SAMPLING_END_ELSEWHERE ((__u64)-3)

/* A record of the ring `tails`: bytes of a stack beyond its slice. */
struct sampling_tail {
    __u64 time_ns; /* right before they were copied; CLOCK_MONOTONIC */
    __u32 tid, cpu;
    __u64 address;
    __u32 size, elsewhere; /* elsewhere: of another stack than the stack pointer's */
    __u8 bytes[];
};

#endif
