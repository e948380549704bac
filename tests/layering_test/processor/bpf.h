/* What BPF programs need of the processor that does not exist: see machine.h. */
#ifndef SPROF_TESTS_PROCESSOR_BPF_H
#define SPROF_TESTS_PROCESSOR_BPF_H

struct pt_regs {
    unsigned long registers[33], is_narrow;
};

struct thread_struct {
    unsigned long own;
} KERNEL_STRUCT;

#define ARCH_BPF_PC(from) ((from)->registers[32])
#define ARCH_BPF_SP(from) ((from)->registers[31])
#define ARCH_BPF_FP(from) ((from)->registers[29])
#define ARCH_BPF_IS_32BIT(from) ((from)->is_narrow)
#define ARCH_BPF_IN_SYSTEM_CALL(from) ((from)->is_narrow == 2)
#define ARCH_BPF_SYSTEM_CALL(from) ((int)(from)->is_narrow)
#define ARCH_BPF_FUTEX_CALL 98
#define ARCH_BPF_FIRST_ARGUMENT(from) ((from)->registers[0])
#define ARCH_BPF_SECOND_ARGUMENT(from) ((from)->registers[1])
#define ARCH_BPF_IN_FAULT(from) ((from)->is_narrow == 3)
#define ARCH_BPF_THREAD_POINTER(thread) ((thread).own)
#define ARCH_BPF_PRIVILEGE(from) ((from)->is_narrow)

enum {
    ARCH_BPF_BREAKPOINT = 1,
    ARCH_BPF_STEPPED_BYTES = 64,
    ARCH_BPF_UCONTEXT_ALIGNED = 16,
    ARCH_BPF_UCONTEXT_STACK = 2,
    ARCH_BPF_UCONTEXT_STACK_SIZE = 4,
    ARCH_BPF_UCONTEXT_SP = 5,
    ARCH_BPF_UCONTEXT_PC = 6,
    ARCH_BPF_UCONTEXT_BELOW = 512,
};
#define ARCH_BPF_COPY_REGISTERS(to, from)                                                          \
    do {                                                                                           \
        (to)[0] = (from)->registers[0];                                                            \
        (to)[32] = (from)->registers[32];                                                          \
    } while (0)

#define ARCH_BPF_FLAGS(from) ((from)->is_narrow)
static inline __attribute__((always_inline)) unsigned long
arch_bpf_condition_holds(unsigned long condition, unsigned long flags)
{
    return condition == flags;
}

#endif
