/* What a traced program and its tracer agree on: libsprof-probe.so (agent/probe/) is preloaded into
 * the program, or libsprof-probe-mapped.so is mapped into one that has no loader; the tracer plans
 * its files, writes thunks into the agent's area and jumps to them at the entries of functions, and
 * reads figures from memory shared with it.
 *
 * The program may write anything into that memory: whoever reads checks every number.
 *
 * The conversation, over one end of a socket pair (SOCK_SEQPACKET) whose number is in
 * PROBE_VARIABLE: the agent says hello; the tracer asks for mappings, one message each, and is
 * answered; at last it says go. Where the tracer ends before that, the program goes on untraced.
 *
 * Where the programs that a command executes are traced, too, PROBE_VARIABLE is '@' and the name of
 * a socket in Linux's abstract namespace, to which the agent of each connects, ':' and a secret
 * that only the command's processes have in their environment, which stays as it is then. A program
 * in another network namespace does not find that, and tries the file of that name in
 * PROBE_SOCKETS. The agent speaks to its own user and root, the tracer to its own and, as root, to
 * those with the secret.
 *
 * Where PROBE_VARIABLE is PROBE_LISTEN the tracer comes later, and connects to the agent. With the
 * hello comes a descriptor of the program's memory; "go" is answered when the agent has begun, and
 * the connection stays until the trace is over. Then the agent waits for the next one. */
#ifndef SPROF_AGENT_PROBE_H
#define SPROF_AGENT_PROBE_H

#include "agent/probe_heap.h"
#include "agent/probe_window.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define PROBE_VARIABLE "SPROF_PROBE"
#define PROBE_LISTEN "listen"               /* as its value: the program waits for a tracer */
#define PROBE_BINDS_NOW "LD_BIND_NOW=sprof" /* … and "=": stays until the agent has started */
#define PROBE_LISTENS "sprof-probe-"        /* … at this name and its process number */
#define PROBE_SOCKETS "/tmp/"               /* ends with a slash */
/* The agent's file, and that of the one for processes in which it is not loaded, but mapped. */
#define PROBE_LIBRARY_STEM "libsprof-probe"
#define PROBE_LIBRARY PROBE_LIBRARY_STEM ".so"
#define PROBE_MAPPED_LIBRARY PROBE_LIBRARY_STEM "-mapped.so"
#define PROBE_MEMORY_NAME "sprof-probe" /* of the memfd */

enum {
    PROBE_MAGIC = 0x42505053, /* "SPPB" */
    PROBE_VERSION = 25,
    PROBE_THUNK_BYTES = 64,
    /* One for each function of a process that is probed, and one to calibrate. */
    PROBE_THUNKS = 262144,
    PROBE_POINTS = 32768, /* thunks behind them, for places that call: see trace/probes/points.h */
    PROBE_SLABS = 4096,   /* threads of one process that can be traced at the same time */
    PROBE_BUCKETS = 64,   /* of a histogram */
    PROBE_BUCKET_FIRST = 4, /* … the first ends at 2^(this + 1/2) ticks; two an octave */
    PROBE_FIELDS = 5,       /* struct probe_field */
};

/* Where things stand in a copy of a function's beginning, of which there is one for each thunk: see
 * agent/probe/area.S. */
enum {
    PROBE_COPY_BYTES = 64,
    PROBE_COPY_PUSHED = 37,
    PROBE_COPY_OF = 38,
    PROBE_COPY_LAST = 39,
    PROBE_COPY_BRANCH = 40,
    PROBE_COPY_NEXT = 48,
    PROBE_COPY_SITE = 56,
};

/* == What is said over the socket == */

/* In an instruction of the agent's: before any thunk is entered, the tracer writes there where
 * something is from a thread's pointer. */
struct probe_field {
    uint64_t at;
    int32_t value, reserved;
};

struct probe_hello {
    uint32_t magic, version;
    uint32_t pid;
    int32_t window_error;  /* errno of mapping the records; 0: they are there */
    uint64_t thunks;       /* address of the area */
    uint64_t enter, leave; /* what thunks call */
    uint64_t nothing;      /* an empty function, for the thunk that calibrates */
    uint64_t hand;         /* what a borrowed thread runs: see agent/probe/hand.S */
    uint64_t alive;        /* a page; while its first word is 0, thunks pass through */
    uint64_t debug;        /* the loader's _r_debug, as in <link.h>; 0: not known */
    uint64_t notify;       /* what the loader calls when libraries come and go */
    uint64_t loaded;       /* … and what it is to call in its place */
    /* Of what threads have of their own; no address: that is thread-local. */
    struct probe_table table;
    int64_t thread;        /* from a thread's pointer, or its slot in the table, to that … */
    uint64_t thread_bytes; /* … which is zero before its first probe; and where in that is the … */
    uint32_t generation;               /* … 32 bits: the trace that it is of */
    uint32_t is_shared;                /* … 32 bits: whether somebody else runs with it, too */
    uint64_t points;                   /* address of the area for call points … */
    uint64_t point_enter, point_leave; /* … and what their thunks call */
    uint64_t copies;                   /* address of the first copy of a function's beginning */
    struct probe_field fields[PROBE_FIELDS]; /* with a table none: `at` is 0 */
};

enum probe_request_kind {
    PROBE_MAP_SHARED, /* map the descriptor that comes along; answer: where */
    PROBE_MAP_ISLAND, /* map private executable memory at `address` exactly; answer: where */
    PROBE_GO,         /* begin; no answer */
    PROBE_GIVE_UP,    /* go on untraced; no answer */
    PROBE_UNMAP,      /* unmap what was mapped for it at `address`; answer: 0 */
    /* Of a running program alone. */
    /* Say hello, and begin nothing. Answer: 0 or minus an errno: ENOMEM; EOPNOTSUPP: the thread may
     * not read the processor's counter; ESRCH, of agents with a table: its thread pointer leads to
     * no control block with its number in it, so that threads cannot be told apart (before the C
     * library has set that up, in a thread that it has not made, with libraries that keep it
     * elsewhere). */
    PROBE_HELLO,
    PROBE_MAKE_MEMORY, /* answer: the descriptor of new shared memory, without any size */
    PROBE_CALIBRATE,   /* answer: 0 */
    PROBE_FIND_HANDLE, /* answer: what dlopen, at `address`, and dlclose, at `size`, know it by */
    /* Of an agent that is mapped. Tells the program's unwinder of its tables by the function at
     * `address`, or takes that back; the note is at `size`. Answer: 0. */
    PROBE_REGISTER_TABLES,
    PROBE_FORGET_TABLES,
};

struct probe_request {
    uint32_t kind; /* enum probe_request_kind */
    int32_t fd;    /* of PROBE_MAP_SHARED, where it did not come along */
    uint64_t address, size;
};

/* An address, or minus an errno. */
struct probe_answer {
    int64_t result;
};

/* Into a program that runs the agent is put by dlopen, called by a thread that the tracer borrows.
 * Such a thread calls this function, of the name below, with these on its stack, once for each
 * request. */
struct probe_asked {
    struct probe_request request;
    struct probe_answer answer;
    struct probe_hello hello;
    char path[4096]; /* of the agent's file */
};
#define PROBE_ASKED "sprof_probe_asked"
void sprof_probe_asked(struct probe_asked *asked);

/* How far an agent that is mapped has come, for who takes it out when its tracer was killed. */
enum probe_note_state {
    PROBE_NOTE_PARTS, /* parts are there at most */
    PROBE_NOTE_WHOLE, /* it can be called; the unwinder does not know it */
    /* The thread that is asked is telling the unwinder, and sets what comes of it by itself, also
     * where the tracer is gone. It stays so where that call has failed. */
    PROBE_NOTE_REGISTERING,
    PROBE_NOTE_REGISTERED,
    PROBE_NOTE_FORGETTING, /* … or back to WHOLE */
};

/* A page of its own behind all others of an agent that is mapped. */
struct probe_note {
    uint64_t magic, bytes;  /* of all that is mapped */
    _Atomic uint32_t state; /* enum probe_note_state */
    uint32_t reserved;
    uint64_t tables;     /* address of .eh_frame; 0: it has none */
    uint8_t object[256]; /* what libgcc keeps of tables that it was told of takes 48 */
};
#define PROBE_NOTE_MAGIC UINT64_C(0x70616d2d666f7270)

/* A section of the agent with one uint32_t: whether the program has begun with the agent, so that
 * it is not to be unloaded. Not set with C libraries other than glibc. */
#define PROBE_BEGAN_WITH "sprof_began_with"

/* == Shared memory == */

/* What a thunk does for its function. */
enum probe_tier {
    PROBE_OFF,    /* nothing */
    PROBE_COUNT,  /* counts calls: the exits cannot be seen */
    PROBE_LEAVE,  /* counts, and ends the frames below: an exception is being caught */
    PROBE_JUMP,   /* the same, and those that a longjmp leaves: its buffer is the first argument */
    PROBE_FULL,   /* counts and times */
    PROBE_BYTES,  /* of an allocator: counts bytes for checked calls, and nothing else */
    PROBE_CLOCK,  /* of prctl: counts, and sees who may not read the processor's counter any more */
    PROBE_CLONE,  /* counts, and looks at the flags of clone(2), which are the third argument */
    PROBE_UNWIND, /* counts, and gives calls in flight their return addresses back, for an unwinder
                     that would end at thunks */
    PROBE_SYSCALL, /* of libc's syscall: counts, and looks at what CLOCK and CLONE look at */
    PROBE_THROW, /* as LEAVE, and notes how far down a stack frames are that an exception leaves */

    /* A flag: the first call is noted in `hits`, and the agent takes the flag off; where nothing
     * else is wanted of the probe, it is off then. Nothing is counted. */
    PROBE_COVER = 0x40,
    PROBE_QUIET = 0x80 /* with LEAVE and what follows it: counts nothing */
};

/* The first call of a function, with PROBE_COVER. */
struct probe_hit {
    _Atomic uint64_t first; /* ticks; 0: not called yet */
    _Atomic uint32_t tid;   /* set later; 0: not yet */
    _Atomic uint32_t pid;   /* set before it */
};

/* Figures of one function in one thread. Times are ticks of the processor's counter, without what
 * probes take as calibrated (below): a sum over calls of nearly no length may be negative. */
struct probe_stat {
    uint64_t calls; /* begun, of those that are timed; `calls - ended` are open */
    uint64_t ended;
    int64_t self, total;      /* total: of outermost calls */
    uint64_t probe_ticks;     /* what was taken off the total */
    uint64_t max, min_mask;   /* of one call, whole; ~min_mask is the shortest */
    uint64_t child_calls;     /* ended calls of probed functions, directly below */
    uint64_t counted;         /* calls that were only counted: of another tier */
    uint64_t child_counted;   /* … directly below */
    uint64_t recursive;       /* calls begun while another was open */
    uint64_t tails, abnormal; /* … of `ended`: by a tail call; without returning */
    uint64_t uncertain;       /* ended calls whose self time may hold that of others: coroutines */
    union {
        uint64_t tail_cuts; /* of `tails`: whose time ends at the jump */
        /* In the last of a slab: where in the slab the bucket is that has still to be raised by
         * one, for the call that ended last. */
        uint64_t pending;
    };
    uint64_t unlogged; /* calls that are not in the log, because the ring was full */
};

/* Ended calls by their duration. */
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
    _Atomic uint32_t pid; /* of its process, set before `tid` */
    uint32_t reserved;
    _Atomic uint64_t thread; /* its thread pointer */
};

/* A function below the functions that called it, in one thread: an open hash table, by key. */
struct probe_node {
    uint64_t key; /* depth << 48 | index of the caller's node << 32 | function + 1; 0: free */
    uint64_t calls, ended;
    int64_t self; /* ticks, as in struct probe_stat */
};

enum {
    PROBE_NODES = 65536,     /* of a thread; the first is never used: it means no caller */
    PROBE_PATH_DEPTH = 1000, /* of a path; one that is deeper begins anew */
};
#define PROBE_NODE_PARENT(key) ((uint32_t)((key) >> 32) & 0xffff)
#define PROBE_NODE_DEPTH(key) ((uint32_t)((key) >> 48))

/* What is done with calls beside their figures: flags. */
enum probe_extra {
    PROBE_PATHS = 1,   /* they are counted and timed by path, too */
    PROBE_CALLERS = 2, /* … by pairs of caller and function: paths of two */
    PROBE_LOG = 4,     /* each is written into its thread's ring; not together with the others */
    PROBE_WARN = 8,    /* those that take too long, or too much of the stack, are told */
    PROBE_SPARE = 16,  /* pages that do not exist yet are not written to: see `stat_pages` */
};

/* == Warnings == */

enum probe_warning_kind {
    PROBE_SLOW = 1, /* a call took longer than `slow` of its function allows; ticks */
    PROBE_STACK,    /* it began so deep that more than `stack_part` of the stack is in use; bytes */
    PROBE_HEAP,     /* it left more bytes allocated than it may */
    PROBE_CHUNK,    /* `value`: a block whose header, or with `limit` that so many bytes behind its
                       beginning, is not what the allocator has put there */
};

/* Places are counted from the beginning of the trace; one is at `place mod PROBE_WARNINGS`. */
struct probe_warning {
    _Atomic uint64_t place; /* its own, + 1, when the rest is there */
    uint64_t time;          /* ticks */
    uint64_t value, limit;
    uint32_t function, slab, kind;
    uint32_t allocations, frees; /* with PROBE_HEAP */
    uint32_t reserved;
};

enum { PROBE_WARNINGS = 1024 };

struct probe_warnings {
    _Atomic uint64_t head; /* the agent's: the place of the next */
    _Atomic uint64_t lost; /* found no room */
    _Atomic uint64_t tail; /* the tracer's: the place of the first that it has not read */
    /* The tracer's, too: so many parts in 256 of a stack may be in use; 0: all. */
    _Atomic uint32_t stack_part;
    uint32_t reserved;
    struct probe_warning items[PROBE_WARNINGS];
    _Atomic uint64_t slow[PROBE_THUNKS]; /* ticks, by function; 0: any */
};

/* == The log == */

/* A thread's ring: where it begins and ends, then its units, and room for one more. A call takes
 * two units where it begins, and one where it ends. Places are counted from the beginning of the
 * log, and stand at `place mod units`; the second unit stands behind the first also where that is
 * the last of the ring, and its place stays empty. The agent takes room first and fills it in then,
 * for a signal handler may come between: a unit's header says of which place it is, so that one
 * that is not filled in yet is known from what stood there before. */
struct probe_ring {
    uint64_t head; /* the agent's: the place of the next unit */
    uint64_t padding[7];
    _Atomic uint64_t tail; /* the tracer's: the place of the first that it has not read */
};

/* The first unit of a call that begins; the second one is its other four arguments. */
struct probe_log_begin {
    uint64_t header, begin; /* ticks */
    uint64_t arguments[2];
};

struct probe_log_end {
    uint64_t header, begin; /* as in what it ends */
    uint64_t ticks, self;   /* how long it was, and without probed functions, as in the figures */
};

enum {
    PROBE_UNIT_BYTES = 32,
    PROBE_ARGUMENTS = 6, /* words: what rdi, rsi, rdx, rcx, r8, r9 hold at the entry */
    PROBE_LOG_BEGIN = 1, /* kinds of units */
    PROBE_LOG_END = 2,
    PROBE_LOG_ONLY = 3, /* as BEGIN, of a call whose end cannot be seen */
    PROBE_LOG_DEPTH_MAX = (1 << 21) - 1,
    PROBE_LOG_NOBODY = (1 << 18) - 1, /* no function's number: an end of nothing */
    PROBE_RING_HEADER = 128,
    PROBE_RING_REST = 4096, /* of a ring's memory, besides its places */
};

/* How a call ended. */
enum probe_exit {
    PROBE_EXIT_RETURN,
    PROBE_EXIT_TAIL,      /* with the function that it has jumped to at its end */
    PROBE_EXIT_EXCEPTION, /* left: one was caught above it */
    PROBE_EXIT_LONGJMP,
    PROBE_EXIT_LEFT,       /* otherwise: its stack was used again */
    PROBE_EXIT_THREAD_END, /* left by pthread_exit or cancellation, which end in a longjmp, too */
    PROBE_EXIT_TAIL_CUT,   /* at such a jump: see agent/probe/end.c */
};

/* Header: 18 bits of function, 21 of depth, 3 of exit, 2 of kind, 20 of place. */
static inline uint64_t probe_log_header(uint64_t place, uint32_t kind, uint32_t exit,
                                        uint32_t depth, uint32_t function)
{
    return place << 44 | (uint64_t)kind << 42 | (uint64_t)exit << 39 | (uint64_t)depth << 18 |
           function;
}
#define PROBE_LOG_FUNCTION(header) ((uint32_t)(header)&0x3ffff)
#define PROBE_LOG_DEPTH(header) ((uint32_t)((header) >> 18) & 0x1fffff)
#define PROBE_LOG_EXIT(header) ((uint32_t)((header) >> 39) & 7)
#define PROBE_LOG_KIND(header) ((uint32_t)((header) >> 42) & 3)
#define PROBE_LOG_IS_AT(header, place) ((header) >> 44 == ((place)&0xfffff))

/* Rings are smaller the later their slabs are taken: 4 MiB, 1 MiB, 64 KiB. */
static inline uint64_t probe_ring_bytes(uint32_t slab)
{
    return slab < 16 ? UINT64_C(4) << 20 : slab < 64 ? UINT64_C(1) << 20 : UINT64_C(64) << 10;
}

static inline uint64_t probe_ring_units(uint32_t slab)
{
    return probe_ring_bytes(slab) / PROBE_UNIT_BYTES;
}

/* From the first ring on, behind the slabs. */
static inline uint64_t probe_ring_offset(uint32_t slab)
{
    const uint64_t large = slab < 16 ? slab : 16,
                   middle = slab < 16   ? 0
                            : slab < 64 ? slab - 16
                                        : 48,
                   small = slab < 64 ? 0 : slab - 64;
    return large * (PROBE_RING_REST + probe_ring_bytes(0)) +
           middle * (PROBE_RING_REST + probe_ring_bytes(16)) +
           small * (PROBE_RING_REST + probe_ring_bytes(64));
}

/* What a probe takes of its thread, in ticks: measured by the agent before it lets the program go,
 * by calls of an empty function through a thunk and without one. */
struct probe_cost {
    uint32_t inside; /* of a timed call, between its two readings of the counter */
    uint32_t whole;  /* of a timed call */
    uint32_t count;  /* of one that is only counted */
    uint32_t reserved;
};

/* Libraries that come and go while the program runs. The loader's thread has asked; the tracer does
 * what is to be done, may ask for mappings meanwhile, and says that it is done. */
enum probe_loading_state {
    PROBE_LOADING_DONE,     /* nobody waits */
    PROBE_LOADING_ASKED,    /* a thread waits for the tracer */
    PROBE_LOADING_REQUEST,  /* the tracer waits for an answer to its request */
    PROBE_LOADING_ANSWERED, /* it is there */
    PROBE_LOADING_CLOSED,   /* nobody looks at libraries any more */
};

struct probe_loading {
    _Atomic uint32_t state; /* enum probe_loading_state; a futex */
    _Atomic uint32_t beat;  /* raised by the tracer several times a second */
    uint32_t tracer;        /* its process */
    uint32_t reserved;
    struct probe_request request;
    struct probe_answer answer;
};

/* Who traces, and what it has put where: for those who are asked to join, or to clean up when the
 * tracer is gone. The program may have written anything there. */
enum { PROBE_ISLANDS = 256, PROBE_OUTPUT_BYTES = 1024 };
struct probe_owner {
    uint32_t pid, island_count;
    uint64_t start; /* of that process, in clock ticks since boot */
    uint64_t shared_at;
    uint64_t handle, close; /* what dlclose, at `close`, unloads the agent by; 0: it stays */
    uint64_t mapped_at, mapped_bytes; /* or where it is mapped, of which no loader knows */
    uint32_t has_points;              /* there are call points, which stay until the process ends */
    uint32_t is_ending;               /* the trace is over, and about to leave */
    uint32_t has_others;              /* other processes are traced together with it */
    struct probe_hello hello;
    struct {
        uint64_t address, bytes;
    } islands[PROBE_ISLANDS];
    char output[PROBE_OUTPUT_BYTES]; /* path of the recording */
};

enum {
    PROBE_PAGE = 4096,
    PROBE_STAT_PAGES = 8192, /* of the stats of a slab, at most … */
    PROBE_NODE_PAGES = 512,  /* … and of its nodes */
};

/* No call has begun before, but records of jumpers (PROBE_JUMPERS) hold less where others hold
 * their beginning: so the end of a call that was jumped to is not taken for a usual one. */
#define PROBE_CLEARED_NOTHING UINT64_C(2)

/* Where a jump to a probe stands, and what it took the place of. */
struct probe_site {
    uint64_t address;    /* 0: nowhere */
    uint8_t original[8]; /* the first five */
};

/* The file: this structure, then the slabs, then the rings of the log; the slabs are each an array
 * of struct probe_stat by function, and one for the thunk that calibrates, whose number is
 * function_count; then of struct probe_histogram, the first of which takes what nobody wants to
 * know and each other is that of the function before it; then the nodes. The tracer writes what is
 * above the line: the first group before it says go, the second, and `tiers`, at any time.
 */
struct probe_shared {
    uint64_t slab_bytes;
    uint32_t slab_count;
    uint32_t function_count;        /* that there is room for: more may come with libraries */
    uint64_t stack_low, stack_high; /* of the main thread */
    uint64_t stack_bytes;           /* of other threads, as far as known */
    uint32_t tid_offset;            /* from a thread's pointer to its id; 0: ask the kernel */
    _Atomic uint32_t extras;        /* enum probe_extra; changes while the program runs */
    uint32_t main_tid;
    uint32_t follows_forks; /* a process that was forked is measured, too; else it passes through */

    /* Ticks: of a call that began before, only what came after counts. Not less than
     * PROBE_CLEARED_NOTHING. */
    _Atomic uint64_t cleared;
    _Atomic uint32_t log_depth;  /* calls that are deeper are not logged */
    _Atomic uint32_t log_reach;  /* that, or PROBE_LOG_DEPTH_MAX; 0: it is full, none is logged */
    _Atomic uint64_t histograms; /* 2^n - 1, which offsets in a slab fit in; 0: none are kept */
    /* Ticks: a call that ends later has all probes do nothing, for nobody has renewed this.
     * UINT64_MAX: it never ends, or has ended. */
    _Atomic uint64_t lease;
    /* ==  == */
    _Atomic uint64_t untracked;  /* threads that found no slab */
    _Atomic uint32_t slabs_used; /* slabs from here on were never taken */
    _Atomic uint32_t next_serial;
    struct probe_cost cost;
    uint32_t generation; /* of this process's traces: counted from 1, before calls are measured */
    _Atomic uint32_t has_ends; /* the agent's: calls are in `beyond` because a stack ended there */
    _Atomic uint64_t lease_over; /* the agent's: the lease that ended; 0: none has */
    uint64_t stack_end;          /* the tracer's: as far as the main thread's limit lets it grow */
    /* The tracer's: for how long it is renewed, 0: for ever, but not beyond a time at which probes
     * are to be off, whoever lives; 0: none. */
    _Atomic uint64_t lease_ticks, deadline;
    /* A page within this is not there in the program, so that it ends what mlockall makes. */
    uint8_t guard[2 * PROBE_PAGE];
    struct probe_slab slabs[PROBE_SLABS];
    _Atomic uint8_t tiers[PROBE_THUNKS]; /* enum probe_tier by function, with the one that
                                            calibrates; the agent only takes PROBE_COVER off */
    struct probe_hit hits[PROBE_THUNKS]; /* by function; only what is called exists */
    struct probe_loading loading;
    struct probe_owner owner;
    struct probe_warnings warnings;
    struct probe_heap heap;

    /* With PROBE_SPARE: which pages of each slab exist, a bit for each, as the tracer says. Calls
     * of functions whose figures would be elsewhere are only counted, in `beyond`, and so are those
     * of threads that found no slab, or where a stack ended. */
    _Atomic uint8_t stat_pages[PROBE_SLABS][PROBE_STAT_PAGES / 8];
    _Atomic uint8_t node_pages[PROBE_SLABS][PROBE_NODE_PAGES / 8];
    _Atomic uint64_t beyond[PROBE_THUNKS];

    /* Call points with this number and above are not of one function alone. */
    uint32_t first_open_point;

    /* The agent's: threads that began somebody who has the same thread-local data, so that their
     * calls are counted in `beyond`, too; and whether there is a process that has the same memory,
     * which does not stand still with the threads. Both before it is there. */
    _Atomic uint32_t shared_threads, has_sharers;

    /* The tracer's, of a program that listens: where the switch of a function's probe is. When the
     * trace is over the agent turns off what the tracer has left on. */
    uint64_t switches[PROBE_THUNKS];

    /* The tracer's, for who takes probes out should it be killed: the first is that of the loader's
     * function, behind it they are by function. Each is noted before the jump is written. */
    uint32_t site_count;
    struct probe_site sites[1 + PROBE_THUNKS];

    /* As the threads of slabs have named themselves by prctl, zero bytes behind it; the tracer
     * clears a name where it frees the slab. The last word is written first. */
    _Atomic uint64_t names[PROBE_SLABS][2];
};

/* In a lease that the agent has extended, once, by this part of what it is renewed for. */
#define PROBE_LEASE_EXTENDED UINT64_C(1)
enum { PROBE_LEASE_EXTENSION = 30 };

/* Until when a lease goes that is renewed now; and renews it, unless it has ended. */
static inline uint64_t probe_lease_until(struct probe_shared *shared, uint64_t now)
{
    const uint64_t ticks = atomic_load(&shared->lease_ticks);
    const uint64_t deadline = atomic_load(&shared->deadline);
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
    return ((uint64_t)(functions + 1) * sizeof(struct probe_stat) + PROBE_PAGE - 1) / PROBE_PAGE *
           PROBE_PAGE;
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
_Static_assert(sizeof(struct probe_stat) * PROBE_THUNKS == PROBE_STAT_PAGES * PROBE_PAGE &&
                   sizeof(struct probe_node) * PROBE_NODES == PROBE_NODE_PAGES * PROBE_PAGE,
               "a bit for each page");
_Static_assert(sizeof(struct probe_log_begin) == PROBE_UNIT_BYTES &&
                   sizeof(struct probe_log_end) == PROBE_UNIT_BYTES && PROBE_THUNKS <= 1 << 18,
               "units");

/* The processor's counter, in which times are. */
static inline uint64_t probe_ticks(void)
{
    return __builtin_ia32_rdtsc();
}

/* == Thunks == */

/* The first byte of a thunk: `test $imm8, %al`, for no function looks at flags that its caller
 * left, or a jump to what passes. */
enum { PROBE_ENTRY_ON = 0xa8, PROBE_ENTRY_OFF = 0xeb };

/* Offsets into a thunk: where it goes on when its function has been entered, passes, calls the
 * function, and where that returns to. agent/probe/area.S describes the stack at each. */
enum {
    PROBE_THUNK_ENTRY = 0,
    PROBE_THUNK_ENTERED = 7, /* where what is called at the entry returns to */
    PROBE_THUNK_PASS = 9,
    PROBE_THUNK_CALL = 20,
    PROBE_THUNK_RETURN = 26,
    PROBE_THUNK_NUMBER = 40, /* of the function: 32 bits */
    PROBE_THUNK_SITE = 48,   /* where the jump to it stands; 0: of a place that calls */
    PROBE_THUNK_BODY = 56,   /* the address of the function's body */
};

#endif
