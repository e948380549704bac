/* Traces a glibc command, whose loader preloads the agent. */
#include "inject/inject.h"
#include "trace/children.h"
#include "trace/handshake.h"
#include "trace/load.h"
#include "trace/requests.h"
#include "trace/set_up.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Only root starts programs as other users; they run untraced. */
static void note_closed(const struct trace_session *session, const char *library)
{
    char closed[TARGET_PATH_MAX];
    if (!geteuid() && inject_is_closed(library, closed))
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "what the command starts as another user is not traced: it may not %s "
                          "%s, and has to load the tracing agent: install sprof where all users "
                          "may read it, or `chmod a+%c %s`",
                          strcmp(closed, library) ? "enter" : "read", closed,
                          strcmp(closed, library) ? 'x' : 'r', closed);
}

static int set_environment(struct trace_session *session, struct sprof_error *error)
{
    char library[AGENT_PATH_MAX], variable[128];
    struct sprof_str preload = {0}, sanitizer = {0};
    int result = target_find_library(PROBE_LIBRARY, library, error);
    if (result)
        return result;
    const char *others = getenv("LD_PRELOAD"), *bound = getenv("LD_BIND_NOW");
    const bool binds = session->options.all_points && !(bound && *bound);
    sprof_str_appendf(&preload, "LD_PRELOAD=%s%s%s", library, others ? ":" : "",
                      others ? others : "");
    snprintf(variable, sizeof variable, PROBE_VARIABLE "=%d", session->trace->child_fd);
    if (session->trace->children) {
        /* A child with AddressSanitizer refuses to run if a library is loaded before the
         * sanitizer's. It is not traced, but must run. */
        const char *flags = getenv("ASAN_OPTIONS");
        sprof_str_appendf(&sanitizer, "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
                          flags ? flags : "", flags && *flags ? ":" : "");
        snprintf(variable, sizeof variable, PROBE_VARIABLE "=@%s", trace_children_address(session));
        note_closed(session, library);
    }
    if (preload.failed || sanitizer.failed ||
        target_set_environment(session->trace->target, preload.text) ||
        target_set_environment(session->trace->target, variable) ||
        (binds && target_set_environment(session->trace->target, PROBE_BINDS_NOW "=")) ||
        (sanitizer.text && target_set_environment(session->trace->target, sanitizer.text)))
        result = sprof_error_memory(error);
    sprof_str_release(&preload);
    sprof_str_release(&sanitizer);
    return result;
}

/* The command inherits one end. */
static int open_sockets(struct trace_session *session, struct sprof_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make a socket pair: %s\nsee `ulimit -n`", strerror(errno));
    session->process.agent_fd = ends[0];
    session->trace->child_fd = dup(ends[1]); /* inheritable */
    close(ends[1]);
    return session->trace->child_fd >= 0
               ? 0
               : sprof_error_set(error, SPROF_ELIMIT, errno,
                                 "cannot duplicate a descriptor: %s\nsee `ulimit -n`",
                                 strerror(errno));
}

static int begin(struct trace_session *session, struct sprof_error *error)
{
    const int result = trace_loads_begin(session, error);
    if (result)
        return result;
    counters_read_clocks(&session->times.start.ns, &session->times.start.ticks);
    return trace_send_off(session, error);
}

static int open_code(struct probing_program *program, struct sprof_error *error)
{
    int fd;
    const int result = inject_memory_open(program->process.pid, &fd, error);
    return result ? result : fd;
}

const struct probe_backend probe_backend_preload = {
    .source = "probes preloaded",
    .has_agent = true,
    .can_rest = true,
    .sees_loads = true,
    .needs_lease = true,
    .needs_keeper = true,
    .open = open_sockets,
    .prepare = set_environment,
    .meet = trace_handshake,
    .place = trace_place_by_agent,
    .enter = trace_share_memory,
    .begin = begin,
    .open_code = open_code,
    .ask = trace_ask,
};
