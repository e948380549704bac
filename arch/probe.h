/* arch: code that is written into programs for probes, and the code of theirs that it depends on.
 */
#ifndef SPROF_ARCH_PROBE_H
#define SPROF_ARCH_PROBE_H

#include "arch/arch.h"

/* == Thunks and jumps == */

/* Writes the thunk of function `number`, to stand at address `at`; it calls `body`. `enter` and
 * `leave` are the agent's, within 2 GiB. The probe is at `site`; 0: it is a place that calls. */
void arch_thunk_write(uint8_t thunk[ARCH_THUNK_BYTES], uint64_t at, uint32_t number, uint64_t enter,
                      uint64_t leave, uint64_t site, uint64_t body);

/* Writes a jump to anywhere. */
void arch_far_jump_write(uint8_t code[ARCH_FAR_JUMP_BYTES], uint64_t target);

/* The target of the jump of ARCH_JUMP_BYTES at an address; false for other code. */
bool arch_code_jump_target(const uint8_t code[ARCH_JUMP_BYTES], uint64_t at, uint64_t *target);

/* Whether an empty function begins at an address, which has room for a jump: a return with padding
 * behind it, or a landing and a return. No thread can be inside. */
bool arch_code_is_empty_function(const uint8_t code[ARCH_JUMP_BYTES], uint64_t address);

/* == A command that waits at its main == */

/* An instruction that loads the address of a function as the first argument. */
struct arch_loading {
    size_t operand_at; /* where its operand of 32 bits stands, which is its end */
    bool is_relative;  /* relative to the end of the operand */
    uint64_t function;
};

/* Reads it; `at` is its address. False: the bytes do not begin with one. */
bool arch_code_loads_function(const uint8_t *code, size_t size, uint64_t at,
                              struct arch_loading *loading);

/* Writes code that reads a byte from a descriptor, closes it, and goes on at a function with all
 * registers as they were. It is to stand at address `at`, and uses five words of the stack. */
void arch_wait_write(uint8_t code[ARCH_WAIT_BYTES], uint64_t at, int fd, uint64_t function);

/* == Uprobes == */

/* How the kernel treats the instruction at which a uprobe is. */
enum arch_uprobe {
    ARCH_UPROBE_EMULATES,
    ARCH_UPROBE_SKIPS, /* a nop */
    ARCH_UPROBE_STEPS, /* the processor steps a copy */
};
enum arch_uprobe arch_uprobe_of(const uint8_t *code, size_t size);

/* Why no uprobe can stand at a first instruction, of which so many bytes are known: "begins with
 * …". NULL: nothing is known against it. */
const char *arch_uprobe_objection(const uint8_t *code, size_t size);

/* Functions of sprof itself by which it measures what uprobes cost, with the address of their last
 * instruction; NULL: they have a uprobe at the entry alone. */
struct arch_uprobe_subject {
    void (*function)(void);
    const char *end;
    uint8_t entry; /* enum arch_uprobe */
    bool jumps;    /* its last instruction is a jump to another function, else a return */
};
enum { ARCH_UPROBE_SUBJECTS = 7 };
extern const struct arch_uprobe_subject arch_uprobe_subjects[ARCH_UPROBE_SUBJECTS];

/* The condition of a conditional jump, for ARCH_BPF_FLAGS; `code` is a whole instruction. */
uint32_t arch_code_condition(const uint8_t *code, size_t length);

#endif
