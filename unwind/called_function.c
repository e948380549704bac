/* Whether the call before a return address leads to a function: at once, or through another
 * function that jumps there. */
#include "arch/arch.h"
#include "unwind/walk.h"

enum { DISPATCHER_BYTES = 128 /* of a function that jumps to one of several */ };

bool unwind_walk_function(struct walk *walk, struct unwind_range *function)
{
    const struct unwind_region *region = walk->space->find(walk->space->context, walk->pc);
    if (!region || region->kind != UNWIND_REGION_TABLE ||
        !unwind_table_function(region->table, walk->pc - region->bias, function))
        return false;
    function->start += region->bias;
    function->end += region->bias;
    return true;
}

/* Whether the code at `address` jumps to `target`, straight or on a condition. */
static bool jumps_to(struct walk *walk, uint64_t address, uint64_t target)
{
    uint8_t code[DISPATCHER_BYTES];
    struct arch_instruction instruction;
    if (unwind_walk_read_live(walk, address, code, sizeof code))
        return false;
    for (size_t at = 0; at < sizeof code; at += instruction.length) {
        if (!arch_instruction_decode(code + at, sizeof code - at, &instruction))
            return false;
        const uint64_t next = address + at + instruction.length;
        if ((instruction.effect == ARCH_EFFECT_JUMPS ||
             instruction.effect == ARCH_EFFECT_BRANCHES) &&
            next + (uint64_t)instruction.value == target)
            return true;
    }
    return false;
}

static bool is_call_to(struct walk *walk, uint64_t return_address, uint64_t function)
{
    uint64_t target;
    return unwind_walk_is_return_address(walk, return_address) == WALK_YES &&
           unwind_walk_call_target(walk, return_address, &target) &&
           (target == function || jumps_to(walk, target, function));
}

bool unwind_walk_call_leads_to(struct walk *walk, uint64_t return_address, uint64_t function)
{
    const uint64_t generation = walk->space->generation;
    struct unwind_known_call *known = &walk->walker->calls[return_address % UNWIND_CALLS_KNOWN];
    if (known->return_address == return_address && known->function == function &&
        known->generation == generation)
        return true;
    if (!is_call_to(walk, return_address, function))
        return false;
    *known = (struct unwind_known_call){return_address, function, generation};
    return true;
}
