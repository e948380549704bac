/* Makes copies of function beginnings that do the same at another address. */
#include "plan/relocate.h"

static bool ends(const struct arch_instruction *instruction)
{
    return instruction->flow == ARCH_FLOW_JUMP || instruction->flow == ARCH_FLOW_JUMP_INDIRECT ||
           instruction->flow == ARCH_FLOW_RETURN || instruction->flow == ARCH_FLOW_STOP ||
           instruction->flow == ARCH_FLOW_CALL || instruction->flow == ARCH_FLOW_CALL_INDIRECT;
}

/* Whether the instruction itself, and not its distance, is in the way. */
static bool is_immovable(const uint8_t *code, const struct arch_instruction *instruction)
{
    uint8_t moved[ARCH_MOVED_BYTES];
    return !arch_instruction_move(code, instruction, 0, 0, moved);
}

int plan_copy_make(struct plan_copy *copy, const uint8_t *original, size_t displaced, size_t own,
                   uint64_t site, uint64_t at)
{
    struct arch_instruction instruction = {0};
    size_t from = 0, length;
    *copy = (struct plan_copy){0};
    while (from < displaced && from < own && from < PLAN_JUMP_BYTES) {
        if (!arch_instruction_decode(original + from, displaced - from, &instruction))
            return SPROF_EUNSUPPORTED;
        length = arch_instruction_move(original + from, &instruction, site + from, at + copy->size,
                                       copy->code + copy->size);
        if (!length)
            return is_immovable(original + from, &instruction) ? SPROF_EUNSUPPORTED : SPROF_ELIMIT;
        copy->places[copy->count].original = (uint8_t)from;
        copy->places[copy->count++].copied = copy->size;
        copy->size = (uint8_t)(copy->size + length);
        from += instruction.length;
        if (ends(&instruction)) /* a call returns to where it stood, behind the bytes */
            return 0;
    }
    copy->back = copy->size;
    copy->goes_on = (uint8_t)from;
    length = arch_jump_write(copy->code + copy->size, at + copy->size, site + from);
    copy->size = (uint8_t)(copy->size + length);
    return length ? 0 : SPROF_ELIMIT;
}
