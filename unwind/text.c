#include "unwind/unwind.h"

static const char *const found_by_names[] = {
    [UNWIND_BY_CFI] = "cfi",       [UNWIND_BY_PLT] = "plt",   [UNWIND_BY_SIGNAL] = "signal",
    [UNWIND_BY_FP] = "fp",         [UNWIND_BY_SCAN] = "scan", [UNWIND_BY_KERNEL] = "kernel",
    [UNWIND_BY_INLINE] = "inline", [UNWIND_BY_LEAF] = "leaf",
};

static const char *const end_names[] = {
    [UNWIND_END_ROOT] = "root",
    [UNWIND_END_TRUNCATED] = "truncated",
    [UNWIND_END_NO_CFI] = "no-cfi",
    [UNWIND_END_BAD_MEMORY] = "bad-memory",
    [UNWIND_END_DEPTH_LIMIT] = "depth-limit",
    [UNWIND_END_PENDING] = "pending",
    [UNWIND_END_NO_STACK] = "no-stack",
};

const char *unwind_found_by_text(enum unwind_found_by found_by)
{
    const size_t index = (size_t)found_by;
    return index < sizeof found_by_names / sizeof found_by_names[0] ? found_by_names[index] : "?";
}

const char *unwind_end_text(enum unwind_end end)
{
    const size_t index = (size_t)end;
    return index < sizeof end_names / sizeof end_names[0] ? end_names[index] : "?";
}
