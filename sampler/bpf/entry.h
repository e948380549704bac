/* How a thread that waits entered the kernel. Included behind the header of the architecture. */
#ifndef SPROF_SAMPLER_BPF_ENTRY_H
#define SPROF_SAMPLER_BPF_ENTRY_H

#include "sampler/bpf/off_cpu.h" /* OFF_CPU_ENTRY_… */

enum {
    TASK_STOPPED_OR_TRACED = 0x4 | 0x8, /* of task_struct.__state (linux/sched.h) */
};

/* The number of its system call, or OFF_CPU_ENTRY_…. */
static __always_inline int entry_of(const struct pt_regs *registers)
{
    return ARCH_BPF_IS_32BIT(registers)         ? OFF_CPU_ENTRY_OTHER
           : ARCH_BPF_IN_SYSTEM_CALL(registers) ? ARCH_BPF_SYSTEM_CALL(registers)
           : ARCH_BPF_IN_FAULT(registers)       ? OFF_CPU_ENTRY_FAULT
                                                : OFF_CPU_ENTRY_OTHER;
}

#endif
