/* What BPF programs need of this architecture: the kernel's struct for a task's user registers, its
 * struct for the thread pointer (arch/x86/include/asm/ptrace.h and processor.h of the kernel), and
 * which of their members is what. */
#ifndef SPROF_ARCH_X86_64_BPF_H
#define SPROF_ARCH_X86_64_BPF_H

/* Other programs see this layout, too (arch/x86/include/uapi/asm/ptrace.h): it never changes, and the
 * kernel need not look for it among its types whenever sprof begins. */
struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
        flags, sp, ss;
};

struct thread_struct {
    unsigned long fsbase;
} KERNEL_STRUCT;

#define ARCH_BPF_SP(registers) ((registers)->sp)
#define ARCH_BPF_FP(registers) ((registers)->bp)
#define ARCH_BPF_THREAD_POINTER(thread) ((thread).fsbase)

#endif
