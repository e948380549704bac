/* Go's runtime.systemstack and runtime.morestack go over to the thread's own stack, without a
 * frame. No register has the stack that they were called on, but the frame pointer still leads to a
 * frame there: their caller's, or where that has none yet, its caller's. The place of their return
 * address is searched below it. A word is it where the call before it leads to the function, and
 * where the tables lead from there to exactly this frame pointer. */
#include "arch/arch.h"
#include "unwind/walk.h"

enum { FRAME_WORDS_MAX = 512 /* searched below the frame pointer */ };

struct left_stack {
    uint64_t fp;
    uint64_t low; /* where `words` begin; they end at `fp` */
    uint64_t words[FRAME_WORDS_MAX];
    const struct unwind_region *region; /* of the function's code: its callers' is the same */
    uint64_t function;                  /* where it begins */
};

static bool read_words(struct walk *walk, struct left_stack *left)
{
    const struct unwind_memory *memory = walk->memory;
    const uint64_t span = FRAME_WORDS_MAX * sizeof(uint64_t);
    if (left->fp & 7 || left->fp < span || left->fp >= UNWIND_USER_END)
        return false;
    left->low = left->fp - span;
    if (left->fp - memory->tail_address < memory->tail_size && left->low < memory->tail_address)
        left->low = (memory->tail_address + 7) & ~UINT64_C(7);
    /* Upwards: a window on live memory begins where it is first read. */
    for (uint64_t at = left->low; at < left->fp; at += 8) {
        uint64_t *word = &left->words[(at - left->low) / 8];
        if (unwind_walk_read_word(walk, at, word) != WALK_READ_OK)
            *word = 0;
    }
    return true;
}

/* How far above the stack pointer the CFA lies in a function of Go's that was called from; 0: there
 * is no such function. */
static uint64_t cfa_offset(struct walk *walk, const struct left_stack *left, uint64_t address)
{
    if (address - left->region->start >= left->region->end - left->region->start)
        return 0;
    const uint64_t rule = unwind_walk_rule(walk, address - 1);
    const bool plain = unwind_rule_kind(rule) == UNWIND_RULE_CFA && !(rule & UNWIND_RULE_BASE_FP);
    return plain ? (uint64_t)unwind_rule_offset(rule) : 0;
}

/* Whether a return address at `at` is in a function whose frame keeps the frame pointer at `fp`. */
static bool frame_is_at(struct walk *walk, const struct left_stack *left, uint64_t at)
{
    const uint64_t address = left->words[(at - left->low) / 8];
    return cfa_offset(walk, left, address) == left->fp - at + 8;
}

/* The return address lies right below the caller's locals; or, where the caller had no frame yet,
 * below its own return address. */
static bool is_return_of_function(struct walk *walk, const struct left_stack *left, uint64_t at)
{
    const uint64_t address = left->words[(at - left->low) / 8];
    const bool without_frame = cfa_offset(walk, left, address) == 8 && at + 8 < left->fp &&
                               frame_is_at(walk, left, at + 8);
    return (frame_is_at(walk, left, at) || without_frame) &&
           unwind_walk_call_leads_to(walk, address, left->function);
}

bool unwind_walk_left_stack(struct walk *walk)
{
    struct left_stack left = {.fp = walk->fp};
    struct unwind_range function;
    left.region = walk->space->find(walk->space->context, walk->pc);
    if (!left.fp || !ARCH_CALL_PUSHES || !left.region || !unwind_walk_function(walk, &function))
        return unwind_walk_end(walk, MODEL_END_ROOT);
    left.function = function.start;
    if (!read_words(walk, &left) || ++walk->stack_switches > UNWIND_STACK_SWITCHES_MAX)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    for (uint64_t at = left.fp; at > left.low;) {
        at -= 8;
        if (!is_return_of_function(walk, &left, at))
            continue;
        const struct walk_caller caller = {.address = left.words[(at - left.low) / 8],
                                           .sp = at + ARCH_CALL_PUSHES,
                                           .fp = walk->fp,
                                           .found_by = MODEL_BY_CFI};
        return unwind_walk_go_on(walk, &caller);
    }
    return unwind_walk_end(walk, MODEL_END_TRUNCATED);
}
