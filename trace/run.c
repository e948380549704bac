/* Runs a tracing session: places probes and writes what they measure until the end. */
#include "calls/calls.h"
#include "inject/inject.h"
#include "probing/probing.h"
#include "trace/drill/drilling.h"
#include "trace/governor.h"
#include "trace/load.h"
#include "trace/policies.h"
#include "trace/program.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum {
    ROUND_MS = 100,
    CROWDED_MS = 10, /* rounds when many threads come and go */
    LOG_MS = 4,      /* for rings of a log */
    KEEP_MS = 20,    /* for kept calls */
    FIRST_FLUSH_NS = 1000000000,
};

static int start(struct trace_session *session, struct sprof_error *error)
{
    const struct probe_backend *backend = session->backend;
    const bool has_process =
        !session->options.other_count; /* else each program is checked by itself */
    struct store_run *run = session->run;
    session->trace->own_cpu_start_ns = sprof_clock_own_cpu_ns();
    run->start_realtime_ns = sprof_clock_realtime_ns();
    run->start_monotonic_ns = sprof_clock_monotonic_ns();
    int result = recording_start(session->recording, run->start_monotonic_ns, 0, error);
    if (result)
        return result;
    if (!session->options.pid)
        session->process.pid = target_command(session->trace->target);
    if (backend->expect)
        result = backend->expect(session, error);
    if (!result && calls_states_begin(&session->calls))
        result = sprof_error_memory(error);
    if (!result)
        result = target_start(session->trace->target, error);
    if (!session->options.pid && backend->has_agent && !result)
        result = inject_lock(session->process.pid, &session->process.lock_fd, error);
    if (!result && backend->needs_keeper && has_process)
        inject_keeper_watch(&session->trace->keeper, session->process.pid, backend->borrows,
                            session->process.lock_fd);
    inject_close(&session->trace->child_fd);
    if (result)
        recording_abandon(session->recording);
    else if (session->trace->membership->is_one &&
             (calls_process_add(&session->calls, session->process.pid) ||
              sprof_vec_push(&session->trace->programs, &session->probing)))
        return sprof_error_memory(error);
    if (!result)
        result = trace_begin_first_phase(session, error);
    return result ? result : recording_flush(session->recording, error);
}

static bool is_over(const struct trace_session *session)
{
    return session->options.duration_ns &&
           sprof_clock_monotonic_ns() - session->times.start.ns >= session->options.duration_ns;
}

static int wait_ms(const struct trace_session *session)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    uint64_t next_ns = session->trace->off_ns ? session->trace->off_ns : UINT64_MAX,
             round_ms = ROUND_MS;
    if (session->options.duration_ns &&
        session->times.start.ns + session->options.duration_ns < next_ns)
        next_ns = session->times.start.ns + session->options.duration_ns;
    if (session->options.delay_ns && session->times.start.ns + session->options.delay_ns < next_ns)
        next_ns = session->times.start.ns + session->options.delay_ns;
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        const uint64_t govern_ns = trace_govern_next_ns(trace_program_at(session->trace, i));
        next_ns = govern_ns < next_ns ? govern_ns : next_ns;
        const uint64_t program_ms =
            session->trace->kept.rules.count                                   ? KEEP_MS
            : trace_program_at(session->trace, i)->log.has_rings               ? LOG_MS
            : now_ns < trace_program_at(session->trace, i)->threads.crowded_ns ? CROWDED_MS
                                                                               : ROUND_MS;
        round_ms = program_ms < round_ms ? program_ms : round_ms;
    }
    if (next_ns > now_ns && next_ns - now_ns > round_ms * UINT64_C(1000000))
        return (int)round_ms;
    return next_ns > now_ns ? (int)((next_ns - now_ns) / 1000000) + 1 : 0;
}

static int serve_program(struct trace_session *program)
{
    calls_take_time(&program->calls);
    const bool is_round = program->times.now_ns >= program->next_round_ns;
    const uint64_t round_ms =
        program->times.now_ns < program->threads.crowded_ns ? CROWDED_MS : ROUND_MS;
    if (is_round)
        program->next_round_ns = program->times.now_ns + (round_ms - 1) * UINT64_C(1000000);
    return trace_policies_serve(program, is_round);
}

static int serve_round(struct trace_session *session, struct sprof_error *error)
{
    int result = trace_lease_serve(session, error);
    const struct trace_membership *membership = session->trace->membership;
    if (!result && membership->serve && membership->serve(session))
        result = sprof_error_memory(error);
    calls_take_time(&session->calls);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        result = trace_loads_serve(program, error);
        if (!result && serve_program(program))
            result = sprof_error_memory(error);
    }
    return result;
}

static bool wants_flush(struct trace_session *session)
{
    bool wants = session->trace->warned.rows != session->trace->warned.flushed;
    session->trace->warned.flushed = session->trace->warned.rows;
    for (size_t i = 0; i < session->trace->programs.count; i++)
        wants |= calls_log_wants_flush(&trace_program_at(session->trace, i)->calls);
    return wants;
}

static int add_polls(struct trace_session *session, struct trace_polls *polls)
{
    struct pollfd first[4];
    bool blind;
    size_t count = 2;
    int result = 0;
    first[0] = (struct pollfd){.fd = session->options.end_fd, .events = POLLIN};
    first[1] = (struct pollfd){.fd = control_server_fd(&session->trace->control), .events = POLLIN};
    if (target_poll_count(session->trace->target) <= sizeof first / sizeof *first - count)
        count += target_polls(session->trace->target, first + count, &blind);
    polls->list.count = 0;
    for (size_t i = 0; i < count && !result; i++)
        result = sprof_vec_push(&polls->list, first[i]);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++) {
        const struct pollfd loads = {
            .fd = trace_loader_fd(&trace_program_at(session->trace, i)->loader), .events = POLLIN};
        result = sprof_vec_push(&polls->list, loads);
    }
    const struct trace_membership *membership = session->trace->membership;
    return membership->polls && !result ? membership->polls(session, polls) : result;
}

static bool has_ended(struct trace_session *session, struct trace_result *result)
{
    const struct trace_membership *membership = session->trace->membership;
    return (!membership->ends_with_target ||
            target_ended(session->trace->target, &result->wait_status)) &&
           (!membership->are_over || membership->are_over(session));
}

static int wait_for_end(struct trace_session *session, struct trace_result *result,
                        struct sprof_error *error)
{
    struct trace_polls polls = {0};
    int failed = 0;
    sprof_urgency_wake_soon(); /* only now: a command would inherit it */
    session->trace->next_flush_ns = session->times.start.ns + FIRST_FLUSH_NS;
    trace_govern_anew(session);
    session->governor.cpu_ns = calls_command_cpu_ns(&session->trace->calls);
    for (size_t i = 0; i < session->trace->programs.count && !failed; i++)
        if (calls_history_serve(&trace_program_at(session->trace, i)->calls))
            failed = sprof_error_memory(error);
    while (!failed && !session->trace->ends && !has_ended(session, result)) {
        if (add_polls(session, &polls)) {
            failed = sprof_error_memory(error);
            break;
        }
        trace_govern_hurry(session);
        poll(polls.list.items, polls.list.count, wait_ms(session));
        session->trace->ends |= polls.list.items[0].revents != 0 || is_over(session);
        failed = serve_round(session, error);
        if (!failed)
            failed = trace_drilling_begin_phases(session, error);
        if (!failed && session->times.now_ns >= session->trace->next_flush_ns &&
            !recording_is_writing(session->recording)) /* later figures replace these */
            failed = trace_flush(session, error);
        else if (!failed && wants_flush(session))
            failed = recording_flush(session->recording, error);
        if (!failed)
            failed = trace_serve_commands(session, error);
    }
    sprof_vec_release(&polls.list);
    sprof_urgency_restore(&session->trace->overhead.urgency);
    trace_owner_end(session, true);
    if (failed)
        return failed;
    result->has_wait_status =
        !session->options.pid && target_ended(session->trace->target, &result->wait_status);
    if (session->trace->membership->close)
        session->trace->membership->close(session);
    if (!session->backend->has_agent)
        session->backend->take_out(session);
    if (session->trace->ends &&
        !session->paused) { /* else calls would be logged that no longer count */
        session->paused = true;
        trace_switch_all(session);
    }
    if (!failed && calls_history_ranges(&session->calls))
        failed = SPROF_ENOMEM;
    calls_take_time(&session->calls);
    for (size_t i = 0; i < session->trace->programs.count && !failed; i++) {
        trace_loader_close(&trace_program_at(session->trace, i)->loader);
        failed =
            trace_collect_program(trace_program_at(session->trace, i),
                                  session->trace->ends ? CALLS_COLLECT_END : CALLS_COLLECT_LAST);
    }
    control_server_close(
        &session->trace->control); /* also answers the command that ended the trace */
    return failed ? sprof_error_memory(error) : 0;
}

static int finish(struct trace_session *session, struct trace_result *result,
                  struct sprof_error *error)
{
    const struct recording_end end = {0};
    struct store_run *run = session->run;
    struct calls_sums sums;
    calls_add_up(&session->calls, &sums);
    result->run_id = run->id;
    result->duration_ns = calls_measured_ns(&session->calls);
    result->calls = sums.calls;
    result->in_flight = sums.in_flight;
    result->abnormal = sums.abnormal;
    result->logged = sums.logged;
    result->unlogged = sums.unlogged;
    result->kept = session->trace->kept.calls;
    result->kept_callers = session->trace->kept.callers;
    result->kept_cut = session->trace->kept.cut;
    result->remarks_lost = session->trace->kept.remarks_lost;
    result->requests_unread = session->trace->kept.requests_unread;
    for (size_t i = 0; i < session->trace->kept.rules.count; i++) {
        result->kept_dropped += session->trace->kept.dropped[i];
        result->kept_unread += session->trace->kept.unread[i];
    }
    result->points = probing_points_count(&session->probing);
    result->point_calls = probing_points_calls(&session->probing);
    calls_coverage_count(&session->calls, &result->covered, &result->left);
    result->stopped_ns = session->process.stopped_ns;
    trace_count_probes(session, result);
    if (session->trace->membership->count)
        session->trace->membership->count(session, result);
    result->untracked = sums.untracked;
    result->warnings = session->trace->warned.rows;
    result->warnings_lost = sums.warnings_lost;
    result->unplaced_calls = sums.unplaced_calls;
    result->unplaced = sums.unplaced;
    result->is_unreliable = sums.are_impossible ||
                            !calls_are_possible(sums.calls, result->duration_ns) ||
                            !calls_are_possible(sums.abnormal, result->duration_ns);
    const struct trace_session *any =
        session->trace->programs.count ? trace_program_at(session->trace, 0) : NULL;
    const uint32_t cost = any ? calls_cost_of(&any->calls).whole : session->trace->known_cost.whole;
    result->probe_ns = cost * session->times.ns_per_tick;
    calls_values_end(any ? &any->calls : &session->calls);
    result->no_percentiles_ns = session->trace->memory.no_histograms_ns;
    result->beyond_calls = session->trace->memory.beyond_calls;
    result->beyond_functions = session->trace->memory.beyond_functions;
    result->memory_bytes = session->trace->memory.most_bytes;
    result->uprobes_because = session->trace->reason;
    result->lost = session->backend->lost ? session->backend->lost(session) : 0;
    const struct trace_overhead *overhead = &session->trace->overhead;
    result->overhead = overhead->looked_ns > 0 ? overhead->probes_ns / overhead->looked_ns : 0;
    trace_account(session, result->has_wait_status ? target_command_cpu_ns(session->trace->target)
                                                   : calls_command_cpu_ns(&session->trace->calls));
    if (trace_drilling_finish(session))
        return sprof_error_memory(error);
    for (size_t i = 0; i < session->trace->programs.count; i++)
        if (calls_history_serve(&trace_program_at(session->trace, i)->calls))
            return sprof_error_memory(error);
    run->wait_status = result->has_wait_status ? result->wait_status : -1;
    const int status = recording_finish(session->recording, &end, error);
    if (status || session->mode != TRACE_COVERAGE)
        return status;
    struct calls_covered listed = {0};
    const int read = calls_coverage_listed(&session->calls, &listed, error);
    result->functions = listed.functions;
    result->covered = listed.called;
    return read;
}

static void leave(struct trace_session *session)
{
    const struct trace *trace = session->trace;
    if (trace->membership->is_one) /* also if it never was in the list */
        trace_leave_process(session);
    for (size_t i = 0; i < trace->programs.count && !trace->membership->is_one; i++)
        trace_leave_process(trace_program_at(trace, i));
}

/* The caller returns the command's exit status, so it waits. */
static void wait_for_command(struct trace_session *session, struct trace_result *result)
{
    while (!session->options.pid && !result->has_wait_status) {
        struct pollfd polls[4];
        bool blind = true;
        const size_t count =
            target_poll_count(session->trace->target) <= sizeof polls / sizeof *polls
                ? target_polls(session->trace->target, polls, &blind)
                : 0;
        result->has_wait_status = target_ended(session->trace->target, &result->wait_status);
        if (!result->has_wait_status)
            poll(polls, count, ROUND_MS);
    }
}

/* Ends a command without probes before its main. One that did not wait runs to its end. */
static void end_command(struct trace_session *session, struct trace_result *result)
{
    if (session->options.pid) {
        leave(session);
        return;
    }
    if (session->trace->hold.is_past) {
        inject_hold_release(&session->trace->hold);
        wait_for_command(session, result);
        return;
    }
    if (target_ended(session->trace->target, NULL))
        return;
    kill(target_command(session->trace->target), SIGKILL);
    while (!target_ended(session->trace->target, NULL))
        poll(NULL, 0, 1);
}

static void say_begun(const struct trace_session *session)
{
    struct calls_sums sums;
    char until[64] = "", paused[64] = "", others[48] = "";
    const double seconds = (double)(session->options.duration_ns - session->options.delay_ns) / 1e9;
    const int pid = session->options.pid;
    calls_add_up(&session->calls, &sums);
    if (session->options.duration_ns)
        snprintf(until, sizeof until, "ends after %.10g s, by", seconds);
    if (session->options.delay_ns)
        snprintf(paused, sizeof paused, ", and count after %.10g s",
                 (double)session->options.delay_ns / 1e9);
    else if (session->paused)
        snprintf(paused, sizeof paused, ", off until `sprof ctl -p %d start`", pid);
    if (session->options.other_count)
        snprintf(others, sizeof others, " and %zu other%s", session->options.other_count,
                 sprof_plural(session->options.other_count));
    sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                      "%zu probe%s %s in process %d%s%s: the trace %s Ctrl-C or `sprof ctl -p %d "
                      "end`",
                      sums.probes, sprof_plural(sums.probes), sums.probes == 1 ? "is" : "are", pid,
                      others, paused, *until ? until : "ends by", pid);
}

int trace_run(struct trace_session *session, struct trace_result *result, struct sprof_error *error)
{
    *result = (struct trace_result){0};
    int failed = start(session, error);
    if (failed)
        return session->options.pid && target_ended(session->trace->target, NULL)
                   ? inject_refuse_ended(session->process.pid, error)
                   : failed;
    failed = session->trace->membership->set_up(session, error);
    if (failed) {
        if (session->options.pid && session->trace->membership->is_one &&
            inject_lock_has_become_stale(session->process.pid, session->process.lock_fd)) {
            session->executable.is_replaced = true;
            failed = inject_refuse_executed(session->process.pid, error);
        } else if (session->options.pid && session->trace->membership->is_one &&
                   target_ended(session->trace->target, NULL)) {
            failed = inject_refuse_ended(session->process.pid, error);
        }
        end_command(session, result);
        recording_abandon(session->recording);
        return failed;
    }
    if (!session->backend
             ->only_embedded) /* a listening agent detects the end of sprof by this socket */
        inject_close(&session->process.agent_fd);
    if (session->trace->membership->is_one && session->mode == TRACE_COVERAGE &&
        calls_coverage_begin(&session->calls))
        failed = sprof_error_memory(error);
    if (!failed && session->options.pid)
        say_begun(session);
    if (!failed)
        failed = wait_for_end(session, result, error);
    if (session->options.pid || (session->backend->borrows && !result->has_wait_status))
        leave(session);
    if (!failed)
        failed = finish(session, result, error);
    wait_for_command(session, result);
    return failed;
}
