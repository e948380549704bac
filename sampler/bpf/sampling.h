/* What the BPF programs of sampling.bpf.c and sprof share: where stacks end, and the record of a
 * captured tail. Without BPF, sprof keeps the first by itself. */
#ifndef SPROF_SAMPLER_BPF_SAMPLING_H
#define SPROF_SAMPLER_BPF_SAMPLING_H

#include "sampler/bpf/id_words.h"

#include <linux/types.h>

enum {
    SAMPLING_TAIL_MAX = 1 << 20, /* bytes of one captured tail */
    SAMPLING_FIRST_STACK_SPAN = 128
                                << 20, /* the kernel keeps mappings that far from a first stack */
    SAMPLING_SPAN_MAX = 16 << 20, /* an end that far above the stack pointer is another stack's */
};

/* What `config2`, which no software event uses, holds in an event whose samples the program weighs:
 * others may share its CPU. */
enum { SAMPLING_WEIGHED = 1 };

/* Which samples are kept. */
enum sampling_keeps {
    SAMPLING_KEEPS_MEMBERS, /* of the threads whose bits are set */
    SAMPLING_KEEPS_CHOSEN,  /* of all threads that fit a struct sampling_choice */
};

/* A choice among all threads of the machine. What is zero excludes none. */
enum { SAMPLING_NAME_BYTES = 16 }; /* of a program's name, as the kernel keeps it */
struct sampling_choice {
    __u64 cgroup_id; /* it or its children, of the cgroup2 hierarchy */
    __u32 cgroup_level;
    __u32 by_user, user; /* real */
    __u32 by_name;
    __u64 name[SAMPLING_NAME_BYTES / sizeof(__u64)]; /* padded with zeroes */
};

/* How an end of a stack is known. */
enum sampling_end {
    SAMPLING_END_MAPPING = 1, /* of the mapping: the stack ends there or below */
    SAMPLING_END_EXACT,       /* the stack of a thread, or the first one of a process */
    SAMPLING_END_LEARNED,     /* a walk came to its root right below */
    SAMPLING_END_SHALLOW,     /* walks end within the slice; the rest of the mapping is not stack */
    SAMPLING_END_ELSEWHERE,   /* walks went on to another stack, which the frame pointer led to */
};

/* What is known of the stack a thread was on. The kernel's program and sprof write it without a
 * lock: what is wrong for once costs a copy, or leaves a tail to be read later. */
struct sampling_stack {
    __u32 tid; /* 0: the slot is free */
    __u32 end_is;
    __u64 low, end; /* stack pointers from low to below end are of this stack */
};

/* The slot of a thread: its tid modulo so many. */
enum { SAMPLING_STACKS = 4096 };

enum sampling_tail_kind {
    SAMPLING_TAIL_ABOVE,     /* what follows the slice */
    SAMPLING_TAIL_ELSEWHERE, /* of another stack than the stack pointer's */
    SAMPLING_TAIL_CALLS,     /* of a traced thread: struct sampling_call, its innermost */
    SAMPLING_TAIL_PLACE,     /* of a thread at a uprobe: a word, its instruction pointer there */
};

/* A traced call that has not returned, as the tracer's agent has recorded it. */
struct sampling_call {
    __u64 slot, return_address, began;
};
enum {
    SAMPLING_CALLS = 128,     /* in flight, innermost first */
    SAMPLING_CALLS_NEAR = 48, /* … and by the slots next to the stack pointer, in the agent's code,
                                 and to that of what a signal interrupted there */
};

/* A record of the ring `tails`: what a sample's slice does not hold. */
struct sampling_tail {
    __u64 time_ns; /* right before they were copied; CLOCK_MONOTONIC */
    __u32 tid, cpu;
    __u64 stack_pointer; /* of the sample: with tid, cpu and time it says whose they are */
    __u64 address;
    __u32 size, kind; /* enum sampling_tail_kind */
    __u8 bytes[];
};

/* What the samples of a clock event weigh: for each CPU the last so many, the n-th at n modulo
 * their number. The program writes the entry first and its count after it. */
enum { SAMPLING_TICKS = 4096 };

struct sampling_clock {
    __u64 grid_ns;          /* the timer's last point that is weighed; CLOCK_MONOTONIC; 0: none */
    __u64 period_ns;        /* in force then */
    __u64 change_ns;        /* sprof's: right before it changed the period last */
    __u64 pauses;           /* sprof's: that have ended */
    __u64 count;            /* of entries written */
    __u64 thread, switches; /* that the tick before met, and how often it had left a CPU by then */
    __u64 met_ns;           /* when that tick came; CLOCK_MONOTONIC */
    __u64 charged_ns;       /* and up to when its thread had been charged with CPU time by then */
    __s64 offset_ns;        /* of the scheduler's clock from CLOCK_MONOTONIC, as far as is known */
    __u64 is_unsure;        /* … which is not far */
    __u64 late_ns;          /* what late ticks stood for, all together, lately … */
    __u64 stopped_ns;       /* … and for how long the scheduler's clock has stood still */
    struct sampling_tick {
        __u64 time_ns; /* when it was due: its sample's time lies there or later, before the next */
        __u64 weight_ns;
    } ticks[SAMPLING_TICKS];
};

/* What is known of a thread that has been met by ticks, at its tid modulo so many. */
enum { SAMPLING_THREADS = 4096 };
struct sampling_thread {
    __u64 thread, sleeps, pauses; /* which, how often it had slept by then, pauses by then */
    __u64 begun_ns;               /* its CPU time at the first tick since it slept */
    __u64 weighed_ns;             /* its CPU time up to which ticks have been weighed */
};

/* Tails so far: written to the ring; and not, for it was full. */
struct sampling_counts {
    __u64 written, dropped;
};

#endif
