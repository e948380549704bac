/* Traces a listening process, whose agent passes its memory through a socket. */
#include "inject/inject.h"
#include "trace/handshake.h"
#include "trace/probes/switches.h"
#include "trace/set_up.h"

#include <fcntl.h>

static int meet(struct trace_session *session, struct sprof_error *error)
{
    return inject_listening_meet(&session->process, error);
}

static int open_code(struct trace_session *session, struct sprof_error *error)
{
    const int fd = fcntl(session->process.code_fd, F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? fd : trace_no_descriptor(session, error);
}

const struct probe_backend probe_backend_listening = {
    .source = "probes embedded",
    .has_agent = true,
    .only_embedded = true,
    .is_live = true,
    .meet = meet,
    .number = trace_switches_number,
    .place = trace_place_by_agent,
    .enter = trace_share_memory,
    .begin = trace_switches_begin,
    .open_code = open_code,
    .take_out = trace_switches_leave,
};
