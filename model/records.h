/* What a source of samples hands out: records of processes and threads, and captured samples. They
 * are the same whether the kernel wrote them, an agent inside the target, or they were made from
 * /proc. */
#ifndef SPROF_MODEL_RECORDS_H
#define SPROF_MODEL_RECORDS_H

#include "base/base.h"
#include "model/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum model_record_type {
    MODEL_RECORD_SAMPLE,
    MODEL_RECORD_MMAP,     /* an executable mapping appeared */
    MODEL_RECORD_COMM,     /* a thread's name changed; exec says whether by execve */
    MODEL_RECORD_FORK,     /* a process or thread began */
    MODEL_RECORD_EXIT,     /* a thread ended */
    MODEL_RECORD_CPU_TIME, /* a thread's CPU time is known (at its exit, or at the end of the
                              recording) */
    MODEL_RECORD_LOST,     /* there was no room for `count` records */
    MODEL_RECORD_THROTTLE, /* the kernel paused (on) or resumed sampling on this CPU */
    MODEL_RECORD_SWITCH,   /* a thread gets a CPU, or leaves it; the sampler hands out none */
    MODEL_RECORD_TYPES,    /* how many there are */
};

/* An executable mapping. pid -1: the kernel's own text or a module of it; path "[kernel]" or
 * "[ext4]" and so on. */
struct model_mmap {
    uint64_t address, size, file_offset;
    struct sprof_file_id file; /* its path lives as long as the record */
};

/* Room for the registers of every architecture: aarch64 has 31, the stack pointer and the pc. */
enum { MODEL_REGISTERS_MAX = 33 };

/* A call of a traced function that has not returned. Where its return address was pushed stands
 * another one, of the tracer's. */
struct model_open_call {
    uint64_t slot; /* where it was pushed */
    uint64_t return_address;
    uint64_t began; /* in ticks that only grow */
};

/* A captured sample. */
struct model_sample {
    enum model_pseudo pseudo; /* not 0: no code is known, and this stands for it */
    uint64_t ip;
    bool in_kernel;               /* interrupted in kernel mode */
    uint64_t weight;              /* in units of the event */
    int64_t late;                 /* of it, by how much it is above what the event's period and its
                                     changes give: the timer fired late, or not at all */
    const uint64_t *kernel_chain; /* innermost first, without markers; the first is the ip */
    size_t kernel_chain_count;
    unsigned register_count; /* of user registers; 0 where there were none (and no stack): of kernel
                                threads, and while a process exits */
    bool is_32bit;           /* registers of a 32-bit process: only the ip is of use */
    uint64_t registers[MODEL_REGISTERS_MAX]; /* by DWARF number; x86-64: rax rdx rcx rbx rsi rdi rbp
                                                rsp r8…r15 rip */
    const uint8_t *stack; /* the slice: bytes from the user stack pointer upwards */
    size_t stack_size;    /* bytes really captured */
    bool stack_full;      /* the slice was filled: the stack may go on beyond */
    const uint8_t *tail;  /* where it does: bytes from tail_address upwards, captured apart. They */
    size_t tail_size;     /* may overlap the slice, and may end before the stack does. */
    uint64_t tail_address;
    bool tail_with_sample; /* captured at the moment of the sample; else up to some milliseconds
                              later */
    uint64_t lasted_ns, ended_ns; /* of a wait: how long it was, whatever it weighs, and until when;
                                     0: it stands for others, too, or is none */
    uint64_t woken_ns;     /* of a wait: when something ended it; 0: not known */
    pid_t waker_pid, waker_tid; /* … what did: tid 0 an interrupt, pid 0 none of the targets */
    const struct model_open_call *calls; /* of a traced thread: its innermost, at that moment */
    size_t call_count;
    struct sprof_bytes fields; /* what the event wrote: see model/fields.h */
};

/* What a walk has shown of where a thread's stack ends, for capturing its next ones. */
struct model_stack_extent {
    enum model_stack_extent_kind {
        MODEL_STACK_UNKNOWN,     /* the root was not found */
        MODEL_STACK_ENDS,        /* at `end`, with the page of its root's frame */
        MODEL_STACK_SHALLOW,     /* within the slice, wherever */
        MODEL_STACK_ELSEWHERE,   /* it went on to another stack, which the frame pointer led to, and
                                    others of the thread's may, too */
        MODEL_STACK_INTERRUPTED, /* it began on the alternate stack of a signal's handler, which
                                    does not show where the thread's own ends */
    } kind;
    uint64_t end;
    uint64_t used; /* bytes from the stack pointer to the root's frame; 0: not known */
};

/* One record. Its pointers belong to the source of the record, and are valid until the next one. */
struct model_record {
    enum model_record_type type;
    bool before_start; /* made from /proc: it was so before the recording */
    uint64_t time_ns;  /* CLOCK_MONOTONIC */
    uint32_t event;    /* of a sample, a loss or a pause: which of the recording's events, from 0 */
    pid_t pid, tid;
    int cpu; /* -1 where none */
    union {
        struct model_sample sample;
        struct model_mmap mapping;
        struct {
            const char *name;
            bool exec;
        } comm;
        struct {
            pid_t parent_pid, parent_tid;
        } fork;
        struct {
            uint64_t cpu_time_ns;
        } cpu_time;
        struct {
            uint64_t count;    /* of samples */
            uint64_t since_ns; /* they were due after that; 0: not known */
            bool of_ring;      /* which had no room for them, nor for what `count` holds besides */
        } lost;
        struct {
            bool on;
        } throttle;
        struct {
            bool leaves;
            bool is_ready; /* as it leaves, it could go on */
        } switches;
    };
};

#endif
