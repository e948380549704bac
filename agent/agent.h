/* Code that runs inside a sampled or traced (agent/probe.h) program, and its protocol with sprof.
 *
 * libsprof-agent.so (agent/preload/) samples without perf events: it is preloaded into a command
 * and its children. Each thread has a timer on its CPU clock. The SIGPROF handler copies
 * registers and a slice of the stack into the thread's ring in shared memory, as perf's records
 * (linux/perf_event.h, "enum perf_event_type"). The target may write anything there: a reader
 * copies a record, then checks every number.
 *
 * The socket (SOCK_SEQPACKET) has its path in AGENT_SOCKET_VARIABLE: one hello, one welcome with
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
    AGENT_SLOTS = 4096,        /* threads sampled at once in a process */
    AGENT_RING_MIN = 16 << 10, /* bytes of a thread's ring: a power of two */
    AGENT_RING_MAX = 256 << 10,
    AGENT_SLICE_MAX = 64512, /* bytes of a stack in a record, whose size has 16 bits */
    AGENT_PATH_MAX = 4096,
    AGENT_REQUESTS = 16,
    AGENT_TAILS = 64,           /* at once */
    AGENT_TAIL_BYTES = 1 << 20, /* of one, at most */
};

/* == Messages == */

enum agent_hello_flags {
    AGENT_HELLO_FORKED = 1, /* the process began by fork */
};

/* The agent's state: in the hello, and after changes in agent_control. */
enum agent_standing {
    AGENT_SAMPLES,        /* timers run */
    AGENT_HAS_HANDLER,    /* the program handles SIGPROF; the agent does nothing */
    AGENT_NO_MEMORY,      /* for the rings */
    AGENT_NO_DESCRIPTORS, /* for rings and owner; in a hello without a welcome */
};

/* Why a started program has no agent. */
enum agent_left_out {
    AGENT_LEFT_OUT_KIND,        /* the file's kind */
    AGENT_LEFT_OUT_PLACE,       /* library or socket is out of reach */
    AGENT_LEFT_OUT_DESCRIPTORS, /* in a child of fork, at the limit */
    AGENT_LEFT_OUT_REASONS
};

struct agent_hello {
    uint32_t magic, version;
    uint32_t pid, tid; /* as the target sees them; only the socket's credentials are trusted */
    uint32_t flags;    /* enum agent_hello_flags */
    uint32_t standing; /* enum agent_standing */
    uint32_t tick_ns;  /* the kernel's tick, in which CPU timers expire */
    uint32_t parent;   /* of a forked process, as the target sees it; 0: it executed a program */
    uint64_t time_ns;  /* CLOCK_MONOTONIC */
    uint64_t cpu_ns;   /* of the process so far */
};

/* SCM_RIGHTS brings a sealed memfd of AGENT_SHARED_BYTES, and one that the target can only read.
 * The latter begins with the 32-bit word of a robust mutex of the recorder: its low 30 bits become
 * 0 at the recorder's end, however it ends (get_robust_list(2)). */
struct agent_welcome {
    uint32_t magic;
    uint32_t refused;    /* not 0: no descriptors; the agent idles */
    uint32_t ring_shift; /* rings are smaller by this power of two, at least AGENT_RING_MIN */
    uint32_t reserved;
};

/* A sample's identifier: its contents. */
enum agent_event {
    AGENT_EVENT_BARE = 1,  /* PERF_SAMPLE_IDENTIFIER, IP, TID, TIME, CPU, PERIOD */
    AGENT_EVENT_STACK = 2, /* the same and REGS_USER, STACK_USER */
};

#define AGENT_OWNER_MASK UINT32_C(0x3fffffff)

/* == Shared memory == */

enum agent_state { AGENT_RUN, AGENT_PAUSE };

/* Clock of the threads' timers. */
enum agent_clock {
    AGENT_CLOCK_CPU,  /* CPU time in ticks: no system call ends early */
    AGENT_CLOCK_WALL, /* waiting threads are sampled; some of their calls end early */
    AGENT_CLOCK_FINE, /* CPU time at any rate: a helper thread finds the working threads */
};

/* AGENT_CLOCK_WALL costs each thread a signal a period. With more threads the period is longer in
 * proportion. */
enum { AGENT_WALL_THREADS = 64 };

/* Why threads are not sampled. */
enum agent_refusal {
    AGENT_REFUSED_SLOT,  /* more than AGENT_SLOTS at once */
    AGENT_REFUSED_TIMER, /* mostly RLIMIT_SIGPENDING */
    AGENT_REFUSALS,
};

/* A requested thread's id. With this bit it ended and kept its slot; else the agent missed it, and
 * should sample it. */
#define AGENT_REQUEST_GONE (UINT32_C(1) << 31)

/* A stack beyond a sample's slice, up to its end if known. The agent takes one and writes its
 * number + 1 behind the sample's CPU; the recorder frees it. */
struct agent_tail {
    _Atomic uint32_t taken; /* 1: taken, 0: free */
    uint32_t reserved;
    uint64_t address, bytes;
};

/* The recorder writes the first group, the agent the others. */
struct agent_control {
    _Atomic uint32_t state;                    /* enum agent_state */
    _Atomic uint32_t clock;                    /* enum agent_clock; constant */
    _Atomic uint32_t slice_bytes;              /* of each stack; 0: no registers, no stack */
    _Atomic uint64_t period_ns;                /* of the clock, between samples of a thread */
    _Atomic uint32_t tails;                    /* that may be taken */
    _Atomic uint32_t has_requests;             /* 1: some are new; the agent writes 0 */
    _Atomic uint32_t requests[AGENT_REQUESTS]; /* 0: none; the agent writes 0 when done */

    _Atomic uint32_t standing;     /* enum agent_standing */
    _Atomic uint32_t slots_used;   /* later ones were never taken */
    _Atomic uint32_t helper_tid;   /* AGENT_CLOCK_FINE; 0: none */
    _Atomic uint64_t helper_ns;    /* CPU time */
    _Atomic uint64_t maps_changes; /* unmaps of code (dlclose) */
    _Atomic uint64_t maps_ns;      /* of the last */
    _Atomic uint64_t end_cpu_ns;   /* of the process, at exit; 0: not yet */
    _Atomic uint64_t refused[AGENT_REFUSALS];
    _Atomic uint64_t left_out[AGENT_LEFT_OUT_REASONS];
    _Atomic uint64_t blocked_ns; /* CPU time in handlers on small alternate stacks: not sampled */
    _Atomic uint64_t lost;       /* samples without room; the next one has their weight */
    struct agent_tail tail[AGENT_TAILS];
};

struct agent_slot {
    _Atomic uint64_t tail;   /* the recorder has read so far */
    _Atomic uint64_t cpu_ns; /* at the last sample */
    _Atomic uint32_t tid;    /* 0: none */
    uint32_t reserved[11];
};

/* The file: this struct, rings at agent_ring_offset, tails. Heads are together because thousands
 * are read often. */
struct agent_shared {
    union {
        struct agent_control control;
        uint8_t page[4096];
    };
    _Atomic uint64_t heads[AGENT_SLOTS]; /* the agent has written so far */
    struct agent_slot slots[AGENT_SLOTS];
};

/* Early slots have larger rings, to bound the memory: 64 of 256 KiB, 64 of 128, 128 of 64, 256 of
 * 32, the others of 16; 96 MiB, of which only used pages exist. */
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
    AGENT_FILE_MISSING,   /* or not readable: execve reports it */
    AGENT_FILE_STATIC,    /* no loader to preload the agent */
    AGENT_FILE_CLASS,     /* another word size or processor */
    AGENT_FILE_DAMAGED,   /* headers are unreadable or lead beyond the end */
    AGENT_FILE_SETUID,    /* or with capabilities: the loader ignores preloads */
    AGENT_FILE_GO,        /* its runtime takes SIGPROF by system calls */
    AGENT_FILE_SANITIZER, /* its run-time library must come first, or needs addresses */
    AGENT_FILE_LOADER,    /* a dynamic loader: preloads the agent into its argument's program */
};

/* Beginnings of names among the dynamic strings of programs with such sanitizers. Ends with NULL.
 */
extern const char *const agent_sanitizers[];

/* Checks a program or a script's interpreter, as execve(2) would. Runs between vfork and execve:
 * allocates nothing, keeps errno. */
enum agent_file agent_check_file(const char *path);

/* The same with arguments (name first): of a loader, checks the program that they name. */
enum agent_file agent_check_program(const char *path, char *const *arguments);

/* The same for the file that execvp(3) finds by `name`, with PATH `search` (may be NULL). `found`
 * (AGENT_PATH_MAX bytes, or NULL) gets its path. */
enum agent_file agent_check_command(const char *name, char *const *arguments, const char *search,
                                    char *found);

/* The program among a loader's arguments (its own name first), or NULL. */
const char *agent_loaded_program(char *const *arguments);

#endif
