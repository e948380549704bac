/* Call figures and probe cookies that sprof and the BPF program calls.bpf.c share. Times are
 * nanoseconds of CLOCK_MONOTONIC. */
#ifndef SPROF_UPROBE_CALLS_H
#define SPROF_UPROBE_CALLS_H

#include <linux/types.h>

enum {
    UPROBE_FRAMES = 128, /* timed open calls + 1; power of two */
    UPROBE_THREADS = 1024,
    UPROBE_FUNCTIONS = 262144, /* PROBE_THUNKS */
    UPROBE_BUCKETS = 64,       /* PROBE_BUCKETS */
    UPROBE_NEAR = 1 << 20,     /* bytes: calls of one stack are closer */
};

/* A function (32 bits), then bytes: entry, exit, condition, how the call at the stack pointer
 * ends. */
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

/* How the kernel handles the first instruction, which is most of the cost. */
enum uprobe_entry {
    UPROBE_ENTRY_NOT,
    UPROBE_ENTRY_PUSH, /* emulated */
    UPROBE_ENTRY_NOP,
    UPROBE_ENTRY_STEP, /* the processor steps over a copy */
    UPROBE_ENTRIES
};

/* How a site ends the call at the stack pointer. */
enum uprobe_exit {
    UPROBE_EXIT_NOT,
    UPROBE_EXIT_RETURN,
    UPROBE_EXIT_TAIL,
    UPROBE_EXIT_BRANCH, /* jumps under this condition */
    UPROBE_EXIT_LEAVE,  /* all calls below the stack pointer end */
    UPROBE_EXIT_STOP,   /* the program stops here */
};

enum uprobe_tier { UPROBE_OFF, UPROBE_COUNT, UPROBE_TIME };

struct uprobe_key {
    __u32 tid, function;
};

enum uprobe_how {
    UPROBE_RETURNS,
    UPROBE_TAILS,
    UPROBE_IS_LEFT, /* by an exception, or unseen */
    UPROBE_HOWS = 4
};

/* Like struct probe_stat of agent/probe.h. */
struct uprobe_stat {
    __u64 calls; /* timed */
    __u64 ends[UPROBE_HOWS];
    __s64 self, total;
    __u64 probe_ns;
    __u64 max, most_below; /* of a call in `period`: longest; UPROBE_LONG minus shortest, 0: none */
    __u64 child_calls, counted, child_counted, recursive, uncertain;
    __u64 period;
    __u32 buckets[UPROBE_BUCKETS];
};
#define UPROBE_LONG ((__u64)1 << 62)

struct uprobe_frame {
    __u64 slot; /* address of the return address */
    __u64 start;
    __u64 below; /* time of callees, with probes */
    __u64 taken; /* by probes, part of `below` */
    __u64 function, entry;
    __u64 child_calls, child_counted;
};

/* The first frame is a sentinel. */
struct uprobe_thread {
    __u32 depth;
    __u32 all; /* argument of end_calls, set at each probe */
    struct uprobe_frame frames[UPROBE_FRAMES];
};

/* Written by sprof. */
struct uprobe_control {
    __u32 stop_at_exec; /* pid of the process that stops at its execve; then 0 */
    __u32 stopped;
    __u64 cleared_ns; /* of open calls, earlier time does not count */
    __u64 period;     /* rises at a clear */
    __u64 lost;       /* calls without room */
    /* Cost between clock readings by entry, outside of them by end, and of counted calls. */
    __u32 inside[UPROBE_ENTRIES], outside[UPROBE_HOWS], count[UPROBE_ENTRIES];
    __u8 tiers[UPROBE_FUNCTIONS];
};

/* Mark and number mean a map until sprof inserts its descriptor. */
#define UPROBE_MAP_MARK 0x535052f6u
enum uprobe_map {
    UPROBE_MAP_CONTROL, /* struct uprobe_control */
    UPROBE_MAP_THREADS, /* thread id → struct uprobe_thread */
    UPROBE_MAP_STATS,   /* struct uprobe_key → struct uprobe_stat */
    UPROBE_MAP_EMPTY,   /* all zero */
    UPROBE_MAPS
};

#endif
