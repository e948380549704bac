/* Restores probes that were removed after their first call in mode coverage, in all processes. */
#include "trace/tracing.h"

enum { RETURN_ROUNDS = 16 };

static int return_to(struct trace_session *program, struct calls_process *process,
                     struct sprof_error *error)
{
    process->is_back = true;
    const int result = calls_has_parents_memory(process->pid)
                           ? 0
                           : probing_place_again(&program->probing, process->pid, error);
    return result == SPROF_ENOTFOUND ? 0 : result;
}

/* *any: there were new processes. */
static int return_to_all(struct trace_session *session, bool *any, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        calls_processes_are_over(&program->calls);
        for (size_t k = 0; k < program->processes.list.count && !result; k++) {
            struct calls_process *process = &program->processes.list.items[k];
            if (process->is_over || process->is_out || process->is_back)
                continue;
            *any = true;
            result = return_to(program, process, error);
        }
    }
    return result;
}

static void note_returned(struct trace_session *session, bool are_back)
{
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        for (size_t k = 0; k < program->processes.list.count; k++)
            program->processes.list.items[k].is_back = false;
        for (size_t k = 0; k < program->probes.count && are_back; k++)
            program->probes.items[k].is_restored = false;
    }
}

/* Until a process has its jumps back, it may fork one without; the next round finds that. */
int trace_coverage_return(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_membership *membership = session->trace->membership;
    size_t covered, left, rounds = 0;
    bool any = true;
    int result = 0;
    calls_coverage_count(&session->calls, &covered, &left);
    while (any && left && !result) {
        any = false;
        if (membership->find && membership->find(session))
            result = sprof_error_memory(error);
        if (!result)
            result = return_to_all(session, &any, error);
        if (any && !result && ++rounds == RETURN_ROUNDS)
            result =
                sprof_error_set(error, SPROF_ESTATE, 0,
                                "processes are forked faster than the probes of %zu function%s "
                                "can be put back, which were removed at their first call\ntry "
                                "again",
                                left, sprof_plural(left));
    }
    if (left)
        note_returned(session, !result);
    return result;
}
