/* The length of an x86-64 instruction, and what it does to rsp and rbp (Intel SDM volume 2, chapter
 * 2 and appendix A). For following code that no table describes to where it returns. */
#ifndef SPROF_UNWIND_ARCH_X86_64_DECODE_H
#define SPROF_UNWIND_ARCH_X86_64_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNWIND_INSTRUCTION_BYTES = 15 }; /* the longest there is */

enum unwind_effect {
    UNWIND_EFFECT_NONE,
    UNWIND_EFFECT_CHANGES_RBP,  /* in a way that is not followed */
    UNWIND_EFFECT_CHANGES_RSP,  /* in a way that is not followed */
    UNWIND_EFFECT_ADDS_RSP,     /* rsp += value */
    UNWIND_EFFECT_POPS_RBP,     /* rbp = *rsp; rsp += 8 */
    UNWIND_EFFECT_RSP_FROM_RBP, /* rsp = rbp + value */
    UNWIND_EFFECT_LEAVES,       /* rsp = rbp; rbp = *rsp; rsp += 8 */
    UNWIND_EFFECT_RETURNS,
    UNWIND_EFFECT_JUMPS,    /* always, to the next instruction + value */
    UNWIND_EFFECT_BRANCHES, /* perhaps, to the next instruction + value */
    UNWIND_EFFECT_STOPS,    /* execution does not go on here, or nobody knows where */
};

struct unwind_instruction {
    uint8_t length;
    uint8_t effect; /* enum unwind_effect */
    int64_t value;
};

/* Decodes the instruction at `code`, of which `size` bytes are at hand. Returns false where it is
 * not one, or is longer than that. */
bool unwind_instruction_decode(const uint8_t *code, size_t size,
                               struct unwind_instruction *instruction);

#endif
