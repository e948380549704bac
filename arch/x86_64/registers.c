/* The registers of x86-64: their names, and how the kernel numbers them. */
#include "arch/arch.h"

#include <asm/perf_regs.h>
#include <errno.h>

const char *const arch_register_names[ARCH_GENERAL_REGISTERS] = {
    "rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
    "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
};

const struct arch_perf_register arch_perf_registers[ARCH_REGISTERS] = {
    {PERF_REG_X86_AX, X86_RAX},  {PERF_REG_X86_BX, X86_RBX},  {PERF_REG_X86_CX, X86_RCX},
    {PERF_REG_X86_DX, X86_RDX},  {PERF_REG_X86_SI, X86_RSI},  {PERF_REG_X86_DI, X86_RDI},
    {PERF_REG_X86_BP, X86_RBP},  {PERF_REG_X86_SP, X86_RSP},  {PERF_REG_X86_IP, X86_RIP},
    {PERF_REG_X86_R8, X86_R8},   {PERF_REG_X86_R9, X86_R9},   {PERF_REG_X86_R10, X86_R10},
    {PERF_REG_X86_R11, X86_R11}, {PERF_REG_X86_R12, X86_R12}, {PERF_REG_X86_R13, X86_R13},
    {PERF_REG_X86_R14, X86_R14}, {PERF_REG_X86_R15, X86_R15},
};

uint64_t arch_perf_register_mask(void)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < ARCH_REGISTERS; i++)
        mask |= UINT64_C(1) << arch_perf_registers[i].kernel;
    return mask;
}

/* struct sigcontext of the kernel. */
const uint8_t arch_signal_register_order[ARCH_SIGNAL_REGISTERS] = {
    X86_R8,  X86_R9,  X86_R10, X86_R11, X86_R12, X86_R13, X86_R14, X86_R15, X86_RDI,
    X86_RSI, X86_RBP, X86_RBX, X86_RDX, X86_RAX, X86_RCX, X86_RSP, X86_RIP,
};

/* The kernel sets rax to -ENOSYS when a system call begins. */
bool arch_is_in_signal_return(const uint64_t registers[ARCH_REGISTERS])
{
    return registers[X86_RAX] == (uint64_t)-ENOSYS;
}

/* The instruction syscall leaves rip in rcx. */
bool arch_may_be_in_system_call(const uint64_t registers[ARCH_REGISTERS])
{
    return registers[X86_RCX] == registers[X86_RIP];
}
