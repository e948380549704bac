/* clang-format off */
/* One unwind rule in 64 bits: how to get from a frame to its caller, for the registers the walk
 * tracks (the instruction, stack and frame pointer). The same word is interned in tables and stored
 * in the rule cache, so that a warm frame costs one load for tag and rule.
 *
 *   bits  0-3   kind
 *   bit   4     CFA: the base is the frame pointer, not the stack pointer
 *   bit   5     rule cache only: the return address is known to follow a call
 *   bit   6     the slot of the frame pointer counts from the frame pointer, not from the CFA; always with bit 7
 *   bit   7     the frame pointer was saved
 *   bits  8-9   where the return address is (enum unwind_rule_return)
 *   bit  10     CFA, rule cache only: found by following the code
 *   bit  11     CFA: for the interrupted frame only, a caller ends the stack; with bit 12, a caller has gone over from
 *               the stack that it was called on
 *   bit  11     GAP, rule cache only: following the code led nowhere
 *   bit  12     CFA from the frame pointer: the frame may lie on another stack than the stack pointer
 *   bits 10-14  REGISTER, DEREF: the base register; RETURN_REGISTER, JUMP: the one with the return address;
 *               PLT: the first pushed byte
 *   bit  15     REGISTER, DEREF, rule cache only: found by following the code
 *   bits 16-31  slot of the frame pointer, signed, in words; RETURN_SLOT without a saved frame pointer: slot of the
 *               return address, from the CFA
 *   bits 32-63  offset of the CFA from its base, signed; DEREF: bits 32-47 a, bits 48-63 b; JUMP: bits 32-36 the
 *               register with the caller's stack pointer, 40-44 with its frame pointer
 */
/* clang-format on */
#ifndef SPROF_UNWIND_RULE_H
#define SPROF_UNWIND_RULE_H

#include "arch/arch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_rule_kind {
    UNWIND_RULE_CFA,      /* CFA = stack or frame pointer + offset */
    UNWIND_RULE_GAP,      /* no call frame information covers the address */
    UNWIND_RULE_END,      /* the return address is undefined: a root */
    UNWIND_RULE_PLT,      /* CFA = sp + 8 + (pc & 15 >= n ? 8 : 0) */
    UNWIND_RULE_SIGNAL,   /* a signal trampoline: registers are in the kernel's frame */
    UNWIND_RULE_DEREF,    /* CFA = *(register + a) + b */
    UNWIND_RULE_REGISTER, /* CFA = register + offset, of a register the walk does not track */
    UNWIND_RULE_RETURN_REGISTER, /* the return address is in a register: vfork */
    UNWIND_RULE_JUMP,            /* all three are in registers: longjmp */
    UNWIND_RULE_CHILD,           /* behind clone's system call: a root where its result is 0 */
    UNWIND_RULE_FRAME_POINTER,   /* code without tables that keeps frame pointers: JIT */
    UNWIND_RULE_BARE,            /* a file without tables: frame pointer, else scan */
    UNWIND_RULE_COMPLEX,         /* only libunwind can evaluate it */
    UNWIND_RULE_THUNK,    /* a thunk of the tracer's: its records begin at bits 32-63 << 32; the
                             register is an enum unwind_thunk */
    UNWIND_RULE_NOT_CODE, /* walk only: no region holds the address */
    UNWIND_RULE_PENDING,  /* walk only: the region's table is not built yet */
    UNWIND_RULE_KINDS
};

#define UNWIND_RULE_KIND_MASK UINT64_C(0xf)
#define UNWIND_RULE_BASE_FP (UINT64_C(1) << 4)
#define UNWIND_RULE_FOLLOWS_CALL (UINT64_C(1) << 5)
#define UNWIND_RULE_SLOT_FROM_FP (UINT64_C(1) << 6)
#define UNWIND_RULE_FP_SAVED (UINT64_C(1) << 7)
#define UNWIND_RULE_FROM_CODE (UINT64_C(1) << 10)
#define UNWIND_RULE_BASE_FROM_CODE (UINT64_C(1) << 15)
#define UNWIND_RULE_LEADS_NOWHERE (UINT64_C(1) << 11)
#define UNWIND_RULE_ENDS_CALLERS (UINT64_C(1) << 11)
#define UNWIND_RULE_OTHER_STACK (UINT64_C(1) << 12)

enum unwind_thunk {
    UNWIND_THUNK_FUNCTION, /* of a function */
    UNWIND_THUNK_POINT,    /* of a place that calls */
    UNWIND_THUNK_COPY,     /* none, but a copy of a function's beginning */
};

/* Where a return address is. Shifted, because it is tested as it stands in the word. */
enum unwind_rule_return {
    UNWIND_RULE_RETURN_PUSHED = 0,    /* at CFA-8, where the call pushed it */
    UNWIND_RULE_RETURN_LINK = 1 << 8, /* in ARCH_LINK: the interrupted frame has called nothing */
    UNWIND_RULE_RETURN_SLOT = 2 << 8, /* behind the saved frame pointer, or in a slot of its own */
    UNWIND_RULE_RETURN_MASK = 3 << 8,
};
/* As on entry to a function. */
#define UNWIND_RULE_RETURN_ON_ENTRY                                                                \
    ((uint64_t)(ARCH_CALL_PUSHES ? UNWIND_RULE_RETURN_PUSHED : UNWIND_RULE_RETURN_LINK))

static inline enum unwind_rule_kind unwind_rule_kind(uint64_t rule)
{
    return (enum unwind_rule_kind)(rule & UNWIND_RULE_KIND_MASK);
}

static inline int64_t unwind_rule_offset(uint64_t rule)
{
    return (int64_t)rule >> 32;
}

/* Distance of the slot from its base, in bytes. */
static inline int64_t unwind_rule_slot(uint64_t rule)
{
    return (int64_t)(int16_t)(rule >> 16) * 8;
}

/* The register, or for PLT the first pushed byte, of bits 10-14. */
static inline unsigned unwind_rule_register(uint64_t rule)
{
    return (unsigned)(rule >> 10) & 31;
}

static inline uint64_t unwind_rule_with_register(unsigned reg)
{
    return (uint64_t)(reg & 31) << 10;
}

static inline unsigned unwind_rule_jump_sp(uint64_t rule)
{
    return (unsigned)(rule >> 32) & 31;
}

static inline unsigned unwind_rule_jump_fp(uint64_t rule)
{
    return (unsigned)(rule >> 40) & 31;
}

static inline int64_t unwind_rule_deref_a(uint64_t rule)
{
    return (int16_t)(rule >> 32);
}

static inline int64_t unwind_rule_deref_b(uint64_t rule)
{
    return (int16_t)(rule >> 48);
}

/* CFA = stack (or frame) pointer + offset, the frame pointer unchanged, the return address where a
 * call leaves it. */
static inline uint64_t unwind_rule_cfa(bool base_fp, int32_t offset)
{
    return UNWIND_RULE_CFA | (base_fp ? UNWIND_RULE_BASE_FP : 0) | UNWIND_RULE_RETURN_ON_ENTRY |
           (uint64_t)(uint32_t)offset << 32;
}

static inline uint64_t unwind_rule_plt(unsigned push_offset)
{
    return UNWIND_RULE_PLT | unwind_rule_with_register(push_offset & 15);
}

struct cfi_state;

/* The rule of one row of a CFA program. What does not fit is COMPLEX. */
uint64_t unwind_rule_of_state(const struct cfi_state *state);

/* Whether libunwind may have to follow this rule from the last point where all registers were
 * known, so that the image's call frame information must be kept. */
bool unwind_rule_needs_registers(uint64_t rule);

/* Whether a rule can stand in a table: of a kind that tables have, and no register beyond those
 * there are. The walk may follow any such rule. */
bool unwind_rule_is_valid(uint64_t rule);

/* Spells a rule, as struct unwind_row describes it. */
void unwind_rule_text(uint64_t rule, char *text, size_t size);

/* Distinct rules of one table. Zero is a valid empty set. */
struct rule_set {
    uint64_t *rules; /* by number */
    size_t count, capacity;
    uint32_t *buckets; /* number + 1, 0 = free */
    size_t bucket_mask;
    uint64_t last_rule; /* the rule looked up last, and its number */
    uint16_t last_number;
};

/* Puts the number of `rule` into *number. Returns 0, SPROF_ELIMIT (65 535 rules) or SPROF_ENOMEM.
 */
int unwind_rule_set_intern(struct rule_set *set, uint64_t rule, uint16_t *number);
void unwind_rule_set_release(struct rule_set *set);

#endif
