/* agent: what runs inside a program that is sampled without perf events, or traced (agent/probe.h),
 * and its protocol with sprof.
 *
 * libsprof-agent.so (agent/preload/) is preloaded into a launched command and its children. Each
 * thread has a timer on its own CPU clock. The handler of SIGPROF copies registers and a slice of
 * the stack into the thread's ring in memory shared with sprof, in the format of perf's records
 * (linux/perf_event.h, "enum perf_event_type"). The target may write anything into that memory: a
 * reader copies a record before it checks it, and checks every number.
 *
 * The socket (SOCK_SEQPACKET) has its path in AGENT_SOCKET_VARIABLE. One hello, one welcome with
 * two descriptors, end. Little endian, fixed sizes. */
#ifndef SPROF_AGENT_AGENT_H
#define SPROF_AGENT_AGENT_H

#include "agent/probe.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define AGENT_SOCKET_VARIABLE "SPROF_AGENT"
#define AGENT_LIBRARY "libsprof-agent.so"

enum {
    AGENT_MAGIC = 0x47415053, /* "SPAG" */
    AGENT_VERSION = 6,
    AGENT_SLOTS = 4096,        /* threads of one process that are sampled at the same time */
    AGENT_RING_MIN = 16 << 10, /* bytes of a thread's ring: a power of two */
    AGENT_RING_MAX = 256 << 10,
    AGENT_SLICE_MAX = 64512, /* bytes of a stack in one record, whose size is a 16-bit number */
    AGENT_PATH_MAX = 4096,
    AGENT_REQUESTS = 16,
    AGENT_TAILS = 64,           /* stacks beyond their slices, at the same time */
    AGENT_TAIL_BYTES = 1 << 20, /* of one such stack at most */
};

/* == What is said over the socket == */

enum agent_hello_flags {
    AGENT_HELLO_FORKED = 1, /* a child of fork, not a program that has just begun */
};

/* The agent's state in a process: in the hello, and after changes in agent_control. */
enum agent_standing {
    AGENT_SAMPLES,        /* timers run */
    AGENT_HAS_HANDLER,    /* the program handles SIGPROF itself, so the agent does nothing */
    AGENT_NO_MEMORY,      /* the rings could not be mapped */
    AGENT_NO_DESCRIPTORS, /* there is no room for the descriptors of rings and owner; in a hello
                             without a welcome */
};

/* Why a started program has no agent. */
enum agent_left_out {
    AGENT_LEFT_OUT_KIND,        /* a file that cannot take one */
    AGENT_LEFT_OUT_PLACE,       /* the library or the socket is out of reach */
    AGENT_LEFT_OUT_DESCRIPTORS, /* a child of fork without a free descriptor, and without a higher
                                   limit */
    AGENT_LEFT_OUT_REASONS
};

struct agent_hello {
    uint32_t magic, version;
    uint32_t pid, tid; /* as the target sees them; only the socket's credentials are believed */
    uint32_t flags;    /* enum agent_hello_flags */
    uint32_t standing; /* enum agent_standing */
    uint32_t tick_ns;  /* CPU timers expire in the kernel's tick, of this length */
    uint32_t parent;   /* that forked it, as the target sees it; 0: it executed a program */
    uint64_t time_ns;  /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;   /* used by the process so far */
};

/* SCM_RIGHTS brings a sealed memfd of AGENT_SHARED_BYTES, and one that the target can only read.
 * The first 32-bit word of that is of a robust mutex that the recorder holds: its low 30 bits
 * become 0 when the recorder ends, however it ends (get_robust_list(2)). */
struct agent_welcome {
    uint32_t magic;
    uint32_t refused;    /* not 0: without descriptors, the agent stays idle */
    uint32_t ring_shift; /* rings are smaller by this power of two, down to AGENT_RING_MIN */
    uint32_t reserved;
};

/* The identifier of a sample says what it holds, also during changes. */
enum agent_event {
    AGENT_EVENT_BARE = 1,  /* PERF_SAMPLE_IDENTIFIER, IP, TID, TIME, CPU, PERIOD */
    AGENT_EVENT_STACK = 2, /* the same, REGS_USER, STACK_USER */
};

#define AGENT_OWNER_MASK UINT32_C(0x3fffffff)

/* == Shared memory == */

enum agent_state { AGENT_RUN, AGENT_PAUSE };

/* The clock of the threads' timers. */
enum agent_clock {
    AGENT_CLOCK_CPU,  /* CPU time, in the kernel's ticks: no system call ends early */
    AGENT_CLOCK_WALL, /* time: threads that wait are sampled, and some of their calls end early */
    AGENT_CLOCK_FINE, /* CPU time, at any rate: a helper thread in the process finds the threads
                         that work */
};

/* On AGENT_CLOCK_WALL each thread costs a signal a period. With more threads than this the period
 * of a process is longer in proportion. */
enum { AGENT_WALL_THREADS = 64 };

/* Why threads are not sampled. */
enum agent_refusal {
    AGENT_REFUSED_SLOT,  /* more than AGENT_SLOTS threads at a time */
    AGENT_REFUSED_TIMER, /* mostly RLIMIT_SIGPENDING */
    AGENT_REFUSALS,
};

/* A request about a thread: its id. With this bit it has ended and kept its slot; without it the
 * agent has not seen the thread, and should sample it. */
#define AGENT_REQUEST_GONE (UINT32_C(1) << 31)

/* A stack beyond the slice of a sample, up to its end, where that is known. The agent takes a free
 * one and puts its number + 1 behind the sample's CPU; the recorder frees it. */
struct agent_tail {
    _Atomic uint32_t taken; /* 1: taken, 0: free */
    uint32_t reserved;
    uint64_t address, bytes; /* of the stack */
};

/* The first group is written by the recorder, the others by the agent. */
struct agent_control {
    _Atomic uint32_t state;        /* enum agent_state */
    _Atomic uint32_t clock;        /* enum agent_clock; does not change */
    _Atomic uint32_t slice_bytes;  /* of each stack at most; 0: no registers and no stack */
    _Atomic uint64_t period_ns;    /* of the clock, between two samples of a thread */
    _Atomic uint32_t tails;        /* how many tails may be taken */
    _Atomic uint32_t has_requests; /* 1: there are requests; the agent writes 0 */
    _Atomic uint32_t requests[AGENT_REQUESTS]; /* 0: none; the agent writes 0 when it is done */

    _Atomic uint32_t standing;     /* enum agent_standing */
    _Atomic uint32_t slots_used;   /* slots from here on were never taken */
    _Atomic uint32_t helper_tid;   /* AGENT_CLOCK_FINE: the helper; 0: none */
    _Atomic uint64_t helper_ns;    /* CPU time of the helper */
    _Atomic uint64_t maps_changes; /* how often code was unmapped (dlclose) */
    _Atomic uint64_t maps_ns;      /* when last */
    _Atomic uint64_t end_cpu_ns;   /* CPU time of the process at exit; 0: not yet */
    _Atomic uint64_t refused[AGENT_REFUSALS];
    _Atomic uint64_t left_out[AGENT_LEFT_OUT_REASONS]; /* started programs without an agent */
    _Atomic uint64_t blocked_ns; /* CPU time of handlers on small alternate stacks: not sampled */
    _Atomic uint64_t lost;       /* samples without room; their weight is with the next */
    struct agent_tail tail[AGENT_TAILS];
};

/* One thread, or none. */
struct agent_slot {
    _Atomic uint64_t tail;   /* how far the recorder has read */
    _Atomic uint64_t cpu_ns; /* of the thread, at its last sample */
    _Atomic uint32_t tid;    /* 0: none */
    uint32_t reserved[11];
};

/* The file: this struct, then the rings at agent_ring_offset, then the tails. All heads are
 * together, because thousands of them are read often. */
struct agent_shared {
    union {
        struct agent_control control;
        uint8_t page[4096];
    };
    _Atomic uint64_t heads[AGENT_SLOTS]; /* [slot]: how far the agent has written */
    struct agent_slot slots[AGENT_SLOTS];
};

/* Early slots have large rings and later ones small ones, so the memory of a process is bounded: 64
 * of 256 KiB, 64 of 128, 128 of 64, 256 of 32, the others of 16. That is 96 MiB, of which only
 * pages in use exist. */
static inline unsigned agent_ring_class(size_t slot)
{
    return slot < 64 ? 0 : slot < 128 ? 1 : slot < 256 ? 2 : slot < 512 ? 3 : 4;
}

static inline size_t agent_ring_bytes(size_t slot, unsigned shift)
{
    const size_t bytes = (size_t)AGENT_RING_MAX >> (agent_ring_class(slot) + (shift & 7));
    return bytes < AGENT_RING_MIN ? (size_t)AGENT_RING_MIN : bytes;
}

static inline size_t agent_ring_offset(size_t slot)
{
    static const size_t first[] = {0, 64, 128, 256, 512};
    static const size_t begin[] = {0, 16 << 20, 24 << 20, 32 << 20, 40 << 20};
    const unsigned class = agent_ring_class(slot);
    return sizeof(struct agent_shared) + begin[class] +
           (slot - first[class]) * ((size_t)AGENT_RING_MAX >> class);
}

static inline size_t agent_tail_offset(size_t tail)
{
    return sizeof(struct agent_shared) + ((size_t)40 << 20) +
           (AGENT_SLOTS - 512) * (size_t)AGENT_RING_MIN + tail * AGENT_TAIL_BYTES;
}

#define AGENT_SHARED_BYTES agent_tail_offset(AGENT_TAILS)

_Static_assert(sizeof(struct agent_control) <= 4096, "a page");
_Static_assert(sizeof(struct agent_slot) == 64, "a cache line");
_Static_assert(sizeof(struct agent_shared) % 4096 == 0, "rings begin at pages");
_Static_assert(sizeof(struct agent_hello) == 48 && sizeof(struct agent_welcome) == 16, "as agreed");

/* == Which files the agent can be loaded into == */

enum agent_file {
    AGENT_FILE_GOOD,
    AGENT_FILE_MISSING, /* no such file, or not readable: execve reports that */
    AGENT_FILE_STATIC,  /* without a loader, which would preload the agent */
    AGENT_FILE_CLASS,   /* of another word size or processor */
    AGENT_FILE_DAMAGED, /* unreadable headers, or such that lead beyond its end */
    AGENT_FILE_SETUID, /* runs as another user, or with capabilities: the loader ignores preloads */
    AGENT_FILE_GO,     /* its runtime takes SIGPROF by system calls */
    AGENT_FILE_SANITIZER, /* its run-time library must be the first, or needs addresses for itself
                           */
    AGENT_FILE_LOADER, /* a dynamic loader, which preloads the agent into its argument's program */
};

/* Beginnings of names in the run-time libraries of such sanitizers. A program with one has such a
 * name among its dynamic strings. Ends with NULL. */
extern const char *const agent_sanitizers[];

/* Checks a program, or the interpreter of a script, as execve(2) would. It allocates nothing and
 * keeps errno, because it also runs between vfork and execve. */
enum agent_file agent_check_file(const char *path);

/* The same for a program with its arguments, the first of which is its name: where it is a loader,
 * the program that the arguments name is checked. */
enum agent_file agent_check_program(const char *path, char *const *arguments);

/* The same for the file that execvp(3) would find by `name`; `found` (AGENT_PATH_MAX bytes, may be
 * NULL) gets the path of what was checked. `search` is the value of PATH, or NULL. */
enum agent_file agent_check_command(const char *name, char *const *arguments, const char *search,
                                    char *found);

/* The program that a loader's arguments name, of which the first is the loader's own name; NULL:
 * none. The result is one of the arguments. */
const char *agent_loaded_program(char *const *arguments);

#endif
