/* Reports that a process compiles code while it runs. Such code has no file, so it has no
 * probes. */
#include "trace/tracing.h"

#include <string.h>

enum {
    LEAST_BYTES = 128 << 10, /* expressions (PCRE2) and closures (libffi) need less */
    FIRST_WAIT_MS = 200,
};

struct compiled {
    const struct trace_session *session;
    uint64_t bytes;
    bool stacks_are_code; /* stacks are executable, so the sum is meaningless */
};

/* sprof's islands can share a mapping with memory of the program. */
static uint64_t bytes_of_islands(const struct trace_session *session,
                                 const struct model_mmap *mapping)
{
    const uint64_t mapping_end = mapping->address + mapping->size;
    uint64_t bytes = 0;
    for (size_t i = 0; i < session->files.count; i++) {
        const struct probing_file *file = &session->files.items[i];
        const uint64_t island_end = file->island + file->island_bytes;
        const uint64_t start = file->island > mapping->address ? file->island : mapping->address;
        const uint64_t end = island_end < mapping_end ? island_end : mapping_end;
        bytes += file->island && start < end ? end - start : 0;
    }
    return bytes;
}

static int add_mapping(void *context, const struct model_mmap *mapping)
{
    struct compiled *compiled = context;
    if (!mapping->file.path)
        return 0;
    compiled->stacks_are_code |= !strncmp(mapping->file.path, "[stack", 6);
    if (plan_is_generated(compiled->session->process.pid, mapping))
        compiled->bytes += mapping->size - bytes_of_islands(compiled->session, mapping);
    return 0;
}

void trace_compiled_refresh(struct trace_session *session)
{
    struct compiled compiled = {.session = session};
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const int pid = (int)session->process.pid;
    if (session->trace->has_reported_compiled || now_ns < session->compiled.next_ns)
        return;
    session->compiled.wait_ns = session->compiled.wait_ns ? 2 * session->compiled.wait_ns
                                                          : FIRST_WAIT_MS * UINT64_C(1000000);
    session->compiled.next_ns = now_ns + session->compiled.wait_ns;
    target_each_mapping(session->process.pid, add_mapping, &compiled);
    if (compiled.stacks_are_code || compiled.bytes < (session->untimed.runtime ? 1 : LEAST_BYTES))
        return;
    session->trace->has_reported_compiled = true;
    sprof_log_message(
        session->options.log, SPROF_LOG_WARNING,
        "process %d has %.1f MB for code that it compiles while it runs: no probe can "
        "be in it, and its calls are not counted\n`sprof record -p %d` samples it; its "
        "functions have names where it writes a perf map (`jcmd %d Compiler.perfmap`, "
        "`node --perf-basic-prof`)",
        pid, (double)compiled.bytes / 1e6, pid, pid);
}
