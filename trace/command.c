/* Executes the commands that control a trace. */
#include "calls/calls.h"
#include "probing/probing.h"
#include "trace/children.h"
#include "trace/drill/drilling.h"
#include "trace/several.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* == Phases == */

/* Runs after the command's answer. With many functions and threads it takes a hundred times as long
 * as switching. */
static int complete_pause(struct trace_session *session, struct sprof_error *error)
{
    if (!session->trace->pauses)
        return 0;
    session->trace->pauses = false;
    const int result = trace_flush(session, error);
    return result ? result : trace_begin_phase(session, NULL, error);
}

static int begin_pause(struct trace_session *session, const char *cause, struct sprof_error *error)
{
    if (session->paused)
        return 0;
    session->trace->pauses = session->paused = true;
    trace_switch_all(session);
    return calls_history_all(&session->calls, "stop", cause) ? sprof_error_memory(error) : 0;
}

/* Only calls that were open at its start can end in a pause. */
static bool may_have_changed(const struct trace_session *session)
{
    bool may = false;
    for (size_t i = 0; i < session->trace->programs.count; i++)
        may |= probing_calls_sum(&trace_program_at(session->trace, i)->probing).in_flight != 0;
    return may;
}

/* First reads calls that ended in the pause, so that each call of the new phase begins or ends in
 * it. */
static int end_pause(struct trace_session *session, const char *cause, struct sprof_error *error)
{
    if (!session->paused)
        return 0;
    const int result = may_have_changed(session) ? trace_flush(session, error) : 0;
    if (result)
        return result;
    calls_take_time(&session->calls);
    session->paused = false;
    trace_switch_all(session);
    if (calls_history_all(&session->calls, "start", cause))
        return sprof_error_memory(error);
    return trace_begin_phase(session, NULL, error);
}

static int set_mode(struct trace_session *session, enum trace_mode mode, struct sprof_error *error)
{
    if (session->mode == mode)
        return 0;
    if (!session->backend->has_agent)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "a trace by uprobes has mode stats only: mode %s needs the agent",
                               trace_mode_words[mode]);
    int result = trace_coverage_return(session, error);
    if (!result)
        result = trace_flush(session, error);
    const enum trace_mode before = session->mode;
    const struct trace_options *options = &session->options;
    if (!result && mode == TRACE_LOG && calls_keeps(&session->calls) &&
        (options->paths || options->callers))
        result = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "a trace with --keep and --%s does not log calls, too: a call has "
                                 "room for its path or for its depth in the log",
                                 options->paths ? "paths" : "callers");
    session->mode = result ? before : mode;
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        struct trace_session *program = trace_program_at(session->trace, i);
        program->mode = session->mode;
        if (!result && mode == TRACE_COVERAGE && calls_coverage_begin(&program->calls))
            result = sprof_error_memory(error);
        calls_set_extras(&program->calls);
    }
    trace_switch_all(session);
    if (!result && calls_history_all(&session->calls, "mode", "command"))
        result = sprof_error_memory(error);
    return result ? result : trace_begin_phase(session, NULL, error);
}

static int find_mode(const char *word)
{
    for (int i = 0; trace_mode_words[i]; i++)
        if (!strcmp(trace_mode_words[i], word))
            return i;
    return SPROF_ENOTFOUND;
}

/* == Commands == */

/* "[MODE] [NANOSECONDS]" */
static int start(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    uint64_t duration_ns = 0;
    int mode = -1;
    for (char *word = strtok(argument, " "); word; word = strtok(NULL, " ")) {
        const int named = find_mode(word);
        if (named >= 0 ? mode >= 0 : isdigit((unsigned char)*word) && duration_ns)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "`start` takes one mode and one time, but was given another %s",
                                   named >= 0 ? "mode" : "time");
        mode = named >= 0 ? named : mode;
        if (named < 0 && !control_parse_time(word, &duration_ns))
            return sprof_error_set(
                error, SPROF_EUSAGE, 0,
                "`%.100s` is neither a mode of traces (stats, coverage, log) nor a time such "
                "as 10s",
                word);
    }
    session->options.delay_ns = 0;
    if (mode < 0)
        mode = (int)session->mode;
    int result = set_mode(session, (enum trace_mode)mode, error);
    if (!result)
        result = end_pause(session, "command", error);
    if (result)
        return result;
    trace_lease_set_deadline(session, duration_ns ? sprof_clock_monotonic_ns() + duration_ns : 0);
    if (duration_ns)
        sprof_str_appendf(answer, "calls are being measured, for %.10g s",
                          (double)duration_ns / 1e9);
    else
        sprof_str_append(answer, "calls are being measured");
    return probing_check_awake(&session->probing, error);
}

static int stop(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    (void)argument;
    trace_lease_set_deadline(session, 0);
    session->options.delay_ns = 0;
    sprof_str_append(answer, "no calls are being measured; `sprof ctl start` goes on");
    return begin_pause(session, "command", error);
}

static int clear(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    (void)argument;
    const int result = trace_coverage_return(session, error);
    if (result)
        return result;
    calls_coverage_clear(&session->calls);
    if (trace_clear(session))
        return sprof_error_memory(error);
    for (size_t i = 0; i < session->trace->programs.count && session->mode == TRACE_COVERAGE; i++)
        if (calls_coverage_begin(&trace_program_at(session->trace, i)->calls))
            return sprof_error_memory(error);
    trace_switch_all(session);
    if (calls_history_all(&session->calls, "clear", "command"))
        return sprof_error_memory(error);
    sprof_str_append(answer, "what was measured so far is dropped");
    return trace_begin_phase(session, NULL, error);
}

static int mode(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    const int mode = find_mode(argument);
    if (mode < 0)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`%.100s` is no mode of traces: give stats, coverage or log",
                               argument);
    const bool is_same = mode == (int)session->mode;
    sprof_str_appendf(answer, "mode %s%s", argument, is_same ? ", as before" : "");
    return set_mode(session, (enum trace_mode)mode, error);
}

static int mark(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    const char *name = sprof_arena_text(&session->arena, argument);
    if (!name)
        return sprof_error_memory(error);
    sprof_str_appendf(answer, "marked: %s", argument);
    const int result = trace_flush(session, error);
    return result ? result : trace_begin_phase(session, name, error);
}

/* One of several processes; else the command. */
static pid_t first_process(const struct trace_session *session)
{
    return trace_is_of_several(session) && session->trace->programs.count
               ? trace_program_at(session->trace, 0)->process.pid
               : session->process.pid;
}

/* Lists pids in the form of `-p`. */
static void append_processes(const struct trace_session *session, struct sprof_str *answer)
{
    if (!session->trace->programs.count)
        sprof_str_appendf(answer, "%d", (int)session->process.pid);
    for (size_t i = 0; i < session->trace->programs.count; i++)
        sprof_str_appendf(answer, "%s%d", i ? "," : "",
                          (int)trace_program_at(session->trace, i)->process.pid);
}

static int status(void *context, char *argument, struct sprof_str *answer,
                  struct sprof_error *error)
{
    struct trace_session *session = context;
    struct calls_sums sums;
    const int result = trace_flush(session, error);
    if (result)
        return result;
    calls_add_up(&session->calls, &sums);
    const double seconds = (double)calls_measured_ns(&session->calls) / 1e9;
    const double left = session->trace->off_ns > session->times.now_ns
                            ? (double)(session->trace->off_ns - session->times.now_ns) / 1e9
                            : 0;
    if (!strcmp(argument, "fields")) {
        sprof_str_appendf(answer,
                          "state\tseconds#\tcalls#\tin_flight#\tprobes#\tprobes_on#\tmode\t"
                          "off_in_seconds#\tprocess#\tprobes_resting#\tprocesses\tkept#\n"
                          "%s\t%.3f\t%llu\t%llu\t%zu\t%zu\t%s\t",
                          session->paused ? "paused" : "tracing", seconds,
                          (unsigned long long)sums.calls, (unsigned long long)sums.in_flight,
                          sums.probes, sums.probes_on, trace_mode_words[session->mode]);
        if (left > 0)
            sprof_str_appendf(answer, "%.3f", left);
        sprof_str_appendf(answer, "\t%d\t%zu\t", (int)first_process(session), sums.probes_resting);
        append_processes(session, answer);
        sprof_str_appendf(answer, "\t%llu\n", (unsigned long long)session->trace->kept.calls);
        return 0;
    }
    if (*argument)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`status` takes nothing more, but was given `%.100s`", argument);
    sprof_str_appendf(answer,
                      "%s for %.1f s: %llu call%s, %llu in flight, %zu of %zu probe%s on, "
                      "mode %s",
                      session->paused ? "paused, tracing" : "tracing", seconds,
                      (unsigned long long)sums.calls, sprof_plural(sums.calls),
                      (unsigned long long)sums.in_flight, sums.probes_on, sums.probes,
                      sprof_plural(sums.probes), trace_mode_words[session->mode]);
    if (trace_is_of_several(session))
        sprof_str_appendf(answer, ", %zu of %zu processes", session->trace->programs.count,
                          1 + session->options.other_count);
    if (session->mode == TRACE_COVERAGE) {
        size_t covered, removed;
        calls_coverage_count(&session->calls, &covered, &removed);
        sprof_str_appendf(answer, ", %zu function%s called, %zu probe%s removed", covered,
                          sprof_plural(covered), removed, sprof_plural(removed));
    }
    if (sums.probes_resting)
        sprof_str_appendf(answer, ", %zu probe%s", sums.probes_resting,
                          sums.probes_resting == 1
                              ? " rests: its function's code is as without it"
                              : "s rest: their functions' code is as without them");
    calls_keep_describe(&session->calls, answer);
    if (left > 0)
        sprof_str_appendf(answer, ", off in %.1f s", left);
    return 0;
}

static int end(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    (void)argument;
    session->paused = session->trace->ends = true;
    trace_owner_end(session, true);
    trace_switch_all(session);
    if (calls_history_all(&session->calls, "end", "command"))
        return sprof_error_memory(error);
    control_server_hold(
        &session->trace->control); /* calls that return from then on count as open */
    sprof_str_append(answer, "the trace ends");
    return 0;
}

static int detach_process(struct trace_session *session, const char *argument,
                          struct sprof_str *answer, struct sprof_error *error)
{
    const pid_t pid = (pid_t)strtol(argument, NULL, 10);
    uint64_t stopped_ns = 0;
    if (pid <= 0)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "probes stay in the programs of a trace with --children: `sprof ctl "
                               "off` switches them off, `sprof ctl end` ends the trace\n`sprof ctl "
                               "-p PID detach` takes them out of one process");
    const int result = trace_children_detach(session, pid, &stopped_ns, error);
    sprof_str_appendf(answer,
                      "the probes are out of process %d, and others are traced on; its threads "
                      "stood still for %.1f ms",
                      (int)pid, (double)stopped_ns / 1e6);
    return result;
}

/* Detaches one process, or all, which ends the trace. */
static int detach_named(struct trace_session *session, const char *argument,
                        struct sprof_str *answer, struct sprof_error *error)
{
    const pid_t pid = (pid_t)strtol(argument, NULL, 10);
    uint64_t stopped_ns = 0;
    const int result = trace_several_detach(session, pid, &stopped_ns, error);
    const size_t count = session->trace->programs.count;
    if (pid > 0)
        sprof_str_appendf(answer, "the probes are out of process %d, and ", (int)pid);
    else
        sprof_str_append(answer, "the probes are out of all processes, and ");
    if (count)
        sprof_str_appendf(answer, "%zu other%s traced on", count, count == 1 ? " is" : "s are");
    else
        sprof_str_append(answer, "the trace ends");
    sprof_str_appendf(answer, "; threads stood still for %.1f ms", (double)stopped_ns / 1e6);
    return result;
}

/* The argument is a pid if there are several processes. */
static int detach(void *context, char *argument, struct sprof_str *answer,
                  struct sprof_error *error)
{
    struct trace_session *session = context;
    if (argument[strspn(argument, "0123456789")])
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "`detach` takes the number of a process, but was given `%.100s`",
                               argument);
    if (session->points)
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "the call points of --all-points stay until the command ends: "
                               "`sprof ctl off` switches them off, with all probes");
    if (session->trace->children)
        return detach_process(session, argument, answer, error);
    if (trace_is_of_several(session))
        return detach_named(session, argument, answer, error);
    const bool was_paused = session->paused;
    session->paused = true;
    trace_owner_end(session, true);
    trace_switch_all(session);
    if (calls_history_all(&session->calls, "detach", "command"))
        return sprof_error_memory(error);
    const int result = trace_detach(session, error);
    if (result) { /* probes stay, switched off */
        session->trace->pauses = !was_paused;
        trace_owner_end(session, false);
        return result;
    }
    session->trace->ends = true;
    sprof_str_appendf(answer,
                      "the probes are out, and the trace ends; threads stood still for %.1f ms",
                      (double)session->process.stopped_ns / 1e6);
    return 0;
}

static int note_changed(struct trace_session *session)
{
    int result = calls_history_ranges(&session->calls);
    for (size_t i = 0; i < session->trace->programs.count && !result; i++)
        result = calls_history_serve(&trace_program_at(session->trace, i)->calls);
    return result;
}

static int probe(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    struct calls_sums sums;
    const uint64_t since_ns = sprof_clock_monotonic_ns() - session->times.start.ns;
    int result = probing_change_ranges(&session->probing, argument, error);
    if (!result && note_changed(session))
        return sprof_error_memory(error);
    for (size_t i = 0; i < session->trace->programs.count && session->mode == TRACE_COVERAGE; i++)
        if (calls_coverage_begin(&trace_program_at(session->trace, i)->calls))
            return sprof_error_memory(error);
    trace_switch_all(session);
    calls_add_up(&session->calls, &sums);
    sprof_str_appendf(answer, "%zu probe%s on", sums.probes_on,
                      sums.probes_on == 1 ? " is" : "s are");
    const uint64_t stopped_ns =
        probing_woken_ns(&session->probing, session->times.start.ns + since_ns);
    if (stopped_ns)
        sprof_str_appendf(answer, "; threads stood still for %.1f ms", (double)stopped_ns / 1e6);
    if (!result)
        result = probing_ranges_append_empty(&session->probing, since_ns, answer, error);
    return result ? result : probing_check_awake(&session->probing, error);
}

static int keep(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    const int result = trace_flush(context, error);
    return result ? result : calls_keep_change(context, argument, answer, error);
}

static int keep_next(void *context, char *argument, struct sprof_str *answer,
                     struct sprof_error *error)
{
    const int result = trace_flush(context, error);
    return result ? result : calls_keep_next(context, argument, answer, error);
}

static int widen(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    return trace_drilling_widen(context, *argument ? argument : ".", answer, error);
}

static int reload(void *context, char *argument, struct sprof_str *answer,
                  struct sprof_error *error)
{
    (void)argument;
    return trace_drilling_reload(context, answer, error);
}

struct range_sums {
    size_t sites, on, timed, resting;
    uint64_t calls;
};

static void add_range_of(const struct trace_session *program, size_t r, struct range_sums *sums)
{
    const struct probing_range *range = &program->ranges.items[r];
    sums->sites += range->sites;
    for (size_t i = 0; i < program->probes.count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const bool is_on = range->holds[i] && probe->is_on;
        sums->calls += range->holds[i] ? probe->sums.calls : 0;
        sums->resting += range->holds[i] && probe->rests;
        sums->on += is_on && probe->governed != PROBING_GOVERNED_OFF;
        sums->timed += is_on && probing_governed_tier(probe, probe->tier) == PROBE_FULL;
    }
}

static int list(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    (void)argument;
    const int result = trace_flush(session, error);
    sprof_str_append(answer,
                     "number#\tstate\tsites#\ton#\ttimed#\tresting#\tcalls#\tsince#\trange\n");
    for (size_t r = 0; r < session->ranges.count; r++) {
        const struct probing_range *range = &session->ranges.items[r];
        struct range_sums sums = {0};
        for (size_t i = 0; i < session->trace->programs.count; i++)
            add_range_of(trace_program_at(session->trace, i), r, &sums);
        sprof_str_appendf(answer, "%u\t%s\t%zu\t%zu\t%zu\t%zu\t%llu\t%.1f\t%s\n", range->number,
                          range->is_on ? "on" : "off", sums.sites, sums.on, sums.timed,
                          sums.resting, (unsigned long long)sums.calls,
                          (double)range->since_ns / 1e9, range->text);
    }
    return result;
}

static int stats(void *context, char *argument, struct sprof_str *answer, struct sprof_error *error)
{
    struct trace_session *session = context;
    (void)argument;
    (void)answer;
    int result = recording_wait_written(session->recording, error);
    if (!result)
        result = trace_flush(session, error);
    return result ? result : recording_wait_written(session->recording, error);
}

static const struct control_command commands[] = {
    {"start", "on", "[MODE] [TIME]", start},
    {"stop", "off", NULL, stop},
    {"status", NULL, "[fields]", status},
    {"clear", NULL, NULL, clear},
    {"mode", NULL, "stats, coverage or log", mode},
    {"mark", NULL, "NAME", mark},
    {"probe", NULL, "+RE, -RE, +children:RE[:DEPTH], +0xA-0xB, -#1,3-5 or +#N", probe},
    {"list", NULL, NULL, list},
    {"keep", NULL, "[RULE, -RULE or -#N]", keep},
    {"keep-next", NULL, "[RE]", keep_next},
    {"widen", NULL, "[RE]", widen},
    {"reload", NULL, NULL, reload},
    {"stats", NULL, NULL, stats},
    {"detach", NULL, "[PID]", detach},
    {"end", NULL, NULL, end},
};
static const struct control_commands all = {
    "start [MODE] [TIME], stop, status, clear, mode stats|coverage|log, mark NAME, probe ±RE, "
    "list, keep [RULE|-#N], keep-next [RE], "
    "widen [RE], reload, stats, detach, end (rate is for recordings of samples)",
    commands, sizeof commands / sizeof *commands};

static int carry_out(void *context, char *request, struct sprof_str *answer)
{
    struct trace_session *session = context;
    struct sprof_error error = {0};
    const int result = complete_pause(session, &error);
    if (!result)
        return control_carry_out(&all, session, request, answer);
    sprof_str_append(answer, error.message);
    return result;
}

/* == The socket == */

static int report_command(struct trace_session *session)
{
    char *assignment = control_server_variable(&session->trace->control);
    const int result = assignment ? target_set_environment(session->trace->target, assignment) : 0;
    free(assignment);
    return result;
}

int trace_commands_begin(struct trace_session *session, struct sprof_error *error)
{
    struct sprof_error refused = {0};
    const int result =
        control_server_open(&session->trace->control, session->options.output, &refused);
    if (result && session->options.paused) {
        if (error)
            *error = refused;
        return result;
    }
    if (result)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING, "%s", refused.message);
    session->paused = session->options.paused || session->options.delay_ns;
    return session->options.pid || !report_command(session) ? 0 : sprof_error_memory(error);
}

/* Warns if resting probes cannot return yet. */
static int end_delay(struct trace_session *session, struct sprof_error *error)
{
    struct sprof_error late = {0};
    if (!session->options.delay_ns ||
        sprof_clock_monotonic_ns() - session->times.start.ns < session->options.delay_ns)
        return 0;
    session->options.delay_ns = 0;
    const int result = end_pause(session, "deadline", error);
    if (!result && probing_check_awake(&session->probing, &late))
        sprof_log_message(session->options.log, SPROF_LOG_WARNING, "%s", late.message);
    return result;
}

int trace_serve_commands(struct trace_session *session, struct sprof_error *error)
{
    int result = 0;
    control_server_serve(&session->trace->control, carry_out, session);
    sprof_urgency_restore(&session->trace->urgency);
    if (session->trace->off_ns && sprof_clock_monotonic_ns() >= session->trace->off_ns) {
        result = begin_pause(session, "deadline", error);
        trace_lease_set_deadline(session, 0);
    }
    if (!result)
        result = end_delay(session, error);
    return result ? result : complete_pause(session, error);
}
