/* Executes code with given registers, and says what it left. */
#ifndef SPROF_TESTS_UNIT_PLAN_EXECUTE_H
#define SPROF_TESTS_UNIT_PLAN_EXECUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By the encoding of instructions: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15. */
struct execute_state {
    uint64_t registers[16];
    uint64_t flags;
    uint64_t exit;        /* by which exit it came out */
    uint8_t vectors[256]; /* xmm0 … xmm15 */
    uint64_t signal, ip;  /* that ended it in place of an exit, and where; 0: none did */
};

enum { EXECUTE_EXIT_BYTES = 16, EXECUTE_FLAGS = 0x8d5, EXECUTE_FAULT = 255 };

/* Writes code to which the executed code may jump: it comes out with that number. */
void execute_write_exit(uint8_t *code, uint8_t number);

/* From here on faults of executed code end it as an exit does, by EXECUTE_FAULT. Returns false
 * where they cannot be caught. */
bool execute_catch_faults(void);

/* Jumps to `code` with the registers and flags of `in`; *out is what they were at the exit. The
 * code must come out by an exit, or by a fault where those are caught. One thread at a time. */
void execute(const struct execute_state *in, struct execute_state *out, const void *code);

#endif
