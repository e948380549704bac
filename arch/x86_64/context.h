/* What the agent's signal handler reads from its context, and what it relies on in libc on x86-64.
 * Written for code that runs inside other programs: no calls, no data of its own to relocate. */
#ifndef SPROF_ARCH_X86_64_CONTEXT_H
#define SPROF_ARCH_X86_64_CONTEXT_H

#include "arch/x86_64/machine.h"

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* libc 2.34 moved dlsym from libdl; the old version is in both. */
#define ARCH_CONTEXT_DLSYM "dlsym@GLIBC_2.2.5"

/* In the order of the kernel's numbers (asm/perf_regs.h): AX BX CX DX SI DI BP SP IP R8 … R15. */
static inline void arch_context_registers(uint64_t registers[ARCH_REGISTERS],
                                          const ucontext_t *context)
{
    static const unsigned char order[ARCH_REGISTERS] = {
        REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_RIP,
        REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    for (size_t i = 0; i < ARCH_REGISTERS; i++)
        registers[i] = (uint64_t)context->uc_mcontext.gregs[order[i]];
}

static inline uintptr_t arch_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

/* A system call; minus an errno where it fails. libc's leaves that in errno, which is another
 * thread's where a thread has no storage of its own. */
static inline long arch_context_call(long number, long a, long b, long c, long d)
{
    long result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

static inline uintptr_t arch_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

/* Of the calling thread: the address of its control block. (gcc before 11 has no builtin for it.)
 */
static inline uintptr_t arch_context_thread_pointer(void)
{
    uintptr_t pointer;
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
    return pointer;
}

#endif
