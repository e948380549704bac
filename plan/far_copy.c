/* Makes copies of function beginnings in the tracing agent's area, in the shape that
 * arch/x86_64/probe/area.S describes and has the unwinding rules of. */
#include "plan/relocate.h"

#include <string.h>

enum {
    ROOM = ARCH_COPY_PUSHED, /* for code */
    NOWHERE = ARCH_COPY_BYTES,
};

/* Where execution goes on behind an instruction. */
enum going {
    GOES_ON,
    GOES_ELSEWHERE, /* as ARCH_COPY_NEXT says already */
    GOES_AWAY,      /* it needs no help for that */
    STAYS,          /* it was not copied: it works near its place only */
    FAILS,
};

struct maker {
    struct plan_far_copy *copy;
    uint64_t site, at;
    size_t size; /* of the code so far; all but what ends it is as long as it was */
    struct arch_instruction branch;
    size_t branch_at; /* NOWHERE: there is none */
};

static void put_word(struct maker *maker, size_t where, uint64_t value)
{
    memcpy(maker->copy->bytes + where, &value, sizeof value);
}

/* Behind `last` all belongs to one place in the function, but for so many bytes on the stack. */
static void put_last(struct maker *maker, size_t last, size_t of, unsigned pushed)
{
    maker->copy->bytes[ARCH_COPY_LAST] = (uint8_t)last;
    maker->copy->bytes[ARCH_COPY_OF] = (uint8_t)of;
    maker->copy->bytes[ARCH_COPY_PUSHED] = (uint8_t)pushed;
}

static bool put(struct maker *maker, const uint8_t *code, size_t size)
{
    if (size > ROOM - maker->size)
        return false;
    memcpy(maker->copy->bytes + maker->size, code, size);
    maker->size += size;
    return true;
}

/* Through a word of the copy. */
static bool put_jump(struct maker *maker, size_t word)
{
    uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *distance(%rip) */
    jump[2] = (uint8_t)(word - (maker->size + sizeof jump));
    return put(maker, jump, sizeof jump);
}

/* A push of the return address, and a jump. */
static enum going put_call(struct maker *maker, const uint8_t *code,
                           const struct arch_instruction *instruction)
{
    const bool is_direct = instruction->flow == ARCH_FLOW_CALL;
    const uint64_t from = maker->site + maker->size;
    uint8_t moved[ARCH_MOVED_BYTES];
    const size_t length = arch_instruction_move(code, instruction, from, from, moved);
    put_last(maker, maker->size, maker->size, ARCH_CALL_PUSHES);
    if (!is_direct)
        return length && put(maker, moved, length) ? GOES_AWAY : FAILS;
    put_word(maker, ARCH_COPY_NEXT, from + instruction->length + (uint64_t)instruction->value);
    return length && put(maker, moved, ARCH_PUSHED_BYTES) ? GOES_ELSEWHERE : FAILS;
}

/* A branch leads to a jump behind the code. */
static enum going put_branch(struct maker *maker, const uint8_t *code,
                             const struct arch_instruction *instruction)
{
    const uint64_t next = maker->site + maker->size + instruction->length;
    if (maker->branch_at != NOWHERE || instruction->bits & ARCH_IS_SHORT_ONLY)
        return STAYS;
    maker->branch = *instruction;
    maker->branch_at = maker->size;
    put_word(maker, ARCH_COPY_BRANCH, next + (uint64_t)instruction->value);
    return put(maker, code, instruction->length) ? GOES_ON : FAILS;
}

static bool end_branch(struct maker *maker)
{
    const size_t behind = maker->branch_at + maker->branch.length;
    uint8_t *field = maker->copy->bytes + maker->branch_at + maker->branch.field_at;
    memset(field, 0, maker->branch.field_size);
    *field = (uint8_t)(maker->size - behind);
    put_last(maker, maker->size - 1, maker->branch_at, 0);
    return put_jump(maker, ARCH_COPY_BRANCH);
}

/* Its operand is too far away, and has to be described none the less where it may fault: without
 * that there is no probe. */
static enum going put_reaching(struct maker *maker, const uint8_t *code,
                               const struct arch_instruction *instruction)
{
    uint8_t moved[ARCH_REACHED_BYTES];
    size_t at;
    if (!arch_instruction_may_fault(code, instruction))
        return STAYS;
    if (maker->branch_at != NOWHERE)
        return FAILS;
    const size_t length =
        arch_instruction_reach(code, instruction, ARCH_COPY_BRANCH - maker->size, moved, &at);
    if (!length)
        return FAILS;
    put_word(maker, ARCH_COPY_BRANCH,
             maker->site + maker->size + instruction->length + (uint64_t)instruction->displacement);
    put_last(maker, maker->size + at - 1, maker->size, ARCH_BORROWED_BYTES);
    return put(maker, moved, length) ? GOES_ON : FAILS;
}

static enum going put_instruction(struct maker *maker, const uint8_t *code,
                                  const struct arch_instruction *instruction)
{
    const enum arch_flow flow = (enum arch_flow)instruction->flow;
    const uint64_t from = maker->site + maker->size;
    const bool is_call = flow == ARCH_FLOW_CALL || flow == ARCH_FLOW_CALL_INDIRECT;
    uint8_t moved[ARCH_MOVED_BYTES];
    if (flow == ARCH_FLOW_BRANCH)
        return put_branch(maker, code, instruction);
    if (flow == ARCH_FLOW_JUMP) {
        put_word(maker, ARCH_COPY_NEXT, from + instruction->length + (uint64_t)instruction->value);
        return GOES_ELSEWHERE;
    }
    if (instruction->base == ARCH_PC && is_call)
        return STAYS;
    if (instruction->base == ARCH_PC &&
        !arch_instruction_move(code, instruction, from, maker->at + maker->size, moved))
        return put_reaching(maker, code, instruction);
    if (is_call)
        return maker->branch_at == NOWHERE ? put_call(maker, code, instruction) : STAYS;
    if (!put(maker, instruction->base == ARCH_PC ? moved : code, instruction->length))
        return FAILS;
    return flow == ARCH_FLOW_NEXT ? GOES_ON : GOES_AWAY;
}

int plan_far_copy_make(struct plan_far_copy *copy, const uint8_t *original, size_t displaced,
                       size_t own, uint64_t site, uint64_t at)
{
    struct maker maker = {.copy = copy, .site = site, .at = at, .branch_at = NOWHERE};
    const size_t end = own < displaced ? own : displaced;
    enum going going = GOES_ON;
    size_t from = 0;
    copy->rest = 0;
    memset(copy->bytes, ARCH_FILL, sizeof copy->bytes);
    put_word(&maker, ARCH_COPY_SITE, site);
    put_last(&maker, NOWHERE, 0, 0);
    while (going == GOES_ON && from < end && from < PLAN_JUMP_BYTES) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(original + from, displaced - from, &instruction))
            return SPROF_EUNSUPPORTED;
        going = put_instruction(&maker, original + from, &instruction);
        if (going == STAYS)
            copy->rest = (uint8_t)from;
        from += instruction.length;
    }
    if (going == STAYS && !copy->rest)
        return SPROF_ELIMIT;
    if (going == FAILS)
        return SPROF_EUNSUPPORTED;
    if (going == GOES_ON)
        put_word(&maker, ARCH_COPY_NEXT, site + from);
    if ((going != GOES_AWAY && !put_jump(&maker, ARCH_COPY_NEXT)) ||
        (maker.branch_at != NOWHERE && !end_branch(&maker)))
        return SPROF_EUNSUPPORTED;
    return 0;
}

bool plan_may_fault(const uint8_t *original, size_t displaced)
{
    struct arch_instruction instruction;
    bool has_frame = false;
    for (size_t at = 0; at < displaced && at < PLAN_JUMP_BYTES; at += instruction.length) {
        if (!arch_instruction_decode(original + at, displaced - at, &instruction))
            return true;
        const bool is_of_frame = has_frame && instruction.base == ARCH_FP && instruction.index < 0;
        if (!is_of_frame && arch_instruction_may_fault(original + at, &instruction))
            return true;
        has_frame |= arch_code_sets_fp(original + at, instruction.length);
    }
    return false;
}
