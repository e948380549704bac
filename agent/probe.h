/* The protocol between a traced program's agent and its tracer. libsprof-probe.so (agent/probe/) is
 * preloaded or loaded; libsprof-probe-mapped.so is mapped where there is no loader. The tracer
 * plans the program's files, writes thunks and jumps, and reads figures from memory that both
 * share. The program may write anything into that memory, so a reader checks every number.
 *
 * PROBE_VARIABLE in the environment says how agent and tracer meet:
 *
 * - A number: an end of a socket pair (SOCK_SEQPACKET). The agent says hello, answers requests for
 *   mappings, and waits for "go". If the tracer ends before that, the program goes on untraced.
 * - '@', a name, ':' and a secret: each program that the command executes connects to that abstract
 *   socket. In another network namespace it tries the file of that name in PROBE_SOCKETS. The agent
 *   accepts its own user and root; the tracer accepts its own user and, as root, peers with the
 *   secret.
 * - PROBE_LISTEN: the tracer connects to the agent later. A descriptor of the program's memory
 *   comes with the hello, the agent answers "go" when it has begun, and the connection lasts as
 *   long as the trace. */
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
#define PROBE_LISTEN "listen"               /* as its value: the program waits for a tracer */
#define PROBE_BINDS_NOW "LD_BIND_NOW=sprof" /* with "=": stays until the agent has started */
#define PROBE_LISTENS "sprof-probe-" /* the agent listens at this name and its process number */
#define PROBE_SOCKETS "/tmp/"        /* ends with a slash */
/* The agent's file, and that of the agent for programs without a loader. */
#define PROBE_LIBRARY_STEM "libsprof-probe"
#define PROBE_LIBRARY PROBE_LIBRARY_STEM ".so"
#define PROBE_MAPPED_LIBRARY PROBE_LIBRARY_STEM "-mapped.so"
#define PROBE_MEMORY_NAME "sprof-probe" /* of the memfd */

enum {
    PROBE_MAGIC = 0x42505053, /* "SPPB" */
    PROBE_VERSION = 37,
    /* one for each probed function of a process, and one to calibrate */
    PROBE_THUNKS = 262144,
    PROBE_POINTS = 32768,   /* behind them, for places that call: see probing/points.h */
    PROBE_OUTSIDE = 4096,   /* slots of the GOT with thunks: see probing/outside.h */
    PROBE_SLABS = 4096,     /* threads of one process that are measured at the same time */
    PROBE_BUCKETS = 64,     /* of a histogram, two an octave */
    PROBE_BUCKET_FIRST = 4, /* the first bucket ends at 2^(this + 1/2) ticks */
    PROBE_FIELDS = 5,       /* struct probe_field */
};

/* == What is said over the socket == */

/* An instruction of the agent that needs an offset from the thread pointer. The tracer writes the
 * value there before any thunk is entered. */
struct probe_field {
    uint64_t at;
    int32_t value, reserved;
};

struct probe_hello {
    uint32_t magic, version;
    uint32_t pid;
    int32_t window_error;  /* errno of mapping the records; 0: they are there */
    uint64_t thunks;       /* address of the first thunk */
    uint64_t enter, leave; /* what thunks call */
    uint64_t nothing;      /* an empty function, for the thunk that calibrates */
    uint64_t errand;       /* what a borrowed thread runs: see arch/x86_64/probe/errand.S */
    uint64_t alive;        /* a page; while its first word is 0, thunks pass through */
    uint64_t debug;        /* the loader's _r_debug, as in <link.h>; 0: not known */
    uint64_t notify;       /* a function that the loader calls when libraries come and go */
    uint64_t loaded;       /* the agent's function to call instead */
    /* The table with the threads' data. Address 0: the data is thread-local. */
    struct probe_table table;
    int64_t thread; /* offset of that data, from the thread pointer or the slot in the table */
    uint64_t thread_bytes; /* its size; it is zero before the thread's first probe */
    uint32_t generation;   /* offset in it: 32 bits, the trace it belongs to */
    uint32_t is_shared; /* offset in it: 32 bits, whether another thread or process runs with it */
    uint64_t points;    /* address of the first thunk of a call point */
    uint64_t point_enter, point_leave;     /* what these thunks call */
    uint64_t outside_enter, outside_leave; /* the same for functions outside of the modules */
    uint64_t copies;                       /* address of the first copy of a function's beginning */
    struct probe_field fields[PROBE_FIELDS]; /* `at` is 0 where there is a table */
};

enum probe_request_kind {
    PROBE_MAP_SHARED, /* map the descriptor that comes along; answer: where */
    PROBE_MAP_ISLAND, /* map private executable memory at `address` exactly; answer: where */
    PROBE_GO,         /* begin; no answer */
    PROBE_GIVE_UP,    /* go on untraced; no answer */
    PROBE_UNMAP,      /* unmap what was mapped for it at `address`; answer: 0 */
    /* The following are for a running program alone. */
    /* Say hello, and begin nothing. Answer: 0, or minus an errno. EOPNOTSUPP: the thread may not
     * read the processor's counter. ESRCH, with a table: the thread pointer leads to no control
     * block with the thread's number, so threads cannot be distinguished. */
    PROBE_HELLO,
    PROBE_MAKE_MEMORY, /* answer: the descriptor of new shared memory, without any size */
    PROBE_CALIBRATE,   /* answer: 0 */
    PROBE_FIND_HANDLE, /* answer: the handle for dlclose (at `size`), by dlopen (at `address`) */
    /* For a mapped agent: registers its tables with the program's unwinder by the function at
     * `address`, or removes them. The note is at `size`. Answer: 0. */
    PROBE_REGISTER_TABLES,
    PROBE_FORGET_TABLES,
};

struct probe_request {
    uint32_t kind; /* enum probe_request_kind */
    int32_t fd;    /* of PROBE_MAP_SHARED, where none came along */
    uint64_t address, size;
};

/* An address, or minus an errno. */
struct probe_answer {
    int64_t result;
};

/* A request to an agent in a running program. A borrowed thread calls sprof_probe_asked once for
 * each request, with this on its stack. */
struct probe_asked {
    struct probe_request request;
    struct probe_answer answer;
    struct probe_hello hello;
    char path[4096]; /* of the agent's file */
};
#define PROBE_ASKED "sprof_probe_asked"
void sprof_probe_asked(struct probe_asked *asked);

/* How far a mapped agent has come. It is read by the process that removes the agent after the
 * tracer was killed. */
enum probe_note_state {
    PROBE_NOTE_PARTS, /* some parts may be mapped */
    PROBE_NOTE_WHOLE, /* it can be called; the unwinder has no tables of it */
    /* The borrowed thread calls the unwinder now, and writes the result by itself, also where the
     * tracer is gone. The state stays where that call has failed. */
    PROBE_NOTE_REGISTERING,
    PROBE_NOTE_REGISTERED,
    PROBE_NOTE_FORGETTING, /* or back to WHOLE */
};

/* A page behind all others of a mapped agent. */
struct probe_note {
    uint64_t magic, bytes;  /* of all that is mapped */
    _Atomic uint32_t state; /* enum probe_note_state */
    uint32_t reserved;
    uint64_t tables;     /* address of .eh_frame; 0: it has none */
    uint8_t object[256]; /* for libgcc, which uses 48 bytes */
};
#define PROBE_NOTE_MAGIC UINT64_C(0x70616d2d666f7270)

/* A section of the agent with one uint32_t: whether the program began with the agent, which then
 * stays loaded. It is set with glibc alone. */
#define PROBE_BEGAN_WITH "sprof_began_with"

/* == Shared memory == */

/* What a thunk does for its function. */
enum probe_tier {
    PROBE_OFF,     /* nothing */
    PROBE_COUNT,   /* counts calls of a function whose exits cannot be seen */
    PROBE_LEAVE,   /* counts, and ends the calls below: an exception is being caught */
    PROBE_JUMP,    /* as LEAVE, for longjmp: its buffer is the first argument */
    PROBE_FULL,    /* counts and times */
    PROBE_BYTES,   /* at an allocator: counts bytes for checked calls */
    PROBE_CLOCK,   /* at prctl: counts, and notices threads that give up the processor's counter */
    PROBE_CLONE,   /* at clone(2): counts, and reads the flags, the third argument */
    PROBE_UNWIND,  /* counts, and gives open calls their return addresses back, for an unwinder that
                      would end at thunks */
    PROBE_SYSCALL, /* at libc's syscall: counts, and does what CLOCK and CLONE do */
    PROBE_THROW,   /* as LEAVE, and notes the lowest frame that an exception leaves */
    PROBE_REMARK,  /* at sprof_remark() of <sprof.h>: what the program says of its calls */
    PROBE_RESUME,  /* as LEAVE, but the exception goes on after a cleanup */
    PROBE_VFORK,   /* counts, and notes where a child of vfork begins */
    PROBE_EXECUTE, /* at execve: counts, and ends the calls of a child of vfork */

    /* A flag: the first call is noted in `hits`, and the agent removes the flag. Nothing is
     * counted. */
    PROBE_COVER = 0x40,
    PROBE_QUIET = 0x80 /* a flag of LEAVE and the tiers behind it: nothing is counted */
};

/* The first call of a function, with PROBE_COVER. */
struct probe_hit {
    _Atomic uint64_t first; /* ticks; 0: not called yet */
    _Atomic uint32_t tid;   /* written last; 0: not yet */
    _Atomic uint32_t pid;   /* written before `tid` */
};

/* Figures of one function in one thread. Times are ticks of the processor's counter, without the
 * calibrated cost of probes: a sum over very short calls may be negative. */
struct probe_stat {
    uint64_t calls; /* timed calls that began; `calls - ended` are open */
    uint64_t ended;
    int64_t self, total;      /* total: outermost calls only */
    uint64_t probe_ticks;     /* what was taken off the total */
    uint64_t max, min_mask;   /* of a single call with all below it; ~min_mask is the shortest */
    uint64_t child_calls;     /* ended calls of probed functions directly below */
    uint64_t counted;         /* calls that were counted and not timed */
    uint64_t child_counted;   /* such calls directly below */
    uint64_t recursive;       /* calls begun while another was open */
    uint64_t tails, abnormal; /* of `ended`: by a tail call; without a return */
    uint64_t uncertain; /* ended calls whose self time may hold that of other calls (coroutines) */
    union {
        uint64_t tail_cuts; /* of `tails`: calls whose time ends at the jump */
        /* In the last one of a slab: the offset of the bucket that the last ended call still has to
         * raise. */
        uint64_t pending;
    };
    uint64_t unlogged; /* calls that are missing in the log because the ring was full */
};

/* Ended calls by duration. */
struct probe_histogram {
    uint32_t buckets[PROBE_BUCKETS];
};

enum probe_slab_state {
    PROBE_SLAB_FREE,
    PROBE_SLAB_TAKEN,
};

/* One thread. */
struct probe_slab {
    _Atomic uint32_t state; /* enum probe_slab_state; only the tracer frees */
    _Atomic uint32_t tid;
    _Atomic uint32_t pid; /* of its process; written before `tid` */
    uint32_t reserved;
    _Atomic uint64_t thread; /* its thread pointer */
};

/* A path of calls in one thread: a function below the node of its caller. Nodes are an open hash
 * table by key. */
struct probe_node {
    uint64_t key; /* depth << 48 | index of the caller's node << 32 | function + 1; 0: free */
    uint64_t calls, ended;
    int64_t self; /* ticks */
};

enum {
    PROBE_NODES = 65536,     /* of a thread; node 0 means no caller */
    PROBE_PATH_DEPTH = 1000, /* a deeper path begins anew */
    PROBE_PATH_AT = 48,      /* from this bit on a record's `stat` holds its path */
};
#define PROBE_NODE_PARENT(key) ((uint32_t)((key) >> 32) & 0xffff)
#define PROBE_NODE_DEPTH(key) ((uint32_t)((key) >> 48))

/* Flags: what is done with calls beside their figures. */
enum probe_extra {
    PROBE_PATHS = 1,   /* figures by path */
    PROBE_CALLERS = 2, /* figures by caller and function: paths of two */
    PROBE_LOG = 4,     /* calls are written into the thread's ring; not together with these */
    PROBE_WARN = 8,    /* calls beyond a limit are reported */
    PROBE_SPARE = 16,  /* only pages in `pages.stats` are written to */
    PROBE_KEEP = 32, /* calls that meet a rule are written into the thread's ring; not together with
                        PROBE_LOG */
    PROBE_ARGUMENTS_TOO = 64, /* with PROBE_KEEP: words of arguments are saved where calls begin */
    PROBE_STACKS = 128,       /* how deep in their stacks calls begin */
    PROBE_HEAP_BYTES = 256,   /* bytes that calls allocate, by function */
};

/* What calls of one function have used, in all threads. */
struct probe_use {
    _Atomic uint64_t stack; /* with PROBE_STACKS: bytes above an entry, at most */
};

/* == Warnings == */

enum probe_warning_kind {
    PROBE_SLOW = 1, /* a call took longer than `slow` of its function; ticks */
    PROBE_STACK,    /* a call began with more than `stack_part` of the stack in use; bytes */
    PROBE_HEAP,     /* a call left more bytes allocated than allowed */
    PROBE_CHUNK, /* `value`: a block with a changed header; with `limit`, the header that many bytes
                    behind its beginning has changed */
};

/* Places count from the beginning of the trace. A warning is at `place mod PROBE_WARNINGS`. */
struct probe_warning {
    _Atomic uint64_t place; /* its own place + 1, written last */
    uint64_t time;          /* ticks */
    uint64_t value, limit;
    uint32_t function, slab, kind;
    uint32_t allocations, frees; /* with PROBE_HEAP */
    uint32_t reserved;
};

enum { PROBE_WARNINGS = 1024 };

struct probe_warnings {
    _Atomic uint64_t head; /* the agent's: place of the next */
    _Atomic uint64_t lost; /* without room */
    _Atomic uint64_t tail; /* the tracer's: place of the first that it has not read */
    /* The tracer's: so many 256ths of a stack may be in use; 0: all. */
    _Atomic uint32_t stack_part;
    uint32_t reserved;
    struct probe_warning items[PROBE_WARNINGS];
    _Atomic uint64_t slow[PROBE_THUNKS]; /* ticks, by function; 0: no limit */
};

/* The cost of a probe for its thread, in ticks. The agent measures it by calls of an empty function
 * with a thunk and without one. */
struct probe_cost {
    uint32_t inside; /* of a timed call, between its two readings of the counter */
    uint32_t whole;  /* of a timed call */
    uint32_t count;  /* of one that is only counted */
    uint32_t reserved;
};

/* Libraries that come and go while the program runs. The loader's thread asks and waits; the tracer
 * may request mappings of it, and ends the wait. */
enum probe_loading_state {
    PROBE_LOADING_DONE,     /* no thread waits */
    PROBE_LOADING_ASKED,    /* a thread waits for the tracer */
    PROBE_LOADING_REQUEST,  /* the tracer waits for the answer to its request */
    PROBE_LOADING_ANSWERED, /* it is there */
    PROBE_LOADING_CLOSED,   /* libraries are not followed any more */
};

struct probe_loading {
    _Atomic uint32_t state; /* enum probe_loading_state; a futex */
    _Atomic uint32_t beat;  /* raised by the tracer several times a second */
    uint32_t tracer;        /* its process */
    uint32_t reserved;
    struct probe_request request;
    struct probe_answer answer;
};

/* The tracer, and what it has mapped. It is read by commands that join the trace, and by the
 * process that cleans up after a kill. The program may have written anything there. */
enum { PROBE_ISLANDS = 256, PROBE_OUTPUT_BYTES = 1024 };
struct probe_owner {
    uint32_t pid, island_count;
    uint64_t start; /* of that process, in ticks since boot */
    uint64_t shared_at;
    uint64_t handle, close; /* dlclose at `close` unloads the agent by `handle`; 0: it stays */
    uint64_t mapped_at, mapped_bytes; /* where a mapped agent is */
    uint32_t has_points;              /* call points stay until the process ends */
    uint32_t is_ending;               /* the trace is about to leave */
    uint32_t has_others;              /* other processes are traced together with it */
    struct probe_hello hello;
    struct {
        uint64_t address, bytes;
    } islands[PROBE_ISLANDS];
    char output[PROBE_OUTPUT_BYTES]; /* path of the recording */
};

enum {
    PROBE_PAGE = 4096,
    PROBE_STAT_PAGES = 8704, /* of the figures of a slab, at most */
    PROBE_NODE_PAGES = 512,  /* of its nodes */
};

/* The least value of `cleared`. No call begins before it. Records of jumpers hold less in the place
 * of their beginning, so assembly leaves the end of a call that was jumped to to C. */
#define PROBE_CLEARED_NOTHING UINT64_C(2)

/* A jump to a probe, and the bytes that were there. */
struct probe_site {
    uint64_t address;    /* 0: nowhere */
    uint8_t original[8]; /* the first five */
};

/* A slot of the GOT that holds a thunk, and what was there. */
struct probe_got_slot {
    uint64_t address; /* 0: none */
    uint64_t original;
};

struct probe_stacks {
    uint64_t low, high; /* of the main thread's */
    uint64_t bytes;     /* of other threads', where known */
};

struct probe_log_bounds {
    _Atomic uint32_t depth; /* deeper calls are not logged */
    _Atomic uint32_t reach; /* `depth`, or PROBE_LOG_DEPTH_MAX; 0: the log is full */
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
    _Atomic uint32_t values[PROBE_THUNKS]; /* the tracer's: see PROBE_VALUES_CHOSEN */
};

struct probe_uses {
    struct probe_use of[PROBE_THUNKS]; /* only a clear makes less of it */
    /* By stripe of the thread's slab, so that fewer threads write to one place. */
    struct probe_heap_use heap[PROBE_HEAP_STRIPES][PROBE_THUNKS];
};

struct probe_keep_within {
    _Atomic uint64_t rules;
    _Atomic uint64_t of[PROBE_THUNKS];
};

/* The shared file: this struct, then slabs, then rings of the log. A slab is an array of struct
 * probe_stat by function and one for the thunk that calibrates (number function_count); then as
 * many words, the ticks that calls of the function spent outside of the traced modules; then struct
 * probe_histogram, the first for discarded calls and each other for the function before it; then
 * nodes. The tracer writes the fields above the line: the first group before "go", the second group
 * and `tiers` at any time. */
struct probe_shared {
    uint64_t slab_bytes;
    uint32_t slab_count;
    uint32_t function_count; /* room, also for libraries that come later */
    struct probe_stacks stacks;
    uint32_t tid_offset; /* from the thread pointer to the thread's id; 0: the kernel is asked */
    _Atomic uint32_t extras; /* enum probe_extra; changes while the program runs */
    uint32_t main_tid;
    uint32_t follows_forks; /* forked processes are measured; else they pass through */

    /* Ticks. Of a call that began before, only the time after counts. At least
     * PROBE_CLEARED_NOTHING. */
    _Atomic uint64_t cleared;
    struct probe_log_bounds log;
    _Atomic uint64_t histograms; /* a mask 2^n - 1 for offsets in a slab; 0: none are kept */
    /* Ticks. A call that ends later switches all probes off. UINT64_MAX: no end, or it has ended.
     */
    _Atomic uint64_t lease;
    /* ==  == */
    _Atomic uint64_t untracked;  /* threads without a slab */
    _Atomic uint32_t slabs_used; /* slabs from here on were never taken */
    _Atomic uint32_t next_serial;
    struct probe_cost cost;
    uint32_t generation;         /* number of this trace in this process, from 1 */
    _Atomic uint32_t has_ends;   /* the agent's: `beyond` has calls at the end of a stack */
    _Atomic uint64_t lease_over; /* the agent's: the lease that has ended; 0: none */
    uint64_t stack_end;          /* the tracer's: limit of the main thread's stack */
    /* The tracer's. Renewal lasts for `ticks` (0: for ever), but not beyond `deadline` (0: none),
     * when probes are to be off. */
    struct probe_renewal renewal;
    /* One page of this is a guard in the program: it ends what mlockall makes. */
    uint8_t guard[2 * PROBE_PAGE];
    struct probe_slab slabs[PROBE_SLABS];
    _Atomic uint8_t tiers[PROBE_THUNKS]; /* enum probe_tier by function, and of the thunk that
                                            calibrates; the agent only removes PROBE_COVER */
    struct probe_hit hits[PROBE_THUNKS]; /* by function; pages exist where functions were called */
    struct probe_loading loading;
    struct probe_owner owner;
    struct probe_warnings warnings;
    struct probe_heap heap;

    /* With PROBE_SPARE: the pages of each slab that exist, a bit each, written by the tracer.
     * `beyond` counts, by function, calls whose figures would be on another page, calls of threads
     * without a slab, and calls at the end of a stack. */
    struct probe_known_pages pages;
    _Atomic uint64_t beyond[PROBE_THUNKS];

    /* Call points from this number on belong to several functions. */
    uint32_t first_open_point;

    /* The tracer's: functions from this number on are outside of the traced modules.
     * 0: none is. Their slots are noted before they are written, for the process
     * that cleans up after a kill. */
    uint32_t first_outside;
    struct probe_got_slot got_slots[PROBE_OUTSIDE];

    /* The agent's: threads whose thread-local data another one shares, so `beyond` counts their
     * calls; and whether a process shares the memory, which does not stop with the threads. Both
     * are written before the other one exists. */
    struct probe_sharing sharing;

    /* The tracer's, where the program listens: the switch of each function. At the end of the trace
     * the agent turns off what is still on. */
    uint64_t switches[PROBE_THUNKS];

    /* The tracer's, for the process that cleans up after a kill: the loader's function first, then
     * by function. Each is noted before its jump is written. */
    struct probe_sites sites;

    /* Names that threads gave themselves by prctl, by slab. The last word is written first. The
     * tracer clears a name when it frees the slab. */
    _Atomic uint64_t names[PROBE_SLABS][2];

    /* With PROBE_KEEP: the rules; by function those that apply to it, a bit each, and which calls
     * meet none of them when they return. The tracer writes the last two before a function's probe
     * is on, and when rules change. */
    struct probe_keep keep;
    struct probe_keep_of keep_of;

    struct probe_uses uses;

    _Atomic uint64_t remarks_lost; /* the agent's: see agent/probe/remark.h */
    /* The tracer's, with PROBE_KEEP: rules that calls meet only in a call of certain functions, a
     * bit each; and by function, for which of them it is one. */
    struct probe_keep_within keep_within;

    struct probe_heap_met heap_met[PROBE_SLABS]; /* the agent's, by slab */

    _Atomic uint64_t keep_functions; /* the tracer's: functions from this one on never had a rule */
};

/* A lease is extended once by the agent, by this part of its length. The bit marks that. */
#define PROBE_LEASE_EXTENDED UINT64_C(1)
enum { PROBE_LEASE_EXTENSION = 30 };

/* The end of a lease that is renewed now; and the renewal, unless the lease has ended. */
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

/* The parts of a slab. */
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

/* The whole file. */
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

/* The processor's counter. */
static inline uint64_t probe_ticks(void)
{
    return arch_ticks();
}

/* Rules that rest are met again. Without them, `least` of their functions may have been raised. */
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

/* Begins `next` of rules again, for calls that begin later. */
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
