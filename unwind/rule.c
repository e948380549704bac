/* Turns the state of a call frame program into a rule of 64 bits, and spells rules out. */
#include "unwind/rule.h"

#include "base/base.h"
#include "unwind/cfi.h"

#include <stdio.h>

/* == From a state == */

static bool fits_slot(int64_t offset)
{
    return !(offset & 7) && offset / 8 == (int16_t)(offset / 8);
}

static uint64_t slot_bits(int64_t offset)
{
    return (uint64_t)(uint16_t)(offset / 8) << 16;
}

/* Adds where the frame pointer was saved, or makes the rule COMPLEX. */
static uint64_t with_fp(uint64_t rule, const struct cfi_value *fp)
{
    if (fp->how == CFI_SAME || fp->how == CFI_UNDEFINED)
        return rule;
    const bool from_fp = fp->how == CFI_AT_REGISTER && fp->reg == ARCH_FP;
    /* Above lies the return address or the caller's frame. */
    const bool below = fp->how == CFI_AT_CFA && fp->offset <= -8 - ARCH_CALL_PUSHES;
    if (!fits_slot(fp->offset) || !(from_fp || below))
        return UNWIND_RULE_COMPLEX;
    return rule | UNWIND_RULE_FP_SAVED | (from_fp ? UNWIND_RULE_SLOT_FROM_FP : 0) |
           slot_bits(fp->offset);
}

/* Adds where the return address is, or makes the rule COMPLEX. */
static uint64_t with_return(uint64_t rule, const struct cfi_state *state)
{
    const struct cfi_value *ra = &state->ra, *fp = &state->fp;
    if (ra->how == CFI_SAME && ARCH_LINK >= 0)
        return rule | UNWIND_RULE_RETURN_LINK;
    if (ra->how != CFI_AT_CFA)
        return UNWIND_RULE_COMPLEX;
    if (ARCH_CALL_PUSHES != 0 && ra->offset == -ARCH_CALL_PUSHES)
        return rule | UNWIND_RULE_RETURN_PUSHED;
    if (fp->how == CFI_AT_CFA)
        return ra->offset == fp->offset + 8 ? rule | UNWIND_RULE_RETURN_SLOT : UNWIND_RULE_COMPLEX;
    if (fp->how != CFI_SAME || !fits_slot(ra->offset) || ra->offset > -8)
        return UNWIND_RULE_COMPLEX;
    return rule | UNWIND_RULE_RETURN_SLOT | slot_bits(ra->offset);
}

static uint64_t cfa_rule(const struct cfi_state *state)
{
    const uint64_t offset = (uint64_t)(uint32_t)state->cfa_offset << 32;
    if (state->cfa_offset != (int32_t)state->cfa_offset)
        return UNWIND_RULE_COMPLEX;
    if (state->cfa_register == ARCH_SP || state->cfa_register == ARCH_FP)
        return UNWIND_RULE_CFA | (state->cfa_register == ARCH_FP ? UNWIND_RULE_BASE_FP : 0) |
               (state->ends_callers ? UNWIND_RULE_ENDS_CALLERS : 0) |
               (state->other_stack ? UNWIND_RULE_OTHER_STACK : 0) | offset;
    return UNWIND_RULE_REGISTER | unwind_rule_with_register(state->cfa_register) | offset;
}

static uint64_t deref_rule(const struct cfi_state *state)
{
    if (state->cfa_offset != (int16_t)state->cfa_offset ||
        state->cfa_add != (int16_t)state->cfa_add)
        return UNWIND_RULE_COMPLEX;
    return UNWIND_RULE_DEREF | unwind_rule_with_register(state->cfa_register) |
           (uint64_t)(uint16_t)state->cfa_offset << 32 | (uint64_t)(uint16_t)state->cfa_add << 48;
}

static uint64_t return_register_rule(const struct cfi_state *state)
{
    const bool plain = state->cfa_how == CFI_CFA_REGISTER && state->cfa_register == ARCH_SP &&
                       state->cfa_offset == (int32_t)state->cfa_offset;
    return plain ? UNWIND_RULE_RETURN_REGISTER | unwind_rule_with_register(state->ra.reg) |
                       (uint64_t)(uint32_t)state->cfa_offset << 32
                 : UNWIND_RULE_COMPLEX;
}

/* The last instructions of longjmp: where it goes on is in registers, whatever the CFA. */
static uint64_t jump_rule(const struct cfi_state *state)
{
    const struct cfi_value *fp = &state->fp;
    const uint64_t caller_fp = fp->how == CFI_SAME ? (uint64_t)ARCH_FP : fp->reg;
    if (state->ra.how != CFI_IN_REGISTER || (fp->how != CFI_IN_REGISTER && fp->how != CFI_SAME))
        return UNWIND_RULE_COMPLEX;
    return UNWIND_RULE_JUMP | unwind_rule_with_register(state->ra.reg) |
           (uint64_t)state->sp.reg << 32 | caller_fp << 40;
}

uint64_t unwind_rule_of_state(const struct cfi_state *state)
{
    if (state->signal_frame)
        return UNWIND_RULE_SIGNAL;
    if (state->ra.how == CFI_UNDEFINED)
        return UNWIND_RULE_END;
    if (state->ra.how == CFI_THUNK)
        return UNWIND_RULE_THUNK | unwind_rule_with_register(state->ra.reg) |
               (uint64_t)state->ra.offset << 32;
    if (state->sp.how == CFI_IN_REGISTER)
        return jump_rule(state);
    if (state->sp.how != CFI_SAME)
        return UNWIND_RULE_COMPLEX;
    if (state->cfa_how == CFI_CFA_NONE)
        return UNWIND_RULE_GAP;
    uint64_t rule = UNWIND_RULE_COMPLEX;
    if (state->ra.how == CFI_IN_REGISTER)
        rule = return_register_rule(state);
    else if (state->cfa_how == CFI_CFA_REGISTER)
        rule = cfa_rule(state);
    else if (state->cfa_how == CFI_CFA_DEREF)
        rule = deref_rule(state);
    else if (state->cfa_how == CFI_CFA_PLT && ARCH_CALL_PUSHES != 0)
        rule = unwind_rule_plt((unsigned)state->cfa_offset);
    if (rule != UNWIND_RULE_COMPLEX && state->ra.how != CFI_IN_REGISTER)
        rule = with_return(rule, state);
    return rule == UNWIND_RULE_COMPLEX ? rule : with_fp(rule, &state->fp);
}

bool unwind_rule_needs_registers(uint64_t rule)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    const unsigned reg = unwind_rule_register(rule);
    if (kind == UNWIND_RULE_DEREF)
        return reg != ARCH_FP && reg != ARCH_SP;
    return kind == UNWIND_RULE_COMPLEX || kind == UNWIND_RULE_REGISTER ||
           kind == UNWIND_RULE_RETURN_REGISTER;
}

/* Whether a return address can be where the rule says. */
static bool has_valid_return(uint64_t rule)
{
    const uint64_t where = rule & UNWIND_RULE_RETURN_MASK;
    return where == UNWIND_RULE_RETURN_SLOT || where == UNWIND_RULE_RETURN_ON_ENTRY ||
           where == UNWIND_RULE_RETURN_PUSHED;
}

bool unwind_rule_is_valid(uint64_t rule)
{
    const uint64_t registers = UINT64_C(31) << 32 | UINT64_C(31) << 40;
    const bool names_register = unwind_rule_register(rule) < ARCH_GENERAL_REGISTERS;
    switch (unwind_rule_kind(rule)) {
    case UNWIND_RULE_REGISTER:
    case UNWIND_RULE_DEREF: return names_register && has_valid_return(rule);
    case UNWIND_RULE_RETURN_REGISTER: return names_register;
    case UNWIND_RULE_JUMP:
        return names_register && !(rule >> 32 << 32 & ~registers) &&
               unwind_rule_jump_sp(rule) < ARCH_GENERAL_REGISTERS &&
               unwind_rule_jump_fp(rule) < ARCH_GENERAL_REGISTERS;
    case UNWIND_RULE_CFA:
    case UNWIND_RULE_CHILD: return has_valid_return(rule);
    case UNWIND_RULE_FRAME_POINTER:
    case UNWIND_RULE_BARE:
    case UNWIND_RULE_NOT_CODE:
    case UNWIND_RULE_PENDING:
    case UNWIND_RULE_KINDS: return false;
    default: return unwind_rule_kind(rule) < UNWIND_RULE_KINDS;
    }
}

/* == As text == */

/* Registers by their short names: "rbp", or "x29"; the program counter has none. */
static const char *name_of(unsigned reg)
{
    return reg < ARCH_GENERAL_REGISTERS ? arch_register_names[reg] : "?";
}

static const char *const kind_names[UNWIND_RULE_KINDS] = {
    [UNWIND_RULE_GAP] = "gap",
    [UNWIND_RULE_END] = "end",
    [UNWIND_RULE_SIGNAL] = "signal",
    [UNWIND_RULE_CHILD] = "child",
    [UNWIND_RULE_FRAME_POINTER] = "frame-pointer",
    [UNWIND_RULE_BARE] = "bare",
    [UNWIND_RULE_COMPLEX] = "complex",
    [UNWIND_RULE_THUNK] = "thunk",
    [UNWIND_RULE_NOT_CODE] = "not-code",
    [UNWIND_RULE_PENDING] = "pending",
};

static void fp_text(uint64_t rule, struct sprof_str *out)
{
    const char *fp = name_of(ARCH_FP);
    if (!(rule & UNWIND_RULE_FP_SAVED))
        return;
    if (rule & UNWIND_RULE_SLOT_FROM_FP)
        sprof_str_appendf(out, " %s=*(%s%+lld)", fp, fp, (long long)unwind_rule_slot(rule));
    else
        sprof_str_appendf(out, " %s=cfa%+lld", fp, (long long)unwind_rule_slot(rule));
}

static void return_text(uint64_t rule, struct sprof_str *out)
{
    const int64_t slot = unwind_rule_slot(rule) + (rule & UNWIND_RULE_FP_SAVED ? 8 : 0);
    switch ((enum unwind_rule_return)(rule & UNWIND_RULE_RETURN_MASK)) {
    case UNWIND_RULE_RETURN_LINK: sprof_str_append(out, " ra=link"); return;
    case UNWIND_RULE_RETURN_SLOT: sprof_str_appendf(out, " ra=cfa%+lld", (long long)slot); return;
    default: sprof_str_append(out, " ra=cfa-8");
    }
}

static void cfa_text(uint64_t rule, struct sprof_str *out)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    const char *base =
        name_of(kind == UNWIND_RULE_CFA ? (rule & UNWIND_RULE_BASE_FP ? ARCH_FP : ARCH_SP)
                : kind == UNWIND_RULE_RETURN_REGISTER ? ARCH_SP
                                                      : unwind_rule_register(rule));
    if (kind == UNWIND_RULE_DEREF)
        sprof_str_appendf(out, "cfa=*(%s%+lld)%+lld", base, (long long)unwind_rule_deref_a(rule),
                          (long long)unwind_rule_deref_b(rule));
    else
        sprof_str_appendf(out, "cfa=%s%+lld", base, (long long)unwind_rule_offset(rule));
}

/* The rules that have a CFA, or lead on without one. */
static void spell_out(uint64_t rule, struct sprof_str *out)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    if (kind == UNWIND_RULE_PLT)
        sprof_str_appendf(out, "plt push=%u", unwind_rule_register(rule));
    else if (kind == UNWIND_RULE_JUMP)
        sprof_str_appendf(out, "%s=%s %s=%s", name_of(ARCH_SP), name_of(unwind_rule_jump_sp(rule)),
                          name_of(ARCH_FP), name_of(unwind_rule_jump_fp(rule)));
    else
        cfa_text(rule, out);
    fp_text(rule, out);
    if (kind == UNWIND_RULE_RETURN_REGISTER || kind == UNWIND_RULE_JUMP)
        sprof_str_appendf(out, " ra=%s", name_of(unwind_rule_register(rule)));
    else if (kind != UNWIND_RULE_PLT)
        return_text(rule, out);
    if (kind == UNWIND_RULE_CFA && rule & UNWIND_RULE_ENDS_CALLERS)
        sprof_str_append(out, ", callers end");
    if (kind == UNWIND_RULE_CFA && rule & UNWIND_RULE_OTHER_STACK)
        sprof_str_append(out, ", another stack");
}

void unwind_rule_text(uint64_t rule, char *text, size_t size)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    struct sprof_str out = {0};
    if (kind < UNWIND_RULE_KINDS && kind_names[kind])
        sprof_str_append(&out, kind_names[kind]);
    else
        spell_out(rule, &out);
    snprintf(text, size, "%s", out.text ? out.text : "");
    sprof_str_release(&out);
}
