/* Steps over the thunks of sprof's tracer. Where a call of a traced function pushed its return
 * address stands one into a thunk; the caller's is in a record that the slot's address leads to
 * (agent/probe.h). Records change as fast as functions are called: those of the innermost calls
 * come with the sample; others are read from the process, and believed while each call began before
 * those below it. */
#include "model/model.h"
#include "unwind/walk.h"

enum {
    THUNK_BYTES = 64,
    RECORD_WORDS = 6,
    RECORD_RETURN = 0, /* words of a record */
    RECORD_BEGAN = 1,
    RECORD_SLOT = 5,
    IN_RECORD = 20, /* from this offset in a thunk on, the return address is in the record */
    LEAVES = 29,    /* from here on on the stack, too, by the time its record leaves the chain */
    HAS_LEFT = 34,  /* … and from here on in any case, but for what is called before */
    ON_STACK = 37,  /* and from this one on there alone */
};

#define SLOT_MASK ((UINT64_C(1) << 41) - 1)

/* A place that calls, and the function that it calls, have one slot and two records: that of the
 * place is where another slot's would be, and has a bit in it (agent/probe/thread.h). */
enum { POINT = UNWIND_THUNK_POINT };
#define POINT_DISTANCE (UINT64_C(1) << 40)

/* Where the call pushed its return address, by the rules of arch/x86_64/probe/area.S. */
static uint64_t slot_of(uint64_t sp, unsigned offset)
{
    const int words = (offset >= 27) - (offset >= 20) + (offset >= 29) - (offset >= 36);
    return sp + (uint64_t)(int64_t)(8 * words);
}

static bool captured_call(const struct walk *walk, uint64_t slot, struct model_open_call *call)
{
    for (size_t i = 0; i < walk->memory->call_count; i++)
        if (walk->memory->calls[i].slot == slot) {
            *call = walk->memory->calls[i];
            return true;
        }
    return false;
}

static bool recorded_call(struct walk *walk, uint64_t records, uint64_t slot,
                          struct model_open_call *call)
{
    uint64_t record[RECORD_WORDS];
    const uint64_t place = slot & POINT ? slot ^ POINT ^ POINT_DISTANCE : slot;
    walk->from = WALK_FROM_LIVE;
    if (unwind_walk_read_live(walk, records + 8 * (place & SLOT_MASK), record, sizeof record))
        return false;
    *call =
        (struct model_open_call){record[RECORD_SLOT], record[RECORD_RETURN], record[RECORD_BEGAN]};
    if (call->slot != slot || (walk->call_began && call->began >= walk->call_began))
        return false;
    walk->call_began = call->began;
    return true;
}

/* A call that ends, and is not in the chain any more: its return address is on the stack again.
 * What stood there before is anything. */
static bool ended_call(struct walk *walk, unsigned offset, uint64_t slot, uint64_t *address)
{
    return offset >= LEAVES && unwind_walk_read_word(walk, slot, address) == WALK_READ_OK &&
           walk->from != WALK_FROM_LIVE &&
           unwind_walk_is_return_address(walk, *address) == WALK_YES;
}

static bool is_point(uint64_t rule)
{
    return unwind_rule_register(rule) == POINT;
}

/* A record leads to a thunk only where a function's leads to that of the place that called it: nor
 * may a forged one do so, for ever. */
static bool is_believed(struct walk *walk, uint64_t rule, uint64_t address)
{
    const uint64_t next = unwind_walk_rule(walk, address - 1);
    return unwind_rule_kind(next) != UNWIND_RULE_THUNK || (is_point(next) && !is_point(rule));
}

/* What was moved out of a function stands for the place that it is from (arch/x86_64/probe/area.S). */
static bool leave_copy(struct walk *walk)
{
    enum { PUSHED = 37, OF = 38, LAST = 39, SITE = 56 };
    uint8_t copy[THUNK_BYTES];
    uint64_t place;
    unsigned offset = (unsigned)(walk->pc % THUNK_BYTES);
    if (unwind_walk_is_return(walk) ||
        unwind_walk_read_live(walk, walk->pc - offset, copy, sizeof copy))
        return unwind_walk_end(walk, MODEL_END_TRUNCATED);
    memcpy(&place, copy + SITE, sizeof place);
    if (offset > copy[LAST]) {
        offset = copy[OF];
        walk->sp += copy[PUSHED];
    }
    place += offset;
    if (unwind_rule_kind(unwind_walk_rule(walk, place)) == UNWIND_RULE_THUNK)
        return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    walk->walker->frames[walk->count - 1].address = walk->pc = place;
    return true;
}

bool unwind_walk_thunk(struct walk *walk, uint64_t rule)
{
    if (unwind_rule_register(rule) == UNWIND_THUNK_COPY) {
        walk->walker->knows_thunks = true;
        return leave_copy(walk);
    }
    const struct unwind_frame *frame = &walk->walker->frames[walk->count - 1];
    const unsigned offset = (unsigned)(frame->address % THUNK_BYTES);
    const uint64_t slot = slot_of(walk->sp, offset), of = slot | (is_point(rule) ? POINT : 0);
    struct walk_caller caller = {.sp = slot + 8, .fp = walk->fp, .found_by = MODEL_BY_CFI};
    struct model_open_call call;
    walk->walker->knows_thunks = true;
    const bool has_left = offset >= HAS_LEFT && !frame->is_return;
    if (offset < IN_RECORD || offset >= ON_STACK || has_left) {
        if (unwind_walk_read_word(walk, slot, &caller.address) != WALK_READ_OK)
            return unwind_walk_end(walk, MODEL_END_TRUNCATED);
    } else {
        if (captured_call(walk, of, &call))
            walk->call_began = call.began;
        else if (!ended_call(walk, offset, slot, &call.return_address) &&
                 !recorded_call(walk, rule >> 32 << 32, of, &call))
            return unwind_walk_end(walk, MODEL_END_TRUNCATED);
        caller.address = call.return_address;
        if (!is_believed(walk, rule, caller.address))
            return unwind_walk_end(walk, MODEL_END_BAD_MEMORY);
    }
    walk->count -= frame->is_return; /* what runs in a thunk is shown; what calls from one is not */
    return unwind_walk_go_on(walk, &caller);
}
