/* Adds up what the programs of a trace have called, and what became of their probes. */
#include "trace/tracing.h"

uint64_t trace_measured_ns(const struct trace_session *session)
{
    return session->times.now_ns - (session->times.cleared.ns > session->times.start.ns
                                        ? session->times.cleared.ns
                                        : session->times.start.ns);
}

void trace_program_add_up(const struct trace_session *program, struct trace_sums *sums)
{
    sums->calls += program->counts.calls;
    sums->in_flight += program->counts.in_flight;
    sums->abnormal += program->counts.abnormal;
    sums->logged += program->log.logged;
    sums->unlogged += program->log.unlogged;
    sums->untracked += atomic_load(&program->process.shared->untracked);
    sums->warnings_lost +=
        atomic_load(&program->process.shared->warnings.lost) + program->counts.unplaced_warnings;
    sums->unplaced_calls += program->counts.unplaced_calls;
    for (size_t i = 0; i < program->probes.count; i++) {
        sums->unplaced += program->probes.items[i].is_unplaced;
        sums->probes += program->probes.items[i].is_chosen;
        sums->probes_on += program->probes.items[i].is_chosen && program->probes.items[i].is_on;
        sums->probes_resting +=
            program->probes.items[i].is_chosen && program->probes.items[i].rests;
    }
}

void trace_add_up(const struct trace_session *session, struct trace_sums *sums)
{
    *sums = session->trace->ended.calls;
    for (size_t i = 0; i < session->trace->programs.count; i++)
        trace_program_add_up(session->trace->programs.items[i], sums);
}

void trace_count_probes(const struct trace_session *session, struct trace_result *result)
{
    result->refused += session->counts.refused;
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct trace_probe *probe = &session->probes.items[i];
        result->probes += probe->is_chosen;
        result->entry_only += probe->is_chosen && probe->tier != PROBE_FULL;
        result->governed_count += probe->is_chosen && probe->governed == TRACE_GOVERNED_COUNT;
        result->governed_off += probe->is_chosen && probe->governed == TRACE_GOVERNED_OFF;
    }
}

void trace_add_ended(struct trace_sums *to, const struct trace_sums *sums)
{
    to->calls += sums->calls;
    to->in_flight += sums->in_flight;
    to->abnormal += sums->abnormal;
    to->logged += sums->logged;
    to->unlogged += sums->unlogged;
    to->untracked += sums->untracked;
    to->warnings_lost += sums->warnings_lost;
    to->unplaced_calls += sums->unplaced_calls;
    to->unplaced += sums->unplaced;
}
