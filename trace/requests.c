/* Sends requests to a program's agent by an open route. */
#include "trace/requests.h"
#include "inject/inject.h"

#include <errno.h>
#include <sys/socket.h>

int64_t trace_ask(struct probing_program *program, enum probe_request_kind kind, uint64_t address,
                  uint64_t size, int fd)
{
    struct trace_session *session = trace_session_of(program);
    const struct probe_request request = {
        .kind = kind, .fd = session->process.memory_there, .address = address, .size = size};
    struct probe_answer answer;
    ssize_t got;
    if (session->loader.is_serving)
        return trace_loader_ask(session, &request);
    if (session->process.attachment)
        return inject_request(&session->process, &request, NULL);
    if (!sprof_message_send(session->process.agent_fd, &request, sizeof request, fd, 0))
        return -EPIPE;
    do
        got = recv(session->process.agent_fd, &answer, sizeof answer, 0);
    while (got < 0 && errno == EINTR);
    return got == sizeof answer ? answer.result : -EPIPE;
}
