/* Traces a listening process, whose agent passes its memory through a socket. */
#include "inject/inject.h"
#include "probing/probing.h"
#include "trace/handshake.h"
#include "trace/requests.h"
#include "trace/set_up.h"

#include <fcntl.h>

static int meet(struct trace_session *session, struct sprof_error *error)
{
    return inject_listening_meet(&session->process, error);
}

static int open_code(struct probing_program *program, struct sprof_error *error)
{
    const int fd = fcntl(program->process.code_fd, F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? fd : trace_no_descriptor(trace_session_of(program), error);
}

static int number(struct trace_session *session, struct sprof_error *error)
{
    return probing_switches_number(&session->probing, error);
}

static int begin(struct trace_session *session, struct sprof_error *error)
{
    return probing_switches_begin(&session->probing, error);
}

static void leave(struct trace_session *session)
{
    probing_switches_leave(&session->probing);
}

const struct probe_backend probe_backend_listening = {
    .source = "probes embedded",
    .has_agent = true,
    .only_embedded = true,
    .is_live = true,
    .meet = meet,
    .number = number,
    .place = trace_place_by_agent,
    .enter = trace_share_memory,
    .begin = begin,
    .open_code = open_code,
    .ask = trace_ask,
    .take_out = leave,
};
