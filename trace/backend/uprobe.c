/* Traces with the kernel's uprobes where the agent cannot enter. */
#include "trace/obstacles.h"
#include "trace/uprobe/sites.h"
#include "trace/uprobe/uprobes.h"

#include <stdio.h>

/* Gives the reason, unless the user chose uprobes. */
static int open_uprobes(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    char name[64];
    const int gone = options->pid ? target_check(options->pid, false, error) : 0;
    if (gone) /* perhaps why nothing was found */
        return gone;
    if (trace_uprobes_open(&session->uprobes, error))
        return trace_explain_uprobes(options, session->trace->reason, error);
    snprintf(name, sizeof name, "process %d", (int)options->pid);
    if (session->trace->reason) {
        uint64_t least_ns, most_ns;
        trace_uprobes_call_ns(session->uprobes, &least_ns, &most_ns);
        sprof_log_message(options->log, SPROF_LOG_NOTE,
                          "%s %s, so nothing can be put into it: the kernel counts and times its "
                          "calls by uprobes, which takes %.1f to %.1f µs for each",
                          options->pid ? name : *options->command, session->trace->reason,
                          (double)least_ns / 1e3, (double)most_ns / 1e3);
    }
    return 0;
}

static int expect(struct trace_session *session, struct sprof_error *error)
{
    return session->options.pid ? 0 : trace_uprobes_expect(session, error);
}

static int meet(struct trace_session *session, struct sprof_error *error)
{
    return session->options.pid ? 0 : trace_uprobes_hold(session, error);
}

static void free_uprobes(struct trace_session *session)
{
    trace_uprobes_free(session->uprobes);
}

/* == Figures, for the libraries below a session == */

static int read_figures(struct calls_program *program, bool at_once)
{
    return trace_uprobes_read(trace_session_of(&program->probing), at_once);
}

static int clear(struct calls_program *program)
{
    return trace_uprobes_clear(trace_session_of(&program->probing));
}

static bool has_ended(const struct calls_program *program, uint32_t tid)
{
    return trace_uprobes_has_ended(trace_session_of(&program->probing), tid);
}

static struct probe_cost cost_of(const struct calls_program *program, uint32_t function)
{
    return trace_uprobes_cost(trace_session_of(&program->probing), function);
}

static void switched(struct probing_program *program)
{
    trace_uprobes_switch(trace_session_of(program));
}

const struct probe_backend probe_backend_uprobe = {
    .source = "uprobes",
    .mechanism = "uprobe",
    .in_nanoseconds = true,
    .open = open_uprobes,
    .in_child = trace_uprobes_in_child,
    .expect = expect,
    .meet = meet,
    .place = trace_uprobes_place,
    .may_stand = trace_uprobe_may_stand,
    .read = read_figures,
    .clear = clear,
    .has_ended = has_ended,
    .cost = cost_of,
    .switched = switched,
    .govern = trace_uprobes_govern,
    .lost = trace_uprobes_lost,
    .take_out = trace_uprobes_take_out,
    .free = free_uprobes,
};
