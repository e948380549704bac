/* Renews the lease of probes, after which they do nothing. So probes stop if sprof and keeper are
 * killed, and at a deadline if sprof stands still. */
#include "trace/tracing.h"

#define LEASE_NS UINT64_C(3000000000)
#define LATE_NS UINT64_C(20000000) /* a running sprof pauses first */

static double tick_ns(const struct trace_session *common)
{
    const uint64_t ns = sprof_clock_monotonic_ns() - common->trace->clock.opened_ns;
    const uint64_t ticks = probe_ticks() - common->trace->clock.opened_ticks;
    return ns && ticks ? (double)ns / (double)ticks : 1;
}

void trace_lease_make(struct trace_session *session)
{
    const double ticks = (double)LEASE_NS / tick_ns(session->common);
    atomic_store(&session->process.shared->lease, UINT64_MAX);
    if (session->backend->needs_lease) /* a listening agent sees the socket's end */
        atomic_store(&session->process.shared->renewal.ticks, (uint64_t)ticks);
}

static void set_deadline(struct trace_session *session)
{
    const struct trace_session *common = session->common;
    const uint64_t now_ns = sprof_clock_monotonic_ns(), now = probe_ticks();
    const uint64_t left_ns =
        (common->trace->off_ns > now_ns ? common->trace->off_ns - now_ns : 0) + LATE_NS;
    const double left = (double)left_ns / tick_ns(common);
    const bool is_soon = common->trace->off_ns && left < (double)(UINT64_MAX / 2);
    atomic_store(&session->process.shared->renewal.deadline, is_soon ? now + (uint64_t)left : 0);
}

static void begin(struct trace_session *session)
{
    set_deadline(session);
    atomic_store(&session->process.shared->lease_over, 0);
    atomic_store(&session->process.shared->lease,
                 probe_lease_until(session->process.shared, probe_ticks()));
    session->has_lease = true;
}

void trace_lease_set_deadline(struct trace_session *session, uint64_t off_ns)
{
    session->trace->off_ns = off_ns;
    for (size_t i = 0; i < session->trace->programs.count && session->backend->has_agent; i++)
        begin(trace_program_at(session->trace, i));
}

/* Renews a lease. Returns the tick at which it had ended unplanned; 0: it had not. */
static uint64_t serve(struct trace_session *session)
{
    const uint64_t over = atomic_load(&session->process.shared->lease_over);
    const bool is_deadline =
        over && over == atomic_load(&session->process.shared->renewal.deadline);
    if (!over && session->has_lease) {
        probe_lease_renew(session->process.shared, probe_ticks());
        return 0;
    }
    if (is_deadline)
        session->trace->off_ns = 1; /* in the past */
    begin(session);
    if (over && !is_deadline)
        probing_switch(&session->probing);
    return is_deadline ? 0 : over;
}

int trace_lease_serve(struct trace_session *session, struct sprof_error *error)
{
    uint64_t first = 0;
    for (size_t i = 0; i < session->trace->programs.count && session->backend->has_agent; i++) {
        const uint64_t over = serve(trace_program_at(session->trace, i));
        first = over && (!first || over < first) ? over : first;
    }
    const uint64_t now = probe_ticks();
    if (!first || session->paused || session->trace->ends)
        return 0;
    const double gap_ns = first < now ? (double)(now - first) * tick_ns(session) : 0;
    sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                      "sprof stood still (stopped, or without a CPU), so the probes did nothing: "
                      "calls of the last %.1f s are not measured",
                      gap_ns / 1e9);
    return trace_note_gap(session, gap_ns < 9e18 ? (uint64_t)gap_ns : 0, error);
}
