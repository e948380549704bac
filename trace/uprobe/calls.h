/* What the BPF program of calls.bpf.c and sprof share: figures of calls, by thread and function,
 * and what a probe says of its place. Times are of CLOCK_MONOTONIC, in nanoseconds. */
#ifndef SPROF_TRACE_UPROBE_CALLS_H
#define SPROF_TRACE_UPROBE_CALLS_H

#include <linux/types.h>

enum {
    UPROBE_FRAMES = 128, /* one more than calls of a thread can be open and timed; a power of two */
    UPROBE_THREADS = 1024,
    UPROBE_FUNCTIONS = 262144, /* PROBE_THUNKS */
    UPROBE_BUCKETS = 64,       /* PROBE_BUCKETS */
    UPROBE_NEAR = 1 << 20,     /* frames so many bytes apart may be of one stack */
};

/* The cookie of a probe: 32 bits of function, then bytes; the last is how a call ends that was
 * entered with the stack pointer of that moment. */
#define UPROBE_COOKIE(function, entry, exit, condition)                                            \
    ((__u64)(function) | (__u64)(entry) << 32 | (__u64)(exit) << 40 | (__u64)(condition) << 48 |   \
     (__u64)((entry) || (exit) == UPROBE_EXIT_LEAVE ? UPROBE_IS_LEFT                               \
             : (exit) == UPROBE_EXIT_RETURN         ? UPROBE_RETURNS                               \
                                                    : UPROBE_TAILS)                                        \
         << 56)
#define UPROBE_COOKIE_FUNCTION(cookie) ((__u32)(cookie))
#define UPROBE_COOKIE_ENTRY(cookie) ((__u32)((cookie) >> 32) & 0xff)
#define UPROBE_COOKIE_EXIT(cookie) ((__u32)((cookie) >> 40) & 0xff)
#define UPROBE_COOKIE_CONDITION(cookie) ((__u32)((cookie) >> 48) & 0xff)
#define UPROBE_COOKIE_HOW(cookie) ((cookie) >> 56)

/* What the kernel does with the first instruction of a function in its place: that is most of what
 * a probe costs. */
enum uprobe_entry {
    UPROBE_ENTRY_NOT,  /* no function begins there */
    UPROBE_ENTRY_PUSH, /* it knows what the instruction does */
    UPROBE_ENTRY_NOP,
    UPROBE_ENTRY_STEP, /* it lets the processor execute a copy, and stops behind it */
    UPROBE_ENTRIES
};

enum uprobe_exit {
    UPROBE_EXIT_NOT,    /* nothing ends there */
    UPROBE_EXIT_RETURN, /* what was entered with this stack pointer returns */
    UPROBE_EXIT_TAIL,   /* … jumps elsewhere */
    UPROBE_EXIT_BRANCH, /* … does so if the processor's condition of that number holds */
    UPROBE_EXIT_LEAVE,  /* all that was entered below the stack pointer is left */
    UPROBE_EXIT_STOP,   /* nothing ends: the program is to stop here */
};

/* What is done for a function. */
enum uprobe_tier { UPROBE_OFF, UPROBE_COUNT, UPROBE_TIME };

struct uprobe_key {
    __u32 tid, function;
};

/* How a call ends. */
enum uprobe_how {
    UPROBE_RETURNS,
    UPROBE_TAILS,   /* by a jump to another function */
    UPROBE_IS_LEFT, /* otherwise, by an exception for example, or without being seen */
    UPROBE_HOWS = 4
};

/* Much as struct probe_stat of agent/probe.h has it. */
struct uprobe_stat {
    __u64 calls;             /* timed */
    __u64 ends[UPROBE_HOWS]; /* … that have ended */
    __s64 self, total;
    __u64 probe_ns;
    __u64 max, most_below; /* of one call, since `period` began: the longest, and UPROBE_LONG less
                              the shortest; 0: none has ended */
    __u64 child_calls, counted, child_counted, recursive, uncertain;
    __u64 period;
    __u32 buckets[UPROBE_BUCKETS];
};
#define UPROBE_LONG ((__u64)1 << 62)

/* A call that is open. */
struct uprobe_frame {
    __u64 slot; /* where its return address stands */
    __u64 start;
    __u64 below; /* of its time, what is that of calls below and of their probes */
    __u64 taken; /* … of their probes */
    __u64 function, entry;
    __u64 child_calls, child_counted;
};

/* The first frame is none: it is below all others. */
struct uprobe_thread {
    __u32 depth;
    __u32 all; /* for the program itself, at each probe */
    struct uprobe_frame frames[UPROBE_FRAMES];
};

/* What sprof says, through its own mapping. */
struct uprobe_control {
    __u32 stop_at_exec; /* this process stops when it has executed a program; then 0 */
    __u32 stopped;      /* how often a process was stopped */
    __u64 cleared_ns;   /* of calls that began before, what came before does not count */
    __u64 period;       /* raised whenever figures are cleared */
    __u64 lost;         /* calls of threads and functions that there was no room for */
    /* Of a call, what is its probes': between the two readings of the clock, by how it begins, and
     * outside of them, by how it ends; all of it, where it is only counted. */
    __u32 inside[UPROBE_ENTRIES], outside[UPROBE_HOWS], count[UPROBE_ENTRIES];
    __u8 tiers[UPROBE_FUNCTIONS]; /* enum uprobe_tier */
};

/* Maps are written as constants in the program: this, and a number below. sprof puts its
 * descriptors there when it loads the program. */
#define UPROBE_MAP_MARK 0x535052f6u
enum uprobe_map {
    UPROBE_MAP_CONTROL, /* one struct uprobe_control */
    UPROBE_MAP_THREADS, /* thread id → struct uprobe_thread */
    UPROBE_MAP_STATS,   /* struct uprobe_key → struct uprobe_stat */
    UPROBE_MAP_EMPTY,   /* one struct uprobe_thread, all zero */
    UPROBE_MAPS
};

#endif
