/* Enters a program, plans it and places its probes, as its back end requires. */
#include "trace/set_up.h"
#include "inject/inject.h"
#include "probing/probing.h"
#include "trace/policies.h"

#include <errno.h>
#include <string.h>

int trace_no_descriptor(const struct trace_session *session, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EIO, errno,
                           "cannot copy the descriptor of the memory of process %d: %s",
                           (int)session->process.pid, strerror(errno));
}

static int place_outside(struct trace_session *session)
{
    return probing_outside_place(&session->probing) || calls_outside_note_modules(&session->calls)
               ? SPROF_ENOMEM
               : 0;
}

int trace_place_by_agent(struct trace_session *session, struct sprof_error *error)
{
    int result = session->backend->enter(session, error);
    probing_passed_begin(&session->probing);
    session->resting.at_once = session->common->paused;
    if (!result)
        result = probing_place_files(&session->probing, error);
    if (!result)
        result = probing_points_place(&session->probing, error);
    if (!result && !session->backend->is_live && place_outside(session))
        result = sprof_error_memory(error);
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
    result = session->backend->begin(session, error);
    return !result && session->backend->is_live && place_outside(session)
               ? sprof_error_memory(error)
               : result;
}

/* Without mappings functions have no modules. */
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

/* When planning begins, a preloaded agent waits and none of the command's code has run; a held
 * command waits at its main. */
int trace_program_set_up(struct trace_session *session, struct sprof_error *error)
{
    const struct probe_backend *backend = session->backend;
    int result = backend->meet ? backend->meet(session, error) : 0;
    if (!result) {
        result = probing_choose(&session->probing, error);
        trace_compiled_refresh(session);
    }
    if (!result && backend->number)
        result = backend->number(session, error);
    if (!result)
        result = probing_points_find(&session->probing, error);
    if (!result && take_snapshot(session))
        result = sprof_error_memory(error);
    if (!result)
        calls_program_note_modules(&session->calls);
    if (!result && session->untimed.runtime)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "the command runs %s, which walks stacks by itself: calls are counted "
                          "there, and not timed",
                          session->untimed.runtime);
    trace_executed_refresh(session);
    struct sprof_urgency urgency; /* not during planning, which may take seconds */
    sprof_urgency_raise(&urgency);
    if (!result)
        result = backend->place(session, error);
    sprof_urgency_restore(&urgency);
    if (!result)
        inject_hold_release(&session->trace->hold);
    return result;
}

static int open_one(struct trace_session *session, struct sprof_error *error)
{
    return session->backend->open ? session->backend->open(session, error) : 0;
}

const struct trace_membership trace_of_one = {
    .is_one = true,
    .ends_with_target = true,
    .open = open_one,
    .set_up = trace_program_set_up,
};
