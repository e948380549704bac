/* The words of plans, and of what made their files. */
#include "plan/function_plan.h"
#include "symbolize/symbolize.h"

static const char *const mechanisms[PLAN_MECHANISMS] = {
    [PLAN_NOT] = "none",          [PLAN_SLED] = "sled",         [PLAN_FENTRY] = "fentry",
    [PLAN_XRAY] = "xray",         [PLAN_PROLOGUE] = "prologue", [PLAN_LEAVE] = "leave",
    [PLAN_EMBEDDED] = "embedded",
};

static const char *const reasons[PLAN_REASONS] = {
    [PLAN_REASON_NONE] = "",
    [PLAN_PART] = "part of a function",
    [PLAN_RESOLVER] = "resolver: runs while the program is being linked",
    [PLAN_START] = "a thread begins here",
    [PLAN_SIGNAL_RETURN] = "returns from a signal",
    [PLAN_LOADER] = "of the dynamic loader",
    [PLAN_UNWINDER] = "unwinds stacks for exceptions",
    [PLAN_TOO_SHORT] = "too short for a jump",
    [PLAN_TARGET_INSIDE] = "a branch leads into its first bytes",
    [PLAN_LOOP_AT_ENTRY] = "a loop begins at its entry",
    [PLAN_NOT_MOVABLE] = "begins with an instruction that cannot be moved",
    [PLAN_ENDS_INSIDE] = "ends within its first bytes",
    [PLAN_READS_FLAGS] = "reads flags of its caller",
    [PLAN_NOT_DECODED] = "begins with no known instruction",
    [PLAN_NO_FRAME_TABLE] = "no call frame information",
    [PLAN_BYTES_DIFFER] = "the process runs other bytes than the file has",
    [PLAN_RUNTIME_CODE] = "code of the runtime, called in its own way",
    [PLAN_NEEDS_RETURN_ADDRESS] = "needs its own return address",
    [PLAN_GO] = "Go moves its stacks",
    [PLAN_SANITIZED] = "sanitizers keep books of frames",
    [PLAN_IMPORTED] = "leads to what leaves the frames of others",
};

const char *plan_mechanism_text(enum plan_mechanism mechanism)
{
    return (unsigned)mechanism < PLAN_MECHANISMS ? mechanisms[mechanism] : "?";
}

const char *plan_reason_text(enum plan_reason reason)
{
    return (unsigned)reason < PLAN_REASONS ? reasons[reason] : "?";
}

bool plan_is_true_start(const struct plan_function *function)
{
    switch ((enum plan_reason)function->why) {
    case PLAN_PART:
    case PLAN_RESOLVER:
    case PLAN_START:
    case PLAN_RUNTIME_CODE:
    case PLAN_IMPORTED:
    case PLAN_SIGNAL_RETURN: return false;
    default: return true;
    }
}

bool plan_has_name(const struct plan_function *function)
{
    return !strstr(function->linkage_name, "+0x");
}

void plan_append_nameless(struct sprof_str *out, size_t nameless, size_t functions)
{
    if (nameless > functions / 2)
        sprof_str_appendf(out,
                          "; %s a name: install debug symbols, or name the others by "
                          "their addresses, as `sprof probes FILE --all` does",
                          nameless == functions ? "none of them has" : "few of them have");
}

char *plan_readable_name(const char *linkage_name)
{
    return symbolize_demangle(linkage_name);
}

void plan_each_producer(struct image *image, void (*found)(void *context, const char *producer),
                        void *context)
{
    symbolize_each_producer(image, NULL, found, context);
}
