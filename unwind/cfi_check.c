/* Whether a function's rows agree with its code. Checked only for compilers that are known to write
 * wrong ones: Free Pascal forgets the registers it pushes. */
#include "arch/arch.h"
#include "unwind/cfi.h"

/* Of a function: any number of them may claim the same code. */
enum { FOLLOWED_BYTES_MAX = 4096 };

struct check {
    struct sprof_bytes code;
    uint64_t start;
    size_t at;      /* offset of the next instruction */
    int64_t pushed; /* bytes by which the stack pointer is lower than on entry */
    int64_t deepest;
    size_t rows;
    bool agrees;
};

/* Follows the code in a line up to `offset`; false where the stack pointer changes in a way that is
 * not followed.
 */
static bool follow_to(struct check *check, size_t offset)
{
    struct arch_instruction instruction;
    while (check->at < offset) {
        if (check->at >= FOLLOWED_BYTES_MAX ||
            !arch_instruction_decode(check->code.data + check->at, check->code.size - check->at,
                                     &instruction))
            return false;
        check->at += instruction.length;
        switch ((enum arch_effect)instruction.effect) {
        case ARCH_EFFECT_ADDS_SP: check->pushed -= instruction.value; break;
        case ARCH_EFFECT_POPS_FP:
        case ARCH_EFFECT_POPS_FRAME:
        case ARCH_EFFECT_LEAVES:
        case ARCH_EFFECT_SP_FROM_FP:
        case ARCH_EFFECT_SP_FROM_REGISTER:
        case ARCH_EFFECT_LOADS_SP:
        case ARCH_EFFECT_CHANGES_SP: return false;
        default: break;
        }
        check->deepest = check->pushed > check->deepest ? check->pushed : check->deepest;
    }
    return check->at == offset;
}

/* Where the row begins, the prologue has got as far as it says. */
static void check_row(void *context, uint64_t start, uint64_t end, const struct cfi_state *state)
{
    struct check *check = context;
    (void)end;
    check->rows++;
    if (!check->agrees || state->cfa_how != CFI_CFA_REGISTER || state->cfa_register != ARCH_SP)
        return;
    check->agrees = follow_to(check, (size_t)(start - check->start)) &&
                    state->cfa_offset == check->pushed + ARCH_CALL_PUSHES;
}

bool unwind_cfi_agrees_with_code(const struct cfi_section *section, const struct cfi_fde *fde,
                                 struct sprof_bytes code)
{
    struct check check = {.code = code, .start = fde->start, .agrees = true};
    if (code.size != fde->end - fde->start ||
        unwind_cfi_program_run(section, fde, check_row, &check))
        return false;
    if (check.rows > 1 || !check.agrees)
        return check.agrees;
    /* A single row means that the function has no frame at all. */
    return follow_to(&check, code.size) && !check.deepest;
}
