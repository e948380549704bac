/* What BPF programs need of this architecture: the kernel's struct for a task's user registers, its
 * struct for the thread pointer (arch/x86/include/asm/ptrace.h and processor.h of the kernel), and
 * which of their members is what. */
#ifndef SPROF_ARCH_X86_64_BPF_H
#define SPROF_ARCH_X86_64_BPF_H

/* Other programs see this layout, too (arch/x86/include/uapi/asm/ptrace.h): it never changes, and
 * the kernel need not look for it among its types whenever sprof begins. */
struct pt_regs {
    unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
        flags, sp, ss;
};

struct thread_struct {
    unsigned long fsbase;
} KERNEL_STRUCT;

#define ARCH_BPF_PC(registers) ((registers)->ip)
#define ARCH_BPF_SP(registers) ((registers)->sp)
#define ARCH_BPF_FP(registers) ((registers)->bp)
#define ARCH_BPF_PRIVILEGE(registers) ((registers)->cs) /* … of which 3 bits 0 and 1: user mode */
#define ARCH_BPF_IS_32BIT(registers) ((registers)->cs == 0x23) /* __USER32_CS */
#define ARCH_BPF_THREAD_POINTER(thread) ((thread).fsbase)

/* How a thread entered the kernel, and the number of its system call. The instruction `syscall`
 * leaves the instruction pointer in rcx and the flags in r11; orig_ax holds the number then, the
 * code of a page fault, or for an interrupt less than 0. */
#define ARCH_BPF_IN_SYSTEM_CALL(registers)                                                         \
    ((registers)->cx == (registers)->ip && (registers)->r11 == (registers)->flags)
#define ARCH_BPF_SYSTEM_CALL(registers) ((int)(registers)->orig_ax)
#define ARCH_BPF_FUTEX_CALL 202                              /* the number of futex(2) */
#define ARCH_BPF_FIRST_ARGUMENT(registers) ((registers)->di) /* … of it, and the second */
#define ARCH_BPF_SECOND_ARGUMENT(registers) ((registers)->si)
#define ARCH_BPF_IN_FAULT(registers) ((long)(registers)->orig_ax >= 0)

/* All of them, in the order of arch_perf_registers. */
#define ARCH_BPF_COPY_REGISTERS(to, registers)                                                     \
    do {                                                                                           \
        (to)[0] = (registers)->ax, (to)[1] = (registers)->bx, (to)[2] = (registers)->cx;           \
        (to)[3] = (registers)->dx, (to)[4] = (registers)->si, (to)[5] = (registers)->di;           \
        (to)[6] = (registers)->bp, (to)[7] = (registers)->sp, (to)[8] = (registers)->ip;           \
        (to)[9] = (registers)->r8, (to)[10] = (registers)->r9, (to)[11] = (registers)->r10;        \
        (to)[12] = (registers)->r11, (to)[13] = (registers)->r12, (to)[14] = (registers)->r13;     \
        (to)[15] = (registers)->r14, (to)[16] = (registers)->r15;                                  \
    } while (0)

/* What the kernel puts where a uprobe stands (int3), behind which it is entered; and how much room
 * an instruction has that it steps elsewhere (arch/x86/include/asm/uprobes.h). */
enum { ARCH_BPF_BREAKPOINT = 0xcc, ARCH_BPF_STEPPED_BYTES = 128 };

/* What a signal interrupted stands in the kernel's struct ucontext, which begins at a multiple of
 * so many bytes and also describes the alternate stack. Offsets are words from its beginning
 * (ucontext.h and sigcontext.h of arch/x86/include/uapi/asm). _BELOW is how far it is at least
 * below the end of the alternate stack: above it are struct siginfo and registers. */
enum {
    ARCH_BPF_UCONTEXT_ALIGNED = 16,
    ARCH_BPF_UCONTEXT_STACK = 2,
    ARCH_BPF_UCONTEXT_STACK_SIZE = 4,
    ARCH_BPF_UCONTEXT_SP = 20,
    ARCH_BPF_UCONTEXT_PC = 21,
    ARCH_BPF_UCONTEXT_BELOW = 304 + 128 + 512,
};

/* What conditions of jumps are about, and whether the one of that number, as it is encoded, holds.
 */
#define ARCH_BPF_FLAGS(registers) ((registers)->flags)
static inline __attribute__((always_inline)) unsigned long
arch_bpf_condition_holds(unsigned long condition, unsigned long flags)
{
    const unsigned long carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1,
                        sign = flags >> 7 & 1, overflow = flags >> 11 & 1, less = sign ^ overflow;
    const unsigned long all = overflow | carry << 1 | zero << 2 | (carry | zero) << 3 | sign << 4 |
                              parity << 5 | less << 6 | (zero | less) << 7;
    return (all >> (condition >> 1 & 7) & 1) ^ (condition & 1);
}

#endif
