/* What the BPF programs of waiting.bpf.c and sprof share: the record of a thread that waits. */
#ifndef SPROF_SAMPLER_BPF_WAITING_H
#define SPROF_SAMPLER_BPF_WAITING_H

#include "sampler/bpf/id_words.h"

#include <linux/types.h>

enum {
    WAITING_CHAIN_MAX = 127, /* kernel frames: kernel.perf_event_max_stack */
    WAITING_STACK_PAGES = 6, /* a record has to fit into 32 KiB */
    WAITING_STACK_MAX = WAITING_STACK_PAGES * 4096,
    WAITING_REGISTERS = 33, /* MODEL_REGISTERS_MAX */
};

/* What a look at all threads writes for one that has no CPU. Behind it come `chain_bytes` of kernel
 * addresses, innermost first, and `stack_bytes` of the user's stack from its stack pointer upwards,
 * a multiple of eight each. */
struct waiting_record {
    __u64 time_ns; /* CLOCK_MONOTONIC */
    __u64 weight_ns;
    __u32 pid, tid;
    __u32 cpu; /* it had last */
    __u32 is_32bit;
    __u32 chain_bytes, stack_bytes;
    __s32 entry; /* number of its system call; or OFF_CPU_ENTRY_… of off_cpu.h */
    __u32 is;    /* OFF_CPU_DISK … */
    __u64 registers[WAITING_REGISTERS]; /* of user mode, in the order of perf_regs.h */
};

/* Sprof's settings for each look. */
struct waiting_look {
    __u64
        before_ns;  /* when the look before it began: threads that were not seen then began since */
    __u64 least_ns; /* waiting shorter than this is put off to the next look */
    __u32 one_of;   /* of so many waiting threads one has a record, which weighs for all of them */
    __u32 turn;     /* at random, which of them it is */
    __u32 only_notes;  /* no records: what was before does not count */
    __u32 chain_bytes; /* at most, of kernel addresses; 0: none */
    __u32 stack_bytes; /* at most, of the user's stack; 0: none */
};

/* Result of a look: how many waiting threads it has reported or might have; where it only notes,
 * of all threads. */
struct waiting_seen {
    __u64 waiting;
};

#endif
