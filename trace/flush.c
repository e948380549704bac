/* Reads all programs' figures and writes them to the recording, or drops them. */
#include "calls/calls.h"
#include "trace/tracing.h"

enum {
    FLUSH_NS = 1000000000, /* between flushes */
    FLUSH_SHARE = 20,      /* least interval, in durations of a flush */
};

void trace_account(struct trace_session *session, uint64_t target_cpu_ns)
{
    struct store_run *run = session->run;
    run->duration_ns =
        session->times.now_ns -
        (session->times.cleared.ns ? session->times.cleared.ns : session->run->start_monotonic_ns);
    run->own_cpu_ns = sprof_clock_own_cpu_ns() - session->trace->own_cpu_start_ns;
    run->target_cpu_ns = target_cpu_ns > session->trace->cleared_cpu_ns
                             ? target_cpu_ns - session->trace->cleared_cpu_ns
                             : 0;
}

int trace_collect_program(struct trace_session *program, enum calls_collecting what)
{
    calls_take_time(&program->calls);
    return calls_history_serve(&program->calls) || calls_collect(&program->calls, what) ||
                   calls_coverage_collect(&program->calls) || calls_log_serve(&program->calls)
               ? SPROF_ENOMEM
               : 0;
}

int trace_flush(struct trace_session *session, struct sprof_error *error)
{
    calls_take_time(&session->calls);
    for (size_t i = 0; i < session->trace->programs.count; i++)
        if (trace_collect_program(trace_program_at(session->trace, i), CALLS_COLLECT_ALL))
            return sprof_error_memory(error);
    if (calls_history_ranges(&session->calls))
        return sprof_error_memory(error);
    trace_account(session, calls_command_cpu_ns(&session->trace->calls));
    const int result = recording_flush(session->recording, error);
    const uint64_t end_ns = sprof_clock_monotonic_ns(), took_ns = end_ns - session->times.now_ns;
    session->trace->next_flush_ns =
        end_ns + (took_ns > FLUSH_NS / FLUSH_SHARE ? took_ns * FLUSH_SHARE : FLUSH_NS - took_ns);
    return result;
}

int trace_clear(struct trace_session *session)
{
    calls_take_time(&session->calls);
    session->times.cleared.ns = session->times.now_ns;
    session->trace->cleared_cpu_ns = calls_command_cpu_ns(&session->trace->calls);
    session->trace->own_cpu_start_ns = sprof_clock_own_cpu_ns();
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        calls_take_time(&program->calls);
        program->times.now_ns = session->times.cleared.ns; /* rows of ended threads are older */
        if (calls_clear_figures(&program->calls, probe_ticks()))
            return SPROF_ENOMEM;
    }
    session->trace->ended.calls = (struct calls_sums){0};
    int result = recording_clear(session->recording, session->times.cleared.ns);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++)
        result = calls_remarks_begin_anew(&trace_program_at(session->trace, i)->calls);
    return result;
}
