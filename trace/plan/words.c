/* The words of plans, and of what made their files. */
#include "symbolize/symbolize.h"
#include "trace/plan/plan.h"

static const char *const mechanisms[TRACE_MECHANISMS] = {
    [TRACE_NOT] = "none",          [TRACE_SLED] = "sled",         [TRACE_FENTRY] = "fentry",
    [TRACE_XRAY] = "xray",         [TRACE_PROLOGUE] = "prologue", [TRACE_LEAVE] = "leave",
    [TRACE_EMBEDDED] = "embedded",
};

static const char *const reasons[TRACE_REASONS] = {
    [TRACE_REASON_NONE] = "",
    [TRACE_PART] = "part of a function",
    [TRACE_RESOLVER] = "resolver: runs while the program is being linked",
    [TRACE_START] = "a thread begins here",
    [TRACE_SIGNAL_RETURN] = "returns from a signal",
    [TRACE_LOADER] = "of the dynamic loader",
    [TRACE_UNWINDER] = "unwinds stacks for exceptions",
    [TRACE_TOO_SHORT] = "too short for a jump",
    [TRACE_TARGET_INSIDE] = "a branch leads into its first bytes",
    [TRACE_LOOP_AT_ENTRY] = "a loop begins at its entry",
    [TRACE_NOT_MOVABLE] = "begins with an instruction that cannot be moved",
    [TRACE_ENDS_INSIDE] = "ends within its first bytes",
    [TRACE_READS_FLAGS] = "reads flags of its caller",
    [TRACE_NOT_DECODED] = "begins with no known instruction",
    [TRACE_NO_FRAME_TABLE] = "no call frame information",
    [TRACE_BYTES_DIFFER] = "the process runs other bytes than the file has",
    [TRACE_RUNTIME_CODE] = "code of the runtime, called in its own way",
    [TRACE_NEEDS_RETURN_ADDRESS] = "needs its own return address",
    [TRACE_GO] = "Go moves its stacks",
    [TRACE_SANITIZED] = "sanitizers keep books of frames",
    [TRACE_IMPORTED] = "leads to what leaves the frames of others",
};

const char *trace_mechanism_text(enum trace_mechanism mechanism)
{
    return (unsigned)mechanism < TRACE_MECHANISMS ? mechanisms[mechanism] : "?";
}

const char *trace_reason_text(enum trace_reason reason)
{
    return (unsigned)reason < TRACE_REASONS ? reasons[reason] : "?";
}

bool trace_is_true_start(const struct trace_function *function)
{
    switch ((enum trace_reason)function->why) {
    case TRACE_PART:
    case TRACE_RESOLVER:
    case TRACE_START:
    case TRACE_RUNTIME_CODE:
    case TRACE_IMPORTED:
    case TRACE_SIGNAL_RETURN: return false;
    default: return true;
    }
}

bool trace_has_name(const struct trace_function *function)
{
    return !strstr(function->linkage_name, "+0x");
}

void trace_append_nameless(struct sprof_str *out, size_t nameless, size_t functions)
{
    if (nameless > functions / 2)
        sprof_str_appendf(out,
                          "; %s a name: install debug symbols, or name the others by "
                          "their addresses, as `sprof probes FILE --all` does",
                          nameless == functions ? "none of them has" : "few of them have");
}

char *trace_readable_name(const char *linkage_name)
{
    return symbolize_demangle(linkage_name);
}

void trace_each_producer(struct image *image, void (*found)(void *context, const char *producer),
                         void *context)
{
    symbolize_each_producer(image, NULL, found, context);
}
