/* Traces a command that cannot preload the agent: enters it at main like a running process. */
#include "trace/backend/borrowed.h"
#include "trace/requests.h"

static int open_hold(struct trace_session *session, struct sprof_error *error)
{
    char library[AGENT_PATH_MAX];
    const int result = target_find_library(PROBE_MAPPED_LIBRARY, library, error);
    return result ? result : inject_hold_open(&session->trace->hold, error);
}

static int seize(struct trace_session *session, struct sprof_error *error)
{
    return inject_hold_seize(&session->trace->hold, session->process.pid, error);
}

static int meet(struct trace_session *session, struct sprof_error *error)
{
    const char *name = *session->options.command;
    const int result = inject_hold_at_main(&session->trace->hold, name, error);
    const char *obstacle = result ? NULL : inject_obstacle(session->process.pid);
    if (!result && !obstacle)
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "%s gets its probes when its main begins: what runs before that, as "
                          "constructors do, is not counted",
                          name);
    if (obstacle)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot put probes into %s: it %s\n`--backend uprobe`, as "
                               "root, has the kernel count its calls",
                               name, obstacle);
    return result ? result : trace_loads_note(session, error);
}

const struct probe_backend probe_backend_held = {
    .source = "probes injected",
    .has_agent = true,
    .borrows = true,
    .is_live = true,
    .can_rest = true,
    .sees_loads = true,
    .needs_lease = true,
    .needs_keeper = true,
    .open = open_hold,
    .meanwhile = inject_hold_pass_signals,
    .expect = seize,
    .meet = meet,
    .place = trace_place_by_agent,
    .enter = trace_borrowed_enter,
    .begin = trace_borrowed_begin,
    .open_code = trace_borrowed_open_code,
    .ask = trace_ask,
};
