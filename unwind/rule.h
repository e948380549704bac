/* One unwind rule in 64 bits: how to get from a frame to its caller, for the registers the walk
 * tracks (rip, rsp, rbp). The same word is interned in tables and stored in the rule cache, so that
 * a warm frame costs one load for tag and rule.
 *
 *   bits  0-3   kind
 *   bit   4     UNWIND_RULE_CFA: the base is rbp, not rsp
 *   bit   5     rule cache only: the return address is known to follow a call
 *   bit   6     the slot of rbp counts from rbp, not from the CFA; always with bit 7
 *   bit   7     rbp was saved
 *   bit   8     UNWIND_RULE_CFA, rule cache only: found by following the code
 *   bit   9     UNWIND_RULE_CFA: for the interrupted frame only, a caller ends the stack
 *   bit   9     UNWIND_RULE_GAP, rule cache only: following the code led nowhere
 *   bit  10     UNWIND_RULE_CFA from rbp: the frame may lie on another stack than rsp does
 *   bits  8-11  base register of REGISTER, DEREF and RETURN_REGISTER; the caller's rsp (JUMP)
 *   bits 12-15  register with the return address (RETURN_REGISTER, JUMP); first pushed byte (PLT)
 *   bits 16-31  slot of rbp, signed, in words
 *   bits 32-63  offset of the CFA from its base, signed; DEREF: bits 32-47 a, bits 48-63 b; JUMP:
 *               register with the caller's rbp
 */
#ifndef SPROF_UNWIND_RULE_H
#define SPROF_UNWIND_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unwind_rule_kind {
    UNWIND_RULE_CFA,      /* CFA = rsp or rbp + offset; return address at CFA-8 */
    UNWIND_RULE_GAP,      /* no call frame information covers the address */
    UNWIND_RULE_END,      /* the return address is undefined: a root */
    UNWIND_RULE_PLT,      /* CFA = rsp + 8 + (pc & 15 >= n ? 8 : 0) */
    UNWIND_RULE_SIGNAL,   /* a signal trampoline: registers are in the kernel's frame */
    UNWIND_RULE_DEREF,    /* CFA = *(register + a) + b */
    UNWIND_RULE_REGISTER, /* CFA = register + offset, of a register the walk does not track */
    UNWIND_RULE_RETURN_REGISTER, /* the return address is in a register: vfork */
    UNWIND_RULE_JUMP,            /* rsp, rbp and the return address are in registers: longjmp */
    UNWIND_RULE_CHILD,           /* behind clone's system call: a root where rax is 0 */
    UNWIND_RULE_FRAME_POINTER,   /* code without tables that keeps frame pointers: JIT */
    UNWIND_RULE_BARE,            /* a file without tables: frame pointer, else scan */
    UNWIND_RULE_COMPLEX,             /* only libunwind can tell */
    UNWIND_RULE_NOT_CODE,        /* walk only: no region holds the address */
    UNWIND_RULE_PENDING,         /* walk only: the region's table is not built yet */
    UNWIND_RULE_KINDS
};

#define UNWIND_RULE_KIND_MASK UINT64_C(0xf)
#define UNWIND_RULE_BASE_RBP (UINT64_C(1) << 4)
#define UNWIND_RULE_FOLLOWS_CALL (UINT64_C(1) << 5)
#define UNWIND_RULE_SLOT_FROM_RBP (UINT64_C(1) << 6)
#define UNWIND_RULE_RBP_SAVED (UINT64_C(1) << 7)
#define UNWIND_RULE_FROM_CODE (UINT64_C(1) << 8)
#define UNWIND_RULE_LEADS_NOWHERE (UINT64_C(1) << 9)
#define UNWIND_RULE_ENDS_CALLERS (UINT64_C(1) << 9)
#define UNWIND_RULE_OTHER_STACK (UINT64_C(1) << 10)

static inline enum unwind_rule_kind unwind_rule_kind(uint64_t rule)
{
    return (enum unwind_rule_kind)(rule & UNWIND_RULE_KIND_MASK);
}

static inline int64_t unwind_rule_offset(uint64_t rule)
{
    return (int64_t)rule >> 32;
}

/* Distance of rbp's slot from its base, in bytes. */
static inline int64_t unwind_rule_slot(uint64_t rule)
{
    return (int64_t)(int16_t)(rule >> 16) * 8;
}

static inline unsigned unwind_rule_register(uint64_t rule)
{
    return (unsigned)(rule >> 8) & 15;
}

static inline unsigned unwind_rule_return_register(uint64_t rule)
{
    return (unsigned)(rule >> 12) & 15;
}

static inline unsigned unwind_rule_plt_push(uint64_t rule)
{
    return (unsigned)(rule >> 12) & 15;
}

static inline int64_t unwind_rule_deref_a(uint64_t rule)
{
    return (int16_t)(rule >> 32);
}

static inline int64_t unwind_rule_deref_b(uint64_t rule)
{
    return (int16_t)(rule >> 48);
}

/* CFA = rsp (or rbp) + offset, rbp unchanged. */
static inline uint64_t unwind_rule_cfa(bool base_rbp, int32_t offset)
{
    return UNWIND_RULE_CFA | (base_rbp ? UNWIND_RULE_BASE_RBP : 0) |
           (uint64_t)(uint32_t)offset << 32;
}

static inline uint64_t unwind_rule_plt(unsigned push_offset)
{
    return UNWIND_RULE_PLT | (uint64_t)(push_offset & 15) << 12;
}

struct cfi_state;

/* The rule of one row of a CFA program. What does not fit is COMPLEX. */
uint64_t unwind_rule_of_state(const struct cfi_state *state);

/* Whether libunwind may have to follow this rule from the last point where all registers were
 * known, so that the image's call frame information must be kept. */
bool unwind_rule_needs_registers(uint64_t rule);

/* Whether a rule can stand in a table: of a kind that tables have, and no register beyond those there
 * are. The walk may follow any such rule. */
bool unwind_rule_is_valid(uint64_t rule);

/* Spells a rule, as struct unwind_row describes it. */
void unwind_rule_text(uint64_t rule, char *text, size_t size);

/* Distinct rules of one table. Zero is a valid empty set. */
struct rule_set {
    uint64_t *rules; /* by number */
    size_t count, capacity;
    uint32_t *buckets; /* number + 1, 0 = free */
    size_t bucket_mask;
    uint64_t last_rule; /* the rule asked for last, and its number */
    uint16_t last_number;
};

/* Puts the number of `rule` into *number. Returns 0, SPROF_ELIMIT (65 535 rules) or SPROF_ENOMEM.
 */
int rule_set_intern(struct rule_set *set, uint64_t rule, uint16_t *number);
void rule_set_release(struct rule_set *set);

#endif
