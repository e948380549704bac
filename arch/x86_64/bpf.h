/* What BPF programs need of this architecture: the kernel's struct for a task's user registers, its
 * struct for the thread pointer (arch/x86/include/asm/ptrace.h and processor.h of the kernel), and
 * which of their members is what. */
#ifndef SPROF_ARCH_X86_64_BPF_H
#define SPROF_ARCH_X86_64_BPF_H

struct pt_regs {
    unsigned long bp, sp;
} KERNEL_STRUCT;

struct thread_struct {
    unsigned long fsbase;
} KERNEL_STRUCT;

#define ARCH_BPF_SP(registers) ((registers)->sp)
#define ARCH_BPF_FP(registers) ((registers)->bp)
#define ARCH_BPF_THREAD_POINTER(thread) ((thread).fsbase)

#endif
