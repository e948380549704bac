/* Decides how the entry of one function is probed, or why it is not. */
#include "plan/planner.h"

enum { FIRST_BLOCK_MAX = 64 }; /* instructions */

enum leaving {
    ENDS,    /* frames below its own */
    THROWS,  /* an exception begins there */
    CATCHES, /* the exception is its second argument */
};

/* Functions that end the frames of others. A probe there closes them; it sees no exit. Rust's
 * names hold hashes: they begin and end so. Its do_catch, where the compiler has not inlined it,
 * calls cleanup, whose frame may be below frames that the panic has left. */
static const struct {
    const char *begins, *ends; /* NULL: that is all of it; *: and anything more */
    enum leaving how;
} leaving[] = {
    {"longjmp", NULL, ENDS},
    {"_longjmp", NULL, ENDS},
    {"siglongjmp", NULL, ENDS},
    {"__longjmp_chk", NULL, ENDS},
    {"__libc_longjmp", NULL, ENDS},
    {"__libc_siglongjmp", NULL, ENDS},
    {"____longjmp_chk", NULL, ENDS},
    {"__cxa_begin_catch", NULL, ENDS},
    {"__cxa_throw", NULL, THROWS},
    {"__cxa_rethrow", NULL, THROWS},
    {"_Unwind_Resume", NULL, ENDS},
    {"_Unwind_Resume_or_Rethrow", NULL, ENDS},
    {"__gnat_begin_handler_v1", NULL, ENDS},
    {"rust_begin_unwind", NULL, THROWS},
    {"_RNvCs", "_7___rustc17rust_begin_unwind", THROWS},
    {"_ZN3std9panicking3try7cleanup17h", "E", ENDS},
    {"_ZN3std9panicking12catch_unwind7cleanup17h", "E", ENDS},
    {"_RNvNvNtCs", "_3std9panicking3try7cleanup", ENDS},
    {"_RNvNvNtCs", "_3std9panicking12catch_unwind7cleanup", ENDS},
    {"_ZN3std9panicking3try8do_catch17h", "E", CATCHES},
    {"_ZN3std9panicking12catch_unwind8do_catch17h", "E", CATCHES},
    {"_RINvNvNtCs", "_3std9panicking3try8do_catch*", CATCHES},
    {"_RINvNvNtCs", "_3std9panicking12catch_unwind8do_catch*", CATCHES},
};

static bool ends_so(const char *rest, const char *ends)
{
    const size_t end = ends ? strlen(ends) : 0, length = strlen(rest);
    if (!end)
        return !length;
    if (ends[end - 1] == '*')
        return memmem(rest, length, ends, end - 1) != NULL;
    return length >= end && !strcmp(rest + length - end, ends);
}

/* -1: it ends no others. */
static int leaving_of(const char *name)
{
    for (size_t i = 0; name && i < sizeof leaving / sizeof *leaving; i++) {
        const size_t length = strlen(leaving[i].begins);
        if (!strncmp(name, leaving[i].begins, length) && ends_so(name + length, leaving[i].ends))
            return (int)leaving[i].how;
    }
    return -1;
}

bool plan_leaves_frames(const char *name)
{
    return leaving_of(name) >= 0;
}

bool plan_throws(const char *name)
{
    return leaving_of(name) == THROWS;
}

bool plan_catches(const char *name)
{
    return leaving_of(name) == CATCHES;
}

/* … and where nongnu libunwind begins to do so, which does not come through thunks. libgcc's does.
 */
static bool begins_to_unwind(const struct planner *planner, const char *name)
{
    const char *soname = image_soname(planner->image);
    return name && soname && !strncmp(soname, "libunwind.so.8", sizeof "libunwind.so.8" - 1) &&
           (!strcmp(name, "_Unwind_RaiseException") || !strcmp(name, "_Unwind_ForcedUnwind"));
}

/* Parts keep the function's name: "f.cold", "f.part.0" is a function of its own. */
static bool is_cold(const char *name)
{
    const char *suffix = name ? strstr(name, ".cold") : NULL;
    return suffix && (!suffix[5] || suffix[5] == '.');
}

/* Whether the bytes from *at up to `end` are padding; *at moves behind the last. */
static bool skip_padding(struct sprof_bytes code, size_t *at, size_t end)
{
    while (*at < end) {
        const size_t length =
            *at < code.size ? arch_code_padding(code.data + *at, code.size - *at) : 0;
        if (!length)
            return false;
        *at += length;
    }
    return true;
}

/* Counts the bytes of whole instructions that a jump at the site displaces; `own` bytes are the
 * function's, `room` bytes go up to where the next one begins. */
static enum plan_reason displace(struct sprof_bytes code, size_t own, size_t room,
                                 uint8_t *displaced)
{
    size_t at = 0;
    while (at < PLAN_JUMP_BYTES) {
        struct arch_instruction instruction;
        if (at >= own)
            break;
        if (!arch_instruction_decode(code.data + at, code.size - at, &instruction))
            return PLAN_NOT_DECODED;
        uint8_t moved[ARCH_MOVED_BYTES];
        if (!arch_instruction_move(code.data + at, &instruction, 0, 0, moved))
            return PLAN_NOT_MOVABLE;
        at += instruction.length;
        if (at < PLAN_JUMP_BYTES && instruction.flow == ARCH_FLOW_CALL_INDIRECT)
            return PLAN_TARGET_INSIDE; /* the callee returns there */
        const bool ends =
            instruction.flow == ARCH_FLOW_RETURN || instruction.flow == ARCH_FLOW_JUMP ||
            instruction.flow == ARCH_FLOW_JUMP_INDIRECT || instruction.flow == ARCH_FLOW_STOP;
        if (ends && at < PLAN_JUMP_BYTES) {
            size_t behind = at;
            if (at < own &&
                !skip_padding(code, &behind, PLAN_JUMP_BYTES < own ? PLAN_JUMP_BYTES : own))
                return PLAN_ENDS_INSIDE;
            at = at < own ? behind : at;
            break;
        }
    }
    if (at < PLAN_JUMP_BYTES &&
        (room < PLAN_JUMP_BYTES || !skip_padding(code, &at, PLAN_JUMP_BYTES)))
        return PLAN_TOO_SHORT;
    *displaced = (uint8_t)at;
    return PLAN_REASON_NONE;
}

/* Whether the function reads flags before it has written them: its probe would have changed them.
 */
static bool reads_flags(struct sprof_bytes code)
{
    unsigned unread = ARCH_READS_CARRY | ARCH_READS_FLAGS;
    size_t at = 0;
    for (unsigned i = 0; i < FIRST_BLOCK_MAX && at < code.size && unread; i++) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(code.data + at, code.size - at, &instruction))
            return false;
        if (instruction.bits & unread)
            return true;
        if (instruction.bits & ARCH_WRITES_CARRY)
            unread &= ~(unsigned)ARCH_READS_CARRY;
        if (instruction.bits & ARCH_WRITES_FLAGS)
            unread &= ~(unsigned)ARCH_READS_FLAGS;
        if (instruction.flow != ARCH_FLOW_NEXT)
            return false;
        at += instruction.length;
    }
    return false;
}

/* What the function is, where that rules a probe out. */
static enum plan_reason reason_of_kind(struct planner *planner,
                                       const struct plan_function *function)
{
    if (is_cold(function->linkage_name))
        return PLAN_PART;
    switch (unwind_table_entry(planner->table, function->start)) {
    case UNWIND_ENTRY_START: return PLAN_START;
    case UNWIND_ENTRY_SIGNAL: return PLAN_SIGNAL_RETURN;
    case UNWIND_ENTRY_INSIDE: return PLAN_PART;
    case UNWIND_ENTRY_CALLED: break;
    }
    if (function->why == PLAN_RESOLVER || function->why == PLAN_UNWINDER)
        return function->why;
    return planner->plan->is_loader ? PLAN_LOADER : PLAN_REASON_NONE;
}

/* Where the changed bytes begin: behind the mark that indirect calls lead to. */
static size_t skip_landing(struct sprof_bytes code)
{
    struct arch_instruction instruction;
    const bool lands = arch_instruction_decode(code.data, code.size, &instruction) &&
                       instruction.bits & ARCH_IS_LANDING;
    return lands ? instruction.length : 0;
}

/* Whether what lies on top of the stack at the entry must stay there. The site is where jumps lead
 * that leave out a landing mark. */
static bool needs_return(const struct planner *planner, const struct plan_function *function)
{
    return sprof_map_get(&planner->needs_return, function->start) ||
           sprof_map_get(&planner->framed_jumps, function->start) ||
           sprof_map_get(&planner->framed_jumps, function->site);
}

static enum plan_reason decide_prologue(struct planner *planner, struct plan_function *function,
                                        uint64_t limit)
{
    struct sprof_bytes code;
    if (!plan_text_at(planner, function->start, &code))
        return PLAN_NOT_DECODED;
    const size_t skipped = skip_landing(code);
    const uint64_t site = function->start + skipped;
    if (site >= function->end)
        return PLAN_TOO_SHORT;
    code = (struct sprof_bytes){code.data + skipped, code.size - skipped};
    const size_t own = (size_t)(function->end - site);
    const size_t room = limit > site ? (size_t)(limit - site) : own;
    enum plan_reason why = displace(code, own, room, &function->displaced);
    if (!why && plan_target_between(planner, site + 1, site + PLAN_JUMP_BYTES))
        why = PLAN_TARGET_INSIDE;
    /* Go's functions begin again when their stack has grown, which is seldom. */
    const uint64_t *loop = sprof_map_get(&planner->loops, function->start);
    if (!why && loop && (*loop == site || *loop == function->start) && !function->from_go)
        why = PLAN_LOOP_AT_ENTRY;
    function->site = why ? 0 : site;
    return why;
}

void plan_decide(struct planner *planner, struct plan_function *function, uint64_t limit)
{
    struct sprof_bytes code;
    enum plan_mechanism mechanism = function->mechanism; /* a sled's */
    enum plan_reason why = reason_of_kind(planner, function);
    /* The code that unwinds for exceptions is entered through functions that leave frames. */
    const bool leaves = plan_leaves_frames(function->linkage_name) ||
                        begins_to_unwind(planner, function->linkage_name);
    if (why == PLAN_UNWINDER && leaves)
        why = PLAN_REASON_NONE;
    if (!why && plan_text_at(planner, function->start, &code) &&
        reads_flags((struct sprof_bytes){code.data, function->end - function->start < code.size
                                                        ? (size_t)(function->end - function->start)
                                                        : code.size}))
        why = PLAN_READS_FLAGS;
    if (!why && mechanism == PLAN_NOT) {
        why = decide_prologue(planner, function, limit);
        mechanism = PLAN_PROLOGUE;
    }
    function->why = (uint8_t)why;
    function->mechanism = (uint8_t)(why ? PLAN_NOT : leaves ? PLAN_LEAVE : mechanism);
    if (why) {
        function->site = 0;
        function->displaced = 0;
        return;
    }
    function->why = (uint8_t)(needs_return(planner, function) ? PLAN_NEEDS_RETURN_ADDRESS
                              : planner->plan->sanitized      ? PLAN_SANITIZED
                              : function->from_go             ? PLAN_GO
                                                              : PLAN_REASON_NONE);
    function->entry_only = function->why || leaves;
}
