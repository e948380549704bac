/* Lets calls of functions whose probes are off pass at the first instruction of their thunks: one
 * byte of each says whether it leads on. */
#include "trace/tracing.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* A byte is always written whole, so whoever executes it meanwhile finds one or the other. The
 * memory is that of the program which the agent is in, also where the process has executed another
 * since. */
static bool set_entry(const struct trace_session *session, size_t probe, uint8_t first)
{
    const uint64_t at =
        trace_thunk_address(session, &session->probes.items[probe]) + PROBE_THUNK_ENTRY;
    return session->code_fd > 0 && pwrite(session->code_fd, &first, 1, (off_t)at) == 1;
}

void trace_bypass_begin(struct trace_session *session)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)session->pid);
    if (!session->options.children && !session->listens)
        session->code_fd = open(path, O_RDWR | O_CLOEXEC);
}

void trace_bypass_end(struct trace_session *session, size_t number)
{
    struct trace_probe *probe = &session->probes.items[number];
    if (probe->is_passed && set_entry(session, number, PROBE_ENTRY_ON))
        probe->is_passed = false;
    probe->was_off = false;
}

void trace_bypass_look(struct trace_session *session)
{
    for (size_t i = 0; i < session->probes.count && session->code_fd > 0; i++) {
        struct trace_probe *probe = &session->probes.items[i];
        const bool is_off = probe->is_placed && !atomic_load(&session->shared->tiers[i]);
        if (is_off && probe->was_off && !probe->is_passed)
            probe->is_passed = set_entry(session, i, PROBE_ENTRY_OFF);
        probe->was_off = is_off;
    }
}
