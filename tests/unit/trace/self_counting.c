/* A back end whose program counts by itself. It has what each back end has: facts, and the steps
 * that are its own. Nothing else of a trace is changed for it. */
#include "tests/unit/trace/self_counting.h"

#include "trace/children.h"
#include "trace/handshake.h"
#include "trace/policies.h"
#include "trace/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* == Steps == */

static int open_sockets(struct trace_session *session, struct sprof_error *error)
{
    int ends[2];
    if (session->options.pid)
        return 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return sprof_error_set(error, SPROF_ELIMIT, errno, "no socket pair: %s", strerror(errno));
    fcntl(ends[1], F_SETFD, 0); /* the command inherits it */
    session->process.agent_fd = ends[0];
    session->trace->child_fd = ends[1];
    return 0;
}

static int set_environment(struct trace_session *session, struct sprof_error *error)
{
    char variable[128];
    if (session->options.pid)
        return 0;
    if (session->trace->children)
        snprintf(variable, sizeof variable, PROBE_VARIABLE "=@%s", trace_children_address(session));
    else
        snprintf(variable, sizeof variable, PROBE_VARIABLE "=%d", session->trace->child_fd);
    return target_set_environment(session->trace->target, variable) ? sprof_error_memory(error) : 0;
}

static int meet(struct trace_session *session, struct sprof_error *error)
{
    struct probe_hello *hello = &session->process.hello;
    if (!session->options.pid)
        return trace_handshake(session, error);
    if (recv(session->process.agent_fd, hello, sizeof *hello, 0) != sizeof *hello)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d said nothing",
                               (int)session->process.pid);
    return inject_hello_check(&session->process, error);
}

static int place(struct trace_session *session, struct sprof_error *error)
{
    int result = trace_share_memory(session, error);
    for (size_t i = 0; i < session->probes.count && !result; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        const uint64_t bias = session->files.items[probe->file].bias;
        probe->is_placed = true;
        probe->tier = probe->is_chosen || probe->is_spare ? PROBE_FULL : PROBE_OFF;
        session->process.shared->switches[i] = bias + probe->function->start;
    }
    if (!result)
        result = trace_policies_probes_added(session, 0, error);
    if (!result)
        result = probing_ranges_begin(&session->probing, error);
    if (!result && session != session->common &&
        probing_ranges_adopt(&session->probing, &session->common->probing))
        result = sprof_error_memory(error);
    if (result)
        return result;
    probing_switch(&session->probing);
    counters_read_clocks(&session->times.start.ns, &session->times.start.ticks);
    return trace_send_off(session, error);
}

static void take_out(struct trace_session *session)
{
    memset(session->process.shared->tiers, PROBE_OFF, sizeof session->process.shared->tiers);
    session->is_out = true;
}

const struct probe_backend probe_backend_self_counting = {
    .source = "counts itself",
    .has_agent = true,
    .open = open_sockets,
    .prepare = set_environment,
    .meet = meet,
    .place = place,
    .ask = trace_ask,
    .take_out = take_out,
};

/* == The one line that chooses it == */

static const struct probe_backend *used;
static struct {
    pid_t pid;
    int agent_fd;
} running[4];

void self_counting_use(const struct probe_backend *backend)
{
    used = backend;
    for (size_t i = 0; i < sizeof running / sizeof *running; i++) {
        if (running[i].pid)
            close(running[i].agent_fd);
        running[i].pid = 0;
    }
}

void self_counting_meet(pid_t pid, int agent_fd)
{
    size_t i = 0;
    while (running[i].pid)
        i++;
    running[i].pid = pid;
    running[i].agent_fd = agent_fd;
}

int __real_trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                            struct sprof_error *error);
int __wrap_trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                            struct sprof_error *error);

int __wrap_trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                            struct sprof_error *error)
{
    if (!used)
        return __real_trace_entry_open(entry, options, error);
    *entry = (struct trace_entry){.choice.backend = used, .agent_fd = -1, .lock_fd = -1};
    for (size_t i = 0; i < sizeof running / sizeof *running && options->pid; i++)
        if (running[i].pid == options->pid)
            entry->agent_fd = fcntl(running[i].agent_fd, F_DUPFD_CLOEXEC, 0);
    return 0;
}
