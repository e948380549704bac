/* Traces several running processes. Each has its own session; they share recording and control. */
#include "trace/several.h"
#include "calls/calls.h"
#include "inject/inject.h"
#include "trace/program.h"
#include "trace/set_up.h"

#include <stdlib.h>

/* == Beginning == */

/* Adds that none of the processes is traced. Returns the error's code. */
static int refuse(const struct trace_session *common, pid_t pid, struct sprof_error *error)
{
    const struct sprof_error why = *error;
    return sprof_error_set(error, why.code, why.errnum,
                           "%.800s\nnone of the %zu processes is traced: leave process %d out, or "
                           "try it alone",
                           why.message, 1 + common->options.other_count, (int)pid);
}

static int refuse_uprobes(pid_t pid, const char *reason, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot put probes into process %d: it %s\nby uprobes the kernel can "
                           "count its calls where it is traced alone",
                           (int)pid, reason);
}

static int open_process(struct trace_session *common, pid_t pid, struct sprof_error *error)
{
    static const struct probe_hello not_yet;
    struct trace_options options = common->options;
    struct trace_entry entry;
    options.pid = pid;
    options.others = NULL;
    options.other_count = 0;
    const int result = trace_entry_open(&entry, &options, error);
    if (result)
        return target_check(pid, false, NULL) == SPROF_ENOTFOUND ? inject_refuse_ended(pid, error)
                                                                 : result;
    if (!entry.choice.backend->has_agent) {
        trace_entry_close(&entry);
        return refuse_uprobes(pid, entry.choice.reason, error);
    }
    struct trace_session *program =
        trace_program_make(common, entry.choice.backend, entry.agent_fd, pid, &not_yet);
    if (!program || sprof_vec_push(&common->trace->programs, &program->probing)) {
        trace_entry_close(&entry);
        free(program);
        return sprof_error_memory(error);
    }
    program->options = options;
    program->process.lock_fd = entry.lock_fd;
    program->executable.path = NULL; /* set at the first look, with its file */
    return 0;
}

/* After an error no process has changed. */
static int open_all(struct trace_session *session, struct sprof_error *error)
{
    pid_t pid = session->options.pid;
    int result = open_process(session, pid, error);
    for (size_t i = 0; i < session->options.other_count && !result; i++) {
        pid = session->options.others[i];
        result = open_process(session, pid, error);
    }
    return result ? refuse(session, pid, error) : 0;
}

static void share(struct trace_session *program)
{
    const struct trace_session *common = program->common;
    program->recording = common->recording;
    program->run = common->run;
    program->event = common->event;
    program->paused = true;
}

static int set_up_process(struct trace_session *program, struct sprof_error *error)
{
    share(program);
    if (program->backend->needs_keeper)
        inject_keeper_watch(&program->trace->keeper, program->process.pid,
                            program->backend->borrows, program->process.lock_fd);
    int result = calls_process_add(&program->calls, program->process.pid)
                     ? sprof_error_memory(error)
                     : trace_program_set_up(program, error);
    if (!result && program->mode == TRACE_COVERAGE && calls_coverage_begin(&program->calls))
        result = sprof_error_memory(error);
    if (!result) {
        program->governor.cpu_ns = calls_program_cpu_ns(&program->calls);
        return 0;
    }
    if (inject_lock_has_become_stale(program->process.pid, program->process.lock_fd)) {
        program->executable.is_replaced = true;
        return inject_refuse_executed(program->process.pid, error);
    }
    return target_check(program->process.pid, false, NULL) == SPROF_ENOTFOUND
               ? inject_refuse_ended(program->process.pid, error)
               : result;
}

static void leave_out(struct trace_session *common, size_t index, const struct sprof_error *why)
{
    struct trace_session *program = trace_program_at(common->trace, index);
    sprof_log_message(common->options.log, SPROF_LOG_WARNING, "process %d is not traced: %s",
                      (int)program->process.pid, why->message);
    trace_leave_process(program);
    inject_keeper_forget(&common->trace->keeper, program->process.pid);
    target_forget(common->trace->target, program->process.pid);
    common->trace->programs.count--;
    for (size_t i = index; i < common->trace->programs.count; i++)
        common->trace->programs.items[i] = common->trace->programs.items[i + 1];
    trace_program_free(program);
}

/* All processes begin to measure together. Those that ended or have no chosen function are left out
 * with a warning. Fails if none is left or another cannot be entered; the caller then calls
 * trace_leave_process for each. */
static int set_up(struct trace_session *session, struct sprof_error *error)
{
    int result = probing_ranges_begin(&session->probing, error);
    for (size_t i = 0; i < session->trace->programs.count && !result;) {
        const pid_t pid = trace_program_at(session->trace, i)->process.pid;
        result = set_up_process(trace_program_at(session->trace, i), error);
        if (result == SPROF_ENOTFOUND && session->trace->programs.count > 1) {
            leave_out(session, i, error);
            *error = (struct sprof_error){0};
            result = 0;
        } else if (result && result != SPROF_ENOTFOUND) {
            result = refuse(session, pid, error);
        } else {
            i++;
        }
    }
    counters_read_clocks(&session->times.start.ns, &session->times.start.ticks);
    if (!result)
        trace_switch_all(session);
    return result;
}

/* == While it runs == */

static int serve(struct trace_session *session)
{
    int result = 0;
    for (size_t i = session->trace->programs.count; i && !result; i--) {
        struct trace_session *program = trace_program_at(session->trace, i - 1);
        const pid_t pid = program->process.pid;
        if (!calls_processes_are_over(&program->calls))
            continue;
        result = trace_program_end(session, i - 1, CALLS_COLLECT_LAST);
        if (session->trace->programs.count)
            sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                              "process %d has ended; %zu of %zu are traced on", (int)pid,
                              session->trace->programs.count, 1 + session->options.other_count);
    }
    return result;
}

/* On failure the probes stay and go on. */
static int detach_process(struct trace_session *common, size_t index, uint64_t *stopped_ns,
                          struct sprof_error *error)
{
    struct trace_session *program = trace_program_at(common->trace, index);
    program->paused = true;
    program->process.shared->owner.is_ending = true;
    probing_switch(&program->probing);
    const int result = trace_detach(program, error);
    if (result) {
        program->paused = common->paused;
        program->process.shared->owner.is_ending = false;
        probing_switch(&program->probing);
        return result;
    }
    target_forget(common->trace->target, program->process.pid); /* commands no longer find it */
    *stopped_ns =
        program->process.stopped_ns > *stopped_ns ? program->process.stopped_ns : *stopped_ns;
    return trace_program_end(common, index, CALLS_COLLECT_END) ? sprof_error_memory(error) : 0;
}

int trace_several_detach(struct trace_session *session, pid_t pid, uint64_t *stopped_ns,
                         struct sprof_error *error)
{
    bool is_any = !pid;
    int result = 0;
    for (size_t i = session->trace->programs.count; i && !result; i--) {
        if (pid && session->trace->programs.items[i - 1]->process.pid != pid)
            continue;
        is_any = true;
        result = detach_process(session, i - 1, stopped_ns, error);
    }
    return is_any ? result
                  : sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d is not traced here",
                                    (int)pid);
}

/* == The end == */

static void count_programs(const struct trace_session *session, struct trace_result *result)
{
    const struct trace_result *ended = &session->trace->ended_probes;
    result->processes = ended->processes + session->trace->programs.count;
    result->probes += ended->probes;
    result->entry_only += ended->entry_only;
    result->refused += ended->refused;
    result->governed_count += ended->governed_count;
    result->governed_off += ended->governed_off;
    for (size_t i = 0; i < session->trace->programs.count; i++) {
        const struct trace_session *program = trace_program_at(session->trace, i);
        trace_count_probes(program, result);
        if (program->process.stopped_ns > result->stopped_ns)
            result->stopped_ns = program->process.stopped_ns;
    }
}

static bool are_over(struct trace_session *session)
{
    return !session->trace->programs.count;
}

const struct trace_membership trace_of_several = {
    .open = open_all,
    .set_up = set_up,
    .serve = serve,
    .polls = trace_programs_poll,
    .are_over = are_over,
    .count = count_programs,
};
