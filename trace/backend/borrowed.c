/* Enters a program with a borrowed thread, which loads the agent. */
#include "trace/backend/borrowed.h"
#include "probing/probing.h"
#include "trace/handshake.h"

static int enter(struct inject_process *process, void *context, struct sprof_error *error)
{
    struct trace_session *session = context;
    int result = inject_enter(process, error);
    if (!result)
        result = trace_share_memory(session, error);
    if (!result)
        result = probing_make_islands(&session->probing, error);
    return result ? result : trace_loads_begin(session, error);
}

int trace_borrowed_enter(struct trace_session *session, struct sprof_error *error)
{
    return inject_borrow_and_act(&session->process, enter, session, error);
}

int trace_borrowed_begin(struct trace_session *session, struct sprof_error *error)
{
    const int result = probing_place_live(&session->probing, error);
    return result ? result : trace_loads_catch_up(session, error);
}

int trace_borrowed_open_code(struct probing_program *program, struct sprof_error *error)
{
    const int fd = inject_open_code(&program->process);
    return fd >= 0 ? fd : trace_no_descriptor(trace_session_of(program), error);
}
