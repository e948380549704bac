/* Divides the run into phases: stretches of one mode, and pauses. */
#include "trace/governor.h"
#include "trace/tracing.h"

const char *const trace_mode_words[] = {"stats", "coverage", "log", NULL};

/* True if shares do not count this time: in pauses and in mode coverage. */
static bool is_unmeasured(const struct trace_session *session)
{
    return session->paused || session->mode == TRACE_COVERAGE;
}

int trace_begin_phase(struct trace_session *session, const char *mark, struct sprof_error *error)
{
    const struct store_phase phase = {
        .start_ns = session->times.now_ns - session->run->start_monotonic_ns,
        .mode = session->run->mode,
        .app_interior = session->run->app_interior,
        .paused = is_unmeasured(session),
        .mark = mark,
    };
    session->trace->phase++;
    return recording_add_phase(session->recording, &phase) ||
                   calls_history_phase(&session->calls, trace_mode_words[session->mode])
               ? sprof_error_memory(error)
               : 0;
}

int trace_note_gap(struct trace_session *session, uint64_t gap_ns, struct sprof_error *error)
{
    int result = trace_flush(session, error);
    const uint64_t now_ns = session->times.now_ns;
    session->times.now_ns -=
        gap_ns < now_ns - session->times.start.ns ? gap_ns : now_ns - session->times.start.ns;
    session->paused = true;
    if (!result)
        result = trace_begin_phase(session, NULL, error);
    session->times.now_ns = now_ns;
    session->paused = false;
    return result ? result : trace_begin_phase(session, NULL, error);
}

void trace_switch_all(struct trace_session *session)
{
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        program->paused = session->paused;
        probing_switch(&program->probing);
        trace_govern_anew(program);
    }
}

int trace_begin_first_phase(struct trace_session *session, struct sprof_error *error)
{
    session->times.now_ns = session->run->start_monotonic_ns;
    return trace_begin_phase(session, NULL, error);
}
