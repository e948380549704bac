/* arch: a system call that a filter (seccomp(2)) turned into a signal, in the handler of SIGSYS. */
#ifndef SPROF_ARCH_TRAP_H
#define SPROF_ARCH_TRAP_H

#include <stdint.h>

/* What a filter calls this processor (linux/audit.h). */
uint32_t arch_trap_machine(void);

/* An argument of the call, from 0. `context` is the handler's. Async-signal-safe. */
uint64_t arch_trap_argument(const void *context, unsigned number);

/* What the call returns; minus an errno where it failed. */
void arch_trap_return(void *context, long result);

#endif
