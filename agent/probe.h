/* The protocol of a traced program's agent and its tracer. libsprof-probe.so (agent/probe/) is
 * preloaded or loaded; libsprof-probe-mapped.so is mapped where there is no loader. The tracer
 * writes thunks and jumps, and reads figures from shared memory. The program may write there,
 * too, so a reader checks every number.
 *
 * Agent and tracer meet by the value of PROBE_VARIABLE in the environment:
 *
 * - A number: one end of a SOCK_SEQPACKET pair. The agent sends a hello, answers requests for
 *   mappings, and waits for "go". If the tracer ends before, the program runs untraced.
 * - '@', a name, ':' and a secret: each executed program connects to that abstract socket, or, in
 *   another network namespace, to the file of that name in PROBE_SOCKETS. The agent accepts its
 *   own user and root; the tracer accepts its own user and, as root, peers with the secret.
 * - PROBE_LISTEN: the tracer connects later. The hello brings a descriptor of the program's
 *   memory. The agent answers "go" when it has begun. The connection lasts as long as the trace. */
#ifndef SPROF_AGENT_PROBE_H
#define SPROF_AGENT_PROBE_H

#include "agent/probe_heap.h"
#include "agent/probe_keep.h"
#include "agent/probe_window.h"
#include SPROF_ARCH_HEADER

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VARIABLE "SPROF_PROBE"
#define PROBE_LISTEN "listen"               /* the program waits for a tracer */
#define PROBE_BINDS_NOW "LD_BIND_NOW=sprof" /* stays until the agent has started */
#define PROBE_LISTENS "sprof-probe-"        /* with the process number: where the agent listens */
#define PROBE_SOCKETS "/tmp/"               /* ends with a slash */
#define PROBE_LIBRARY_STEM "libsprof-probe"
#define PROBE_LIBRARY PROBE_LIBRARY_STEM ".so"
#define PROBE_MAPPED_LIBRARY PROBE_LIBRARY_STEM "-mapped.so"
#define PROBE_MEMORY_NAME "sprof-probe" /* of the memfd */

enum {
    PROBE_MAGIC = 0x42505053, /* "SPPB" */
    PROBE_VERSION = 38,
    /* a function each, and one to calibrate */
    PROBE_THUNKS = 262144,
    PROBE_POINTS = 32768,   /* see probing/points.h */
    PROBE_OUTSIDE = 4096,   /* slots of the GOT: see probing/outside.h */
    PROBE_SLABS = 4096,     /* threads measured at once in a process */
    PROBE_BUCKETS = 64,     /* two an octave */
    PROBE_BUCKET_FIRST = 4, /* the first ends at 2^(this + 1/2) ticks */
    PROBE_FIELDS = 5,       /* struct probe_field */
};

/* == Messages == */

/* An instruction of the agent that contains an offset from the thread pointer. The tracer writes it
 * before any thunk is entered. */
struct probe_field {
    uint64_t at;
    int32_t value, reserved;
};

struct probe_hello {
    uint32_t magic, version;
    uint32_t pid;
    int32_t window_error;  /* errno of mapping the records, or 0 */
    uint64_t thunks;       /* address of the first */
    uint64_t enter, leave; /* what thunks call */
    uint64_t nothing;      /* an empty function, to calibrate */
    uint64_t errand;       /* run by a borrowed thread: arch/x86_64/probe/errand.S */
    uint64_t alive;        /* a page; thunks pass through while its first word is 0 */
    uint64_t debug;        /* the loader's _r_debug (<link.h>); 0: unknown */
    uint64_t notify;       /* the loader calls it when libraries change */
    uint64_t loaded;       /* the agent's replacement */
    /* Table of the threads' data. Address 0: the data is thread-local. */
    struct probe_table table;
    int64_t thread;        /* offset of the data: from the thread pointer, or in the table's slot */
    uint64_t thread_bytes; /* all zero before the first probe */
    uint32_t generation;   /* offset in it: 32 bits, its trace */
    uint32_t is_shared;    /* offset in it: 32 bits, whether another thread or process uses it */
    uint64_t points;       /* the first thunk of a call point */
    uint64_t point_enter, point_leave;
    uint64_t outside_enter, outside_leave;   /* for functions outside of the modules */
    uint64_t copies;                         /* of functions' beginnings: the first */
    struct probe_field fields[PROBE_FIELDS]; /* `at` is 0 with a table */
};

enum probe_request_kind {
    PROBE_MAP_SHARED, /* map the descriptor sent along; answer: address */
    PROBE_MAP_ISLAND, /* map private executable memory at exactly `address`; answer: address */
    PROBE_GO,         /* begin; no answer */
    PROBE_GIVE_UP,    /* go on untraced; no answer */
    PROBE_UNMAP,      /* unmap a mapping of the above at `address`; answer: 0 */
    /* Only in a running program: */
    /* Say hello only. Answer: 0, or minus an errno. EOPNOTSUPP: the thread may not read the
       processor's counter. ESRCH, with a table: no control block with the thread's number at the
       thread pointer, so threads cannot be distinguished. */
    PROBE_HELLO,
    PROBE_MAKE_MEMORY, /* answer: descriptor of new, empty shared memory */
    PROBE_CALIBRATE,   /* answer: 0 */
    PROBE_FIND_HANDLE, /* answer: the agent's handle, by dlopen at `address` and dlclose at `size`
                        */
    /* Adds a mapped agent's tables to the unwinder, or removes them, by the function at `address`.
       The note is at `size`. Answer: 0. */
    PROBE_REGISTER_TABLES,
    PROBE_FORGET_TABLES,
};

struct probe_request {
    uint32_t kind; /* enum probe_request_kind */
    int32_t fd;    /* of PROBE_MAP_SHARED, if none was sent along */
    uint64_t address, size;
};

struct probe_answer {
    int64_t result;
};

/* A request in a running program, on the stack of a borrowed thread that calls sprof_probe_asked.
 */
struct probe_asked {
    struct probe_request request;
    struct probe_answer answer;
    struct probe_hello hello;
    char path[4096]; /* of the agent's file */
};
#define PROBE_ASKED "sprof_probe_asked"
void sprof_probe_asked(struct probe_asked *asked);

/* Progress of a mapped agent, for the process that removes it after the tracer was killed. */
enum probe_note_state {
    PROBE_NOTE_PARTS, /* maybe mapped in part */
    PROBE_NOTE_WHOLE, /* callable; its tables are not registered */
    /* The borrowed thread calls the unwinder, and itself writes the result, in case the tracer is
       gone. After a failure this state stays. */
    PROBE_NOTE_REGISTERING,
    PROBE_NOTE_REGISTERED,
    PROBE_NOTE_FORGETTING, /* or back to WHOLE */
};

/* The last page of a mapped agent. */
struct probe_note {
    uint64_t magic, bytes;  /* of the whole mapping */
    _Atomic uint32_t state; /* enum probe_note_state */
    uint32_t reserved;
    uint64_t tables;     /* of .eh_frame; 0: none */
    uint8_t object[256]; /* for libgcc, which uses 48 bytes */
};
#define PROBE_NOTE_MAGIC UINT64_C(0x70616d2d666f7270)

/* A section with one uint32_t: whether the program began with the agent, which then stays loaded.
 * Set only with glibc. */
#define PROBE_BEGAN_WITH "sprof_began_with"

/* == Shared memory == */

enum probe_tier {
    PROBE_OFF,
    PROBE_COUNT,  /* counts; exits cannot be seen */
    PROBE_LEAVE,  /* counts, and ends calls below: an exception is being caught */
    PROBE_JUMP,   /* LEAVE for longjmp: the buffer is the first argument */
    PROBE_FULL,   /* counts and times */
    PROBE_BYTES,  /* allocators: counts bytes of checked calls */
    PROBE_CLOCK,  /* prctl: counts, and notes threads that give up the processor's counter */
    PROBE_CLONE,  /* clone(2): counts, and reads flags, the third argument */
    PROBE_UNWIND, /* counts, and restores return addresses of open calls, for an unwinder that would
                     end at thunks */
    PROBE_SYSCALL, /* libc's syscall: CLOCK and CLONE */
    PROBE_THROW,   /* LEAVE, and notes the lowest frame that an exception leaves */
    PROBE_REMARK,  /* sprof_remark() of <sprof.h> */
    PROBE_RESUME,  /* LEAVE; the exception continues after a cleanup */
    PROBE_VFORK,   /* counts, and notes where a child of vfork begins */
    PROBE_EXECUTE, /* execve: counts, and ends calls of a child of vfork */
    PROBE_CATCH,   /* LEAVE; the exception is the second argument */

    /* Flag: notes the first call in `hits`; the agent then clears it. Counts nothing. */
    PROBE_COVER = 0x40,
    PROBE_QUIET = 0x80 /* flag of LEAVE and higher tiers: counts nothing */
};

/* A function's first call, with PROBE_COVER. */
struct probe_hit {
    _Atomic uint64_t first; /* ticks; 0: not called */
    _Atomic uint32_t tid;   /* written last; 0: not called */
    _Atomic uint32_t pid;   /* written before `tid` */
};

/* Figures of a function in a thread. Times are ticks of the processor's counter minus the
 * calibrated cost of probes, so a sum over very short calls may be negative. */
struct probe_stat {
    uint64_t calls; /* timed; `calls - ended` are open */
    uint64_t ended;
    int64_t self, total;      /* total: of outermost calls */
    uint64_t probe_ticks;     /* subtracted from total */
    uint64_t max, min_mask;   /* of a call with its callees; ~min_mask is the shortest */
    uint64_t child_calls;     /* ended probed calls directly below */
    uint64_t counted;         /* only counted, not timed */
    uint64_t child_counted;   /* such directly below */
    uint64_t recursive;       /* begun while another was open */
    uint64_t tails, abnormal; /* of `ended`: left by a tail call; without a return */
    uint64_t uncertain;       /* of `ended`: self time may include other calls' (coroutines) */
    union {
        uint64_t tail_cuts; /* of `tails`: time ends at the jump */
        /* In a slab's last one: offset of the bucket that the last ended call must still raise. */
        uint64_t pending;
    };
    uint64_t unlogged; /* missing in the log: the ring was full */
};

/* Ended calls by duration. */
struct probe_histogram {
    uint32_t buckets[PROBE_BUCKETS];
};

enum probe_slab_state {
    PROBE_SLAB_FREE,
    PROBE_SLAB_TAKEN,
};

struct probe_slab {
    _Atomic uint32_t state; /* enum probe_slab_state; only the tracer frees */
    _Atomic uint32_t tid;
    _Atomic uint32_t pid; /* written before `tid` */
    uint32_t reserved;
    _Atomic uint64_t thread; /* its thread pointer */
};

/* A function below its caller's node, in one thread. An open hash table by key. */
struct probe_node {
    uint64_t key; /* depth << 48 | caller's index << 32 | function + 1; 0: free */
    uint64_t calls, ended;
    int64_t self;
};

enum {
    PROBE_NODES = 65536,     /* of a thread; 0: no caller */
    PROBE_PATH_DEPTH = 1000, /* deeper paths begin anew */
    PROBE_PATH_AT = 48,      /* bits of a record's `stat` from here on: its path */
    PROBE_STAT_BITS = 47,    /* and below: its figures' address */
};
#define PROBE_NODE_PARENT(key) ((uint32_t)((key) >> 32) & 0xffff)
#define PROBE_NODE_DEPTH(key) ((uint32_t)((key) >> 48))

/* Flags: what is done with calls. */
enum probe_extra {
    PROBE_PATHS = 1,          /* figures by path */
    PROBE_CALLERS = 2,        /* paths of two: caller and function */
    PROBE_LOG = 4,            /* logs calls in the ring; with PROBE_KEEP without the above */
    PROBE_WARN = 8,           /* reports calls beyond limits */
    PROBE_SPARE = 16,         /* writes only to pages in `pages.stats` */
    PROBE_KEEP = 32,          /* writes calls that meet a rule into the ring */
    PROBE_ARGUMENTS_TOO = 64, /* with PROBE_KEEP: saves argument words at entries */
    PROBE_STACKS = 128,       /* notes stack depth */
    PROBE_HEAP_BYTES = 256,   /* counts allocated bytes */
};

struct probe_use {
    _Atomic uint64_t stack; /* PROBE_STACKS: the most bytes above an entry */
};

/* == Warnings == */

enum probe_warning_kind {
    PROBE_SLOW = 1, /* longer than `slow`; ticks */
    PROBE_STACK,    /* began with more than `stack_part` of the stack used; bytes */
    PROBE_HEAP,     /* left more bytes allocated than allowed */
    PROBE_CHUNK, /* `value`: a block whose header changed; with `limit`: of the header so many bytes
                    behind it */
};

/* `place` counts from the trace's beginning. The index is place % PROBE_WARNINGS. */
struct probe_warning {
    _Atomic uint64_t place; /* plus 1; written last */
    uint64_t time;
    uint64_t value, limit;
    uint32_t function, slab, kind;
    uint32_t allocations, frees; /* PROBE_HEAP */
    uint32_t reserved;
};

enum { PROBE_WARNINGS = 1024 };

struct probe_warnings {
    _Atomic uint64_t head; /* agent: next place */
    _Atomic uint64_t lost;
    _Atomic uint64_t tail; /* tracer: first unread */
    /* Tracer: 256ths of a stack that may be used; 0: all. */
    _Atomic uint32_t stack_part;
    uint32_t reserved;
    struct probe_warning items[PROBE_WARNINGS];
    _Atomic uint64_t slow[PROBE_THUNKS]; /* ticks; 0: no limit */
};

/* A probe's cost for its thread, in ticks, measured with an empty function. */
struct probe_cost {
    uint32_t inside; /* of a timed call, between its readings of the counter */
    uint32_t whole;  /* of a timed call */
    uint32_t count;  /* of a counted call */
    uint32_t reserved;
};

/* Follows libraries. The loader's thread waits for the tracer, which may send it requests, and ends
 * the wait. */
enum probe_loading_state {
    PROBE_LOADING_DONE,
    PROBE_LOADING_ASKED,   /* a thread waits for the tracer */
    PROBE_LOADING_REQUEST, /* the tracer waits for an answer */
    PROBE_LOADING_ANSWERED,
    PROBE_LOADING_CLOSED, /* libraries are no longer followed */
};

struct probe_loading {
    _Atomic uint32_t state; /* enum probe_loading_state; a futex */
    _Atomic uint32_t beat;  /* the tracer raises it several times a second */
    uint32_t tracer;        /* process */
    uint32_t reserved;
    struct probe_request request;
    struct probe_answer answer;
};

/* The tracer and its mappings, for commands that join and for the process that cleans up after a
 * kill. Untrusted: the program can write here. */
enum { PROBE_ISLANDS = 256, PROBE_OUTPUT_BYTES = 1024 };
struct probe_owner {
    uint32_t pid, island_count;
    uint64_t start; /* of the process, in ticks since boot */
    uint64_t shared_at;
    uint64_t handle, close; /* dlclose and its argument, to unload the agent; 0: it stays */
    uint64_t mapped_at, mapped_bytes; /* of a mapped agent */
    uint32_t has_points;              /* they stay until the process ends */
    uint32_t is_ending;
    uint32_t has_others; /* of processes, in the same trace */
    struct probe_hello hello;
    struct {
        uint64_t address, bytes;
    } islands[PROBE_ISLANDS];
    char output[PROBE_OUTPUT_BYTES]; /* the recording's path */
};

enum {
    PROBE_PAGE = 4096,
    PROBE_STAT_PAGES = 8704, /* at most, of a slab's figures */
    PROBE_NODE_PAGES = 512,  /* of its nodes */
};

/* The least `cleared`. No call begins earlier. Jumpers' records hold less in place of a beginning,
 * so assembly leaves the end of a call that was jumped to to C. */
#define PROBE_CLEARED_NOTHING UINT64_C(2)

/* A jump to a probe. */
struct probe_site {
    uint64_t address;    /* 0: none */
    uint8_t original[8]; /* the first five bytes */
};

/* A GOT slot that holds a thunk. */
struct probe_got_slot {
    uint64_t address; /* 0: none */
    uint64_t original;
};

struct probe_stacks {
    uint64_t low, high; /* main thread */
    uint64_t bytes;     /* other threads, where known */
};

struct probe_log_bounds {
    _Atomic uint32_t depth; /* deeper calls are not logged */
    _Atomic uint32_t reach; /* `depth`, or PROBE_LOG_DEPTH_MAX; 0: log full */
};

struct probe_renewal {
    _Atomic uint64_t ticks, deadline;
};

struct probe_known_pages {
    _Atomic uint8_t stats[PROBE_SLABS][PROBE_STAT_PAGES / 8];
    _Atomic uint8_t nodes[PROBE_SLABS][PROBE_NODE_PAGES / 8];
};

struct probe_sharing {
    _Atomic uint32_t threads, has_processes;
};

struct probe_sites {
    uint32_t count;
    struct probe_site list[1 + PROBE_THUNKS];
};

struct probe_keep_of {
    _Atomic uint64_t masks[PROBE_THUNKS];
    struct probe_keep_quick quick[PROBE_THUNKS];
    struct probe_slowest slowest[PROBE_THUNKS];
    _Atomic uint32_t values[PROBE_THUNKS]; /* tracer: PROBE_VALUES_CHOSEN */
};

struct probe_uses {
    struct probe_use of[PROBE_THUNKS]; /* only a clear lowers it */
    /* By stripe of the slab, against contention. */
    struct probe_heap_use heap[PROBE_HEAP_STRIPES][PROBE_THUNKS];
};

struct probe_keep_within {
    _Atomic uint64_t rules;
    _Atomic uint64_t of[PROBE_THUNKS];
};

/* The shared file: this struct, slabs, rings. A slab: struct probe_stat by function and one for the
 * calibrating thunk (number function_count); as many words: ticks that the function's calls spent
 * outside of the traced modules; struct probe_histogram, the first for discarded calls, then by
 * function; nodes. The tracer writes the fields above the line: the first group before "go", the
 * second and `tiers` at any time. */
struct probe_shared {
    uint64_t slab_bytes;
    uint32_t slab_count;
    uint32_t function_count; /* room, also for later libraries */
    struct probe_stacks stacks;
    uint32_t tid_offset;     /* of its id, from the thread pointer; 0: a system call reads it */
    _Atomic uint32_t extras; /* enum probe_extra; changes at run time */
    uint32_t main_tid;
    uint32_t follows_forks; /* else forked processes pass through */

    /* Ticks, at least PROBE_CLEARED_NOTHING. Time before it does not count. */
    _Atomic uint64_t cleared;
    struct probe_log_bounds log;
    _Atomic uint64_t histograms; /* mask 2^n - 1 for offsets in a slab; 0: none */
    /* Ticks. A call that ends later switches all probes off. UINT64_MAX: endless, or over. */
    _Atomic uint64_t lease;
    /* ==  == */
    _Atomic uint64_t untracked;  /* threads without a slab */
    _Atomic uint32_t slabs_used; /* later ones were never taken */
    _Atomic uint32_t next_serial;
    struct probe_cost cost;
    uint32_t generation;         /* the trace's number in this process, from 1 */
    _Atomic uint32_t has_ends;   /* agent: `beyond` counts calls at a stack's end */
    _Atomic uint64_t lease_over; /* agent: the lease that ended; 0: none */
    uint64_t stack_end;          /* tracer: limit of the main thread's stack */
    /* Tracer: lasts `ticks` (0: for ever), at most until `deadline` (0: none), when probes must be
     * off. */
    struct probe_renewal renewal;
    /* The program makes one page of it a guard, at which mlockall stops. */
    uint8_t guard[2 * PROBE_PAGE];
    struct probe_slab slabs[PROBE_SLABS];
    _Atomic uint8_t tiers[PROBE_THUNKS]; /* enum probe_tier, also of the calibrating thunk; the
                                            agent only clears PROBE_COVER */
    struct probe_hit hits[PROBE_THUNKS]; /* by function; pages exist only for called ones */
    struct probe_loading loading;
    struct probe_owner owner;
    struct probe_warnings warnings;
    struct probe_heap heap;

    /* PROBE_SPARE, tracer: a bit for each page of a slab that exists. `beyond` counts calls with
     * figures on other pages, calls of threads without a slab, and calls at a stack's end. */
    struct probe_known_pages pages;
    _Atomic uint64_t beyond[PROBE_THUNKS];

    /* Later call points belong to several functions. */
    uint32_t first_open_point;

    /* Tracer: later functions are outside of the traced modules; 0: none. Slots are noted before
     * they are written, for the process that cleans up after a kill. */
    uint32_t first_outside;
    struct probe_got_slot got_slots[PROBE_OUTSIDE];

    /* Agent: threads that share thread-local data with another (`beyond` counts their calls);
     * whether a process shares the memory, and so survives the threads. Written before the other
     * one exists. */
    struct probe_sharing sharing;

    /* Tracer, if the program listens: functions' switches. The agent turns off the remaining ones
     * at the trace's end. */
    uint64_t switches[PROBE_THUNKS];

    /* Tracer, for the process that cleans up after a kill: the loader's function, then by function.
     * Noted before the jump is written. */
    struct probe_sites sites;

    /* Threads' names by prctl, by slab. The last word is written first. The tracer clears it with
     * the slab. */
    _Atomic uint64_t names[PROBE_SLABS][2];

    /* PROBE_KEEP: rules; by function a bit for each of its rules, and which returning calls meet
     * none. The tracer writes the latter two before the probe is on, and when rules change. */
    struct probe_keep keep;
    struct probe_keep_of keep_of;

    struct probe_uses uses;

    _Atomic uint64_t remarks_lost; /* agent: agent/probe/remark.h */
    /* Tracer, PROBE_KEEP: rules for calls inside certain functions, a bit each; by function, the
     * rules for which it is one. */
    struct probe_keep_within keep_within;

    struct probe_heap_met heap_met[PROBE_SLABS]; /* agent */

    _Atomic uint64_t keep_functions; /* tracer: later functions never had a rule */
};

/* Set: the agent has extended the lease, once, by this part of its length. */
#define PROBE_LEASE_EXTENDED UINT64_C(1)
enum { PROBE_LEASE_EXTENSION = 30 };

/* The end of a lease renewed `now`. probe_lease_renew has no effect after the end. */
static inline uint64_t probe_lease_until(struct probe_shared *shared, uint64_t now)
{
    const uint64_t ticks = atomic_load(&shared->renewal.ticks);
    const uint64_t deadline = atomic_load(&shared->renewal.deadline);
    const uint64_t until = ticks ? (now + ticks) & ~PROBE_LEASE_EXTENDED : UINT64_MAX;
    return deadline && deadline < until ? deadline : until;
}

static inline void probe_lease_renew(struct probe_shared *shared, uint64_t now)
{
    uint64_t before = atomic_load(&shared->lease);
    if (before != UINT64_MAX)
        atomic_compare_exchange_strong(&shared->lease, &before, probe_lease_until(shared, now));
}

#define PROBE_SHARED_GUARD                                                                         \
    ((offsetof(struct probe_shared, guard) + PROBE_PAGE - 1) / PROBE_PAGE * PROBE_PAGE)
#define PROBE_SHARED_BYTES ((sizeof(struct probe_shared) + 4095) / 4096 * 4096)

static inline uint64_t probe_stats_bytes(uint32_t functions)
{
    return ((uint64_t)(functions + 1) * (sizeof(struct probe_stat) + sizeof(int64_t)) + PROBE_PAGE -
            1) /
           PROBE_PAGE * PROBE_PAGE;
}

static inline uint64_t probe_histograms_bytes(uint32_t functions)
{
    return ((uint64_t)(functions + 2) * sizeof(struct probe_histogram) + PROBE_PAGE - 1) /
           PROBE_PAGE * PROBE_PAGE;
}

static inline uint64_t probe_slab_bytes(uint32_t functions)
{
    return probe_stats_bytes(functions) + probe_histograms_bytes(functions) +
           PROBE_NODES * sizeof(struct probe_node);
}

static inline uint64_t probe_shared_bytes(uint32_t slabs, uint64_t slab_bytes)
{
    return PROBE_SHARED_BYTES + slabs * slab_bytes + probe_ring_offset(slabs);
}

_Static_assert(sizeof(struct probe_stat) == 128 && sizeof(struct probe_histogram) == 256,
               "whole cache lines, the second twice the first");
_Static_assert((sizeof(struct probe_stat) + sizeof(int64_t)) * PROBE_THUNKS ==
                       PROBE_STAT_PAGES * PROBE_PAGE &&
                   sizeof(struct probe_node) * PROBE_NODES == PROBE_NODE_PAGES * PROBE_PAGE,
               "a bit for each page");
_Static_assert(sizeof(struct probe_log_begin) == PROBE_UNIT_BYTES &&
                   sizeof(struct probe_log_end) == PROBE_UNIT_BYTES && PROBE_THUNKS <= 1 << 18,
               "units");

static inline uint64_t probe_ticks(void)
{
    return arch_ticks();
}

/* Rules at rest take calls again. The agent may have raised `least` of their functions meanwhile.
 */
static inline void probe_keep_wake(struct probe_shared *shared, uint64_t rules)
{
    atomic_fetch_and(&shared->keep.resting, ~rules);
    const uint64_t functions = atomic_load(&shared->keep_functions);
    for (uint32_t i = 0; i < functions && i < PROBE_THUNKS; i++) {
        struct probe_keep_quick *quick = &shared->keep_of.quick[i];
        if (atomic_load(&shared->keep_of.masks[i]) & rules && atomic_load(&quick->lowered) & 1)
            atomic_store(&quick->least, probe_keep_lowest(quick));
    }
}

/* Restarts `next` of rules, for later calls. */
static inline void probe_keep_take_next(struct probe_shared *shared, uint64_t rules)
{
    uint64_t rest = 0;
    for (uint64_t left = rules; left; left &= left - 1) {
        const uint32_t number = (uint32_t)__builtin_ctzll(left);
        probe_keep_start(&shared->keep, number, probe_ticks());
        rest |= shared->keep.rules[number].rests_by_load ? 0 : left & -left;
    }
    if (rest)
        probe_keep_wake(shared, rest);
}

#endif
