/* What the BPF programs of off_cpu.bpf.c and sprof share: the record of a wait, and settings. */
#ifndef SPROF_SAMPLER_BPF_OFF_CPU_H
#define SPROF_SAMPLER_BPF_OFF_CPU_H

#include "sampler/bpf/id_words.h"

#include <linux/types.h>

enum {
    OFF_CPU_CHAIN_MAX = 64, /* kernel frames */
    OFF_CPU_STACK_PAGES = 5,
    OFF_CPU_STACK_MAX = OFF_CPU_STACK_PAGES * 4096, /* a room has to fit into 32 KiB */
    OFF_CPU_REGISTERS = 33,                         /* MODEL_REGISTERS_MAX */
};

/* How a thread that is no system call entered the kernel. */
enum {
    OFF_CPU_ENTRY_FAULT = -1, /* by a page fault */
    OFF_CPU_ENTRY_OTHER = -2, /* by an interrupt, by a system call of 32 bits, or not at all */
};

enum {
    OFF_CPU_DISK = 1,    /* it waited for a disk: the kernel's in_iowait */
    OFF_CPU_STOPPED = 2, /* by a signal or a tracer */
    OFF_CPU_WAKES = 4,   /* it is the record of a thread that wakes another */
    OFF_CPU_READY = 8,   /* it could go on, and has no CPU: of struct waiting_record alone */
};

/* A wait that was kept, of a thread that has a CPU again, or still waits; or what a thread did as
 * it ended such a wait of another: `blocked_ns` is of that one then. Behind it come
 * `stack_bytes` of the user's stack from its stack pointer upwards, a multiple of eight. */
struct off_cpu_record {
    __u64 time_ns;              /* its end, or now; CLOCK_MONOTONIC */
    __u64 blocked_ns, ready_ns; /* what both parts weigh */
    __u64 lasted_ns;            /* how long both took; not of struct waiting_record */
    __u32 pid, tid;
    __u32 cpu;   /* that it has, or had last */
    __s32 entry; /* number of the system call; or OFF_CPU_ENTRY_… */
    __u32 is;    /* OFF_CPU_DISK … */
    __u32 is_32bit;
    __u32 chain_count, stack_bytes;
    __u32 waker_tid;  /* what ended the wait; 0: an interrupt */
    __u32 waker_pid;  /* its process, where that is one of the targets; else 0 */
    __u32 holder_tid; /* of a mutex that it waits for: which thread held it then; 0: not known */
    __u32 unused;
    __u64 lock;     /* address of the word of memory that it waits for by futex(2); 0: none */
    __u64 woken_ns; /* when; 0: not known, or it was not asked for */
    __u64 registers[OFF_CPU_REGISTERS]; /* of user mode, in the order of perf_regs.h */
    __u64 chain[OFF_CPU_CHAIN_MAX];     /* kernel addresses, innermost first */
};

/* Where each wait is written, and nothing else: one that has ended, and what its thread has waited
 * so far, since it was taken in. The last one of a thread is written as it ends: it waits no more,
 * and begins with its end. */
struct off_cpu_gap {
    __u64 begun_ns, ended_ns;   /* CLOCK_MONOTONIC */
    __u64 blocked_ns, ready_ns; /* of the thread */
    __u32 pid, tid;
    __u32 is_last, unused;
};

/* Sprof's settings, which may change at any time. */
struct off_cpu_settings {
    __u64 threshold_ns; /* see off_cpu_weight.h; 0: every wait is kept */
    __u64 since_ns;     /* nothing before counts */
    __u32 on;           /* records are written */
    __u32 stack_bytes;  /* at most, of the user's stack; 0: none */
    __u32 takes_chain;
    __u32 takes_wakers; /* what ends waits is recorded, too */
    __u32 visit;        /* what the iterator does: enum off_cpu_visit */
};

enum off_cpu_visit {
    OFF_CPU_VISIT_BEGIN, /* takes in the threads of processes whose bits are set */
    OFF_CPU_VISIT_END,   /* writes what those that have no CPU have waited so far */
};

/* Waits that were kept; and those that were to be kept and have no record: the ring had no room, or
 * their end was not seen. */
struct off_cpu_counts {
    __u64 kept, lost;
};

#endif
