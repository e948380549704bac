/* Where x86-64 has a system call's arguments and result (psABI, A.2.1). */
#include "arch/trap.h"

#include <ucontext.h>

#include <linux/audit.h>

uint32_t arch_trap_machine(void)
{
    return AUDIT_ARCH_X86_64;
}

uint64_t arch_trap_argument(const void *context, unsigned number)
{
    static const unsigned char order[] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    const ucontext_t *trapped = context;
    return (uint64_t)trapped->uc_mcontext.gregs[order[number]];
}

void arch_trap_return(void *context, long result)
{
    ucontext_t *trapped = context;
    trapped->uc_mcontext.gregs[REG_RAX] = result;
}
