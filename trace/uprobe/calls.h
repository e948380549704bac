/* Data that the BPF program of calls.bpf.c and sprof share: figures of calls by thread and
 * function, and the cookie of a probe. Times are of CLOCK_MONOTONIC, in nanoseconds. */
#ifndef SPROF_TRACE_UPROBE_CALLS_H
#define SPROF_TRACE_UPROBE_CALLS_H

#include <linux/types.h>

enum {
    UPROBE_FRAMES = 128, /* open calls of a thread that are timed, + 1; a power of two */
    UPROBE_THREADS = 1024,
    UPROBE_FUNCTIONS = 262144, /* PROBE_THUNKS */
    UPROBE_BUCKETS = 64,       /* PROBE_BUCKETS */
    UPROBE_NEAR = 1 << 20,     /* calls so many bytes apart may be on one stack */
};

/* The cookie of a probe: 32 bits of function, then bytes. The last one says how the call at the
 * present stack pointer ends. */
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

/* How the kernel treats a function's first instruction, which is most of the cost of a probe. */
enum uprobe_entry {
    UPROBE_ENTRY_NOT,  /* no function begins there */
    UPROBE_ENTRY_PUSH, /* it emulates the instruction */
    UPROBE_ENTRY_NOP,
    UPROBE_ENTRY_STEP, /* it has the processor step a copy, and stops behind it */
    UPROBE_ENTRIES
};

enum uprobe_exit {
    UPROBE_EXIT_NOT,    /* nothing ends there */
    UPROBE_EXIT_RETURN, /* the call at this stack pointer returns */
    UPROBE_EXIT_TAIL,   /* it jumps elsewhere */
    UPROBE_EXIT_BRANCH, /* it does so if the condition of that number holds */
    UPROBE_EXIT_LEAVE,  /* all calls below the stack pointer are left */
    UPROBE_EXIT_STOP,   /* nothing ends: the program stops here */
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
    UPROBE_IS_LEFT, /* otherwise, by an exception for example, or unseen */
    UPROBE_HOWS = 4
};

/* Like struct probe_stat of agent/probe.h. */
struct uprobe_stat {
    __u64 calls;             /* timed */
    __u64 ends[UPROBE_HOWS]; /* of these: ended */
    __s64 self, total;
    __u64 probe_ns;
    __u64 max, most_below; /* of one call since `period` began: the longest, and UPROBE_LONG less
                              the shortest; 0: none has ended */
    __u64 child_calls, counted, child_counted, recursive, uncertain;
    __u64 period;
    __u32 buckets[UPROBE_BUCKETS];
};
#define UPROBE_LONG ((__u64)1 << 62)

/* An open call. */
struct uprobe_frame {
    __u64 slot; /* of its return address */
    __u64 start;
    __u64 below; /* time of the calls below and of their probes */
    __u64 taken; /* of that: their probes */
    __u64 function, entry;
    __u64 child_calls, child_counted;
};

/* The first frame is none: it is below all others. */
struct uprobe_thread {
    __u32 depth;
    __u32 all; /* for the program itself, at each probe */
    struct uprobe_frame frames[UPROBE_FRAMES];
};

/* Written by sprof through its own mapping. */
struct uprobe_control {
    __u32 stop_at_exec; /* this process stops when it has executed a program; then 0 */
    __u32 stopped;      /* how often it was stopped */
    __u64 cleared_ns;   /* of calls that began before, only the time after counts */
    __u64 period;       /* raised at each clear */
    __u64 lost;         /* calls without room, of threads and functions */
    /* Cost of a call's probes: between the two readings of the clock, by how it begins; outside of
     * them, by how it ends; of a call that is only counted. */
    __u32 inside[UPROBE_ENTRIES], outside[UPROBE_HOWS], count[UPROBE_ENTRIES];
    __u8 tiers[UPROBE_FUNCTIONS]; /* enum uprobe_tier */
};

/* The program names maps by constants: this one and a number below. sprof puts descriptors there
 * when it loads the program. */
#define UPROBE_MAP_MARK 0x535052f6u
enum uprobe_map {
    UPROBE_MAP_CONTROL, /* one struct uprobe_control */
    UPROBE_MAP_THREADS, /* thread id → struct uprobe_thread */
    UPROBE_MAP_STATS,   /* struct uprobe_key → struct uprobe_stat */
    UPROBE_MAP_EMPTY,   /* one struct uprobe_thread, all zero */
    UPROBE_MAPS
};

#endif
