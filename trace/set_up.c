/* Enters a program and puts its probes in: by its preloaded agent, a borrowed thread, a socket, or
 * the kernel. */
#include "inject/inject.h"
#include "trace/figures/keep.h"
#include "trace/figures/warn.h"
#include "trace/load.h"
#include "trace/meet.h"
#include "trace/probes/points.h"
#include "trace/probes/probes.h"
#include "trace/probes/switches.h"
#include "trace/program.h"
#include "trace/several.h"
#include "trace/uprobe/uprobes.h"

bool trace_is_held(const struct trace_session *session)
{
    return session->attaches && !session->options.pid;
}

/* All that a borrowed thread does at first: it loads the agent, and maps what that needs. */
static int enter(struct inject_process *process, void *context, struct sprof_error *error)
{
    struct trace_session *session = context;
    int result = inject_enter(process, error);
    if (!result)
        result = trace_share_memory(session, error);
    if (!result)
        result = trace_make_islands(session, error);
    return result ? result : trace_loads_begin(session, error);
}

int trace_program_place(struct trace_session *session, struct sprof_error *error)
{
    if (session->uprobes)
        return trace_uprobes_place(session, error);
    int result = session->attaches ? inject_borrow_and_act(&session->process, enter, session, error)
                                   : trace_share_memory(session, error);
    trace_bypass_begin(session);
    session->resting.at_once = session->common->paused;
    if (!result)
        result = trace_place_files(session, error);
    if (!result)
        result = trace_points_place(session, error);
    if (!result)
        result = trace_warnings_begin(session, 0, error);
    if (!result)
        result = trace_keep_begin(session, 0, error);
    if (!result)
        result = trace_ranges_begin(session, error);
    if (!result && session != session->common && trace_ranges_adopt(session, session->common))
        result = sprof_error_memory(error);
    if (!result && !session->process.attachment && !session->listens)
        result = trace_loads_begin(session, error);
    if (result)
        return result;
    trace_switch(session);
    if (session->process.attachment) {
        result = trace_place_live(session, error);
        return result ? result : trace_loads_catch_up(session, error);
    }
    if (session->listens)
        return trace_switches_begin(session, error);
    trace_read_clocks(&session->start.ns, &session->start.ticks);
    return trace_send_off(session, error);
}

/* Reads the mappings of the command, so that functions have modules. */
static int take_snapshot(struct trace_session *session)
{
    struct target_snapshot snapshot = {0};
    const struct model_record *record;
    int result =
        target_snapshot_process(&snapshot, session->process.pid, session->run->start_monotonic_ns);
    while (!result && (record = target_snapshot_next(&snapshot)))
        result = recording_event(session->recording, record);
    target_snapshot_release(&snapshot);
    return result;
}

/* Runs a command until its main, where it waits. */
static int hold(struct trace_session *session, struct sprof_error *error)
{
    const char *name = *session->options.command;
    const int result = inject_hold_at_main(&session->trace->hold, name, error);
    const char *obstacle = result ? NULL : inject_obstacle(session->process.pid);
    if (!result && !obstacle)
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "%s gets its probes when its main begins: what runs before that, as "
                          "constructors do, is not counted",
                          name);
    return obstacle ? sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                                      "cannot put probes into %s: it %s\n`--backend uprobe`, as "
                                      "root, has the kernel count its calls",
                                      name, obstacle)
                    : result;
}

/* A preloaded agent waits before anything of the command has run. A held command has come to its
 * main. */
int trace_program_set_up(struct trace_session *session, struct sprof_error *error)
{
    int result = trace_is_held(session) ? hold(session, error) : 0;
    if (result)
        return result;
    result = session->listens ? inject_listening_meet(&session->process, error)
             : session->uprobes && session->options.pid ? 0
             : session->uprobes                         ? trace_uprobes_hold(session, error)
             : session->attaches                        ? trace_loads_note(session, error)
                                                        : trace_meet(session, error);
    if (!result) {
        result = trace_choose(session, error);
        trace_compiled_look(session);
    }
    if (!result && session->listens)
        result = trace_switches_number(session, error);
    if (!result)
        result = trace_points_find(session, error);
    if (!result && take_snapshot(session))
        result = sprof_error_memory(error);
    if (!result)
        trace_program_note_modules(session);
    if (!result && session->untimed.runtime)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "the command runs %s, which walks stacks by itself: calls are counted "
                          "there, and not timed",
                          session->untimed.runtime);
    trace_executed_look(session);
    struct sprof_urgency urgency; /* when plans exist, which may take seconds */
    sprof_urgency_raise(&urgency);
    if (!result)
        result = trace_program_place(session, error);
    sprof_urgency_restore(&urgency);
    if (!result)
        inject_hold_release(&session->trace->hold);
    return result;
}
