#include "unwind/rule.h"

#include "base/base.h"
#include "unwind/cfi.h"

#include <stdio.h>

/* ---- From a state -----------------------------------------------------------------------------
 */

/* Adds where rbp was saved, or makes the rule COMPLEX. */
static uint64_t with_rbp(uint64_t rule, const struct cfi_value *rbp)
{
    if (rbp->how == CFI_SAME || rbp->how == CFI_UNDEFINED)
        return rule;
    const bool from_rbp = rbp->how == CFI_AT_REGISTER && rbp->reg == UNWIND_RBP;
    const bool fits = !(rbp->offset & 7) && rbp->offset / 8 == (int16_t)(rbp->offset / 8);
    /* Above CFA-16 lies the return address or the caller's frame. */
    if (!fits || !(from_rbp || (rbp->how == CFI_AT_CFA && rbp->offset <= -16)))
        return UNWIND_RULE_COMPLEX;
    return rule | UNWIND_RULE_RBP_SAVED | (from_rbp ? UNWIND_RULE_SLOT_FROM_RBP : 0) |
           (uint64_t)(uint16_t)(rbp->offset / 8) << 16;
}

static uint64_t cfa_rule(const struct cfi_state *state)
{
    const uint64_t offset = (uint64_t)(uint32_t)state->cfa_offset << 32;
    const uint64_t reg = (uint64_t)state->cfa_register << 8;
    if (state->cfa_offset != (int32_t)state->cfa_offset)
        return UNWIND_RULE_COMPLEX;
    if (state->cfa_register == UNWIND_RSP || state->cfa_register == UNWIND_RBP)
        return unwind_rule_cfa(state->cfa_register == UNWIND_RBP, (int32_t)state->cfa_offset) |
               (state->ends_callers ? UNWIND_RULE_ENDS_CALLERS : 0) |
               (state->other_stack ? UNWIND_RULE_OTHER_STACK : 0);
    return UNWIND_RULE_REGISTER | reg | offset;
}

static uint64_t deref_rule(const struct cfi_state *state)
{
    if (state->cfa_offset != (int16_t)state->cfa_offset ||
        state->cfa_add != (int16_t)state->cfa_add)
        return UNWIND_RULE_COMPLEX;
    return UNWIND_RULE_DEREF | (uint64_t)state->cfa_register << 8 |
           (uint64_t)(uint16_t)state->cfa_offset << 32 | (uint64_t)(uint16_t)state->cfa_add << 48;
}

static uint64_t return_register_rule(const struct cfi_state *state)
{
    const bool plain = state->cfa_how == CFI_CFA_REGISTER && state->cfa_register == UNWIND_RSP &&
                       state->cfa_offset == (int32_t)state->cfa_offset;
    return plain ? UNWIND_RULE_RETURN_REGISTER | (uint64_t)UNWIND_RSP << 8 |
                       (uint64_t)state->ra.reg << 12 | (uint64_t)(uint32_t)state->cfa_offset << 32
                 : UNWIND_RULE_COMPLEX;
}

/* The last instructions of longjmp: where it goes on is in registers, whatever the CFA. */
static uint64_t jump_rule(const struct cfi_state *state)
{
    const struct cfi_value *rbp = &state->rbp;
    const uint64_t bp = rbp->how == CFI_SAME ? (uint64_t)UNWIND_RBP : rbp->reg;
    if (state->ra.how != CFI_IN_REGISTER || (rbp->how != CFI_IN_REGISTER && rbp->how != CFI_SAME))
        return UNWIND_RULE_COMPLEX;
    return UNWIND_RULE_JUMP | (uint64_t)state->rsp.reg << 8 | (uint64_t)state->ra.reg << 12 |
           bp << 32;
}

uint64_t unwind_rule_of_state(const struct cfi_state *state)
{
    if (state->signal_frame)
        return UNWIND_RULE_SIGNAL;
    if (state->ra.how == CFI_UNDEFINED)
        return UNWIND_RULE_END;
    if (state->rsp.how == CFI_IN_REGISTER)
        return jump_rule(state);
    if (state->rsp.how != CFI_SAME)
        return UNWIND_RULE_COMPLEX;
    if (state->cfa_how == CFI_CFA_NONE)
        return UNWIND_RULE_GAP;
    uint64_t rule = UNWIND_RULE_COMPLEX;
    if (state->ra.how == CFI_IN_REGISTER)
        rule = return_register_rule(state);
    else if (state->ra.how != CFI_AT_CFA || state->ra.offset != -8)
        return UNWIND_RULE_COMPLEX;
    else if (state->cfa_how == CFI_CFA_REGISTER)
        rule = cfa_rule(state);
    else if (state->cfa_how == CFI_CFA_DEREF)
        rule = deref_rule(state);
    else if (state->cfa_how == CFI_CFA_PLT)
        rule = unwind_rule_plt((unsigned)state->cfa_offset);
    return rule == UNWIND_RULE_COMPLEX ? rule : with_rbp(rule, &state->rbp);
}

bool unwind_rule_needs_registers(uint64_t rule)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    const unsigned reg = unwind_rule_register(rule);
    if (kind == UNWIND_RULE_DEREF)
        return reg != UNWIND_RBP && reg != UNWIND_RSP;
    return kind == UNWIND_RULE_COMPLEX || kind == UNWIND_RULE_REGISTER ||
           kind == UNWIND_RULE_RETURN_REGISTER;
}

bool unwind_rule_is_valid(uint64_t rule)
{
    switch (unwind_rule_kind(rule)) {
    case UNWIND_RULE_JUMP: return rule >> 32 < UNWIND_RIP;
    case UNWIND_RULE_FRAME_POINTER:
    case UNWIND_RULE_BARE:
    case UNWIND_RULE_NOT_CODE:
    case UNWIND_RULE_PENDING:
    case UNWIND_RULE_KINDS: return false;
    default: return unwind_rule_kind(rule) < UNWIND_RULE_KINDS;
    }
}

/* ---- As text ----------------------------------------------------------------------------------
 */

static const char *const register_names[16] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi",
                                               "rbp", "rsp", "r8",  "r9",  "r10", "r11",
                                               "r12", "r13", "r14", "r15"};

static const char *const kind_names[UNWIND_RULE_KINDS] = {
    [UNWIND_RULE_GAP] = "gap",
    [UNWIND_RULE_END] = "end",
    [UNWIND_RULE_SIGNAL] = "signal",
    [UNWIND_RULE_CHILD] = "child",
    [UNWIND_RULE_FRAME_POINTER] = "frame-pointer",
    [UNWIND_RULE_BARE] = "bare",
    [UNWIND_RULE_COMPLEX] = "complex",
    [UNWIND_RULE_NOT_CODE] = "not-code",
    [UNWIND_RULE_PENDING] = "pending",
};

static void rbp_text(uint64_t rule, struct sprof_str *out)
{
    if (rule & UNWIND_RULE_RBP_SAVED)
        sprof_str_appendf(out,
                          rule & UNWIND_RULE_SLOT_FROM_RBP ? " rbp=*(rbp%+lld)" : " rbp=cfa%+lld",
                          (long long)unwind_rule_slot(rule));
}

static void cfa_text(uint64_t rule, struct sprof_str *out)
{
    const enum unwind_rule_kind kind = unwind_rule_kind(rule);
    const char *base = register_names[unwind_rule_register(rule)];
    if (kind == UNWIND_RULE_CFA)
        base = rule & UNWIND_RULE_BASE_RBP ? "rbp" : "rsp";
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
        sprof_str_appendf(out, "plt push=%u", unwind_rule_plt_push(rule));
    else if (kind == UNWIND_RULE_JUMP)
        sprof_str_appendf(out, "rsp=%s rbp=%s", register_names[unwind_rule_register(rule)],
                          register_names[unwind_rule_offset(rule) & 15]);
    else
        cfa_text(rule, out);
    rbp_text(rule, out);
    if (kind == UNWIND_RULE_RETURN_REGISTER || kind == UNWIND_RULE_JUMP)
        sprof_str_appendf(out, " ra=%s", register_names[unwind_rule_return_register(rule)]);
    else if (kind != UNWIND_RULE_PLT)
        sprof_str_append(out, " ra=cfa-8");
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
