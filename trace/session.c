/* Opens a tracing session: launches the command or finds the process, and begins a recording. */
#include "calls/calls.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "trace/drill/drilling.h"
#include "trace/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define REST_NS UINT64_C(10000000000)

/* == Opening == */

static const char *keep(struct trace_session *session, const char *text)
{
    return text && *text ? sprof_arena_text(&session->arena, text) : NULL;
}

static void append_command(struct sprof_str *out, pid_t pid)
{
    char path[64], text[4096];
    sprof_proc_shared_path(path, sizeof path, pid, "cmdline");
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    for (size_t i = 0; i + 1 < got; i++)
        text[i] = text[i] ? text[i] : ' ';
    text[got] = '\0';
    sprof_str_append(out, text);
}

static const char *commands_of(struct trace_session *session)
{
    struct sprof_str text = {0};
    append_command(&text, session->options.pid);
    for (size_t i = 0; i < session->options.other_count; i++) {
        sprof_str_append(&text, ", ");
        append_command(&text, session->options.others[i]);
    }
    const char *kept = keep(session, text.text);
    sprof_str_release(&text);
    return kept;
}

static void describe(struct trace_session *session)
{
    struct store_run *run = session->run;
    const struct trace_options *options = &session->options;
    struct utsname machine;
    char text[4096], boot_id[SPROF_BOOT_ID_SIZE];
    struct sprof_proc_stat stat;
    if (uname(&machine) == 0) {
        run->host = keep(session, machine.nodename);
        run->kernel = keep(session, machine.release);
        run->architecture = keep(session, machine.machine);
    }
    run->working_directory = keep(session, getcwd(text, sizeof text));
    sprof_proc_boot_id(boot_id);
    run->boot_id = keep(session, boot_id);
    run->recorder_pid = getpid();
    run->recorder_start = sprof_proc_stat_read(getpid(), &stat) ? stat.start_ticks : 0;
    run->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    run->sprof_version = options->sprof_version;
    run->command =
        options->pid ? commands_of(session) : sprof_command_text(&session->arena, options->command);
    if (session->trace->reason)
        snprintf(text, sizeof text, "uprobes: the program %s", session->trace->reason);
    run->source = session->trace->reason ? keep(session, text) : session->backend->source;
}

static int open_recording(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    const struct recording_options recording = {.output = options->output,
                                                .append = options->append,
                                                .overwrite = options->overwrite,
                                                .view = {.mode = MODEL_MODE_FULL},
                                                .rules = options->rules,
                                                .no_cache = options->no_cache,
                                                .log = options->log};
    const struct store_event event = {
        .name = "probe-time", .is_clock = true, .varying = true, .unit = STORE_UNIT_CALL};
    const int result = recording_open(&session->recording, &recording, error);
    if (result)
        return result;
    session->run = recording_run(session->recording);
    session->trace->last_sample = recording_last_sample(session->recording);
    describe(session);
    return recording_add_event(session->recording, &event, &session->event)
               ? sprof_error_memory(error)
               : 0;
}

/* A trace must not run out of descriptors before its probes are out. */
static int check_descriptors(bool attaches, size_t others, struct sprof_error *error)
{
    enum { OF_COMMAND = 20, OF_PROCESS = 28, OF_OTHER = 8 };
    const int needed = attaches ? OF_PROCESS + OF_OTHER * (int)others : OF_COMMAND;
    int *taken = calloc((size_t)needed, sizeof *taken), count = 0, errnum = 0;
    if (!taken)
        return sprof_error_memory(error);
    while (count < needed && !errnum) {
        taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        errnum = taken[count] < 0 ? errno : 0;
        count += !errnum;
    }
    for (int i = 0; i < count; i++)
        close(taken[i]);
    free(taken);
    return errnum == EMFILE || errnum == ENFILE
               ? sprof_error_set(error, SPROF_ELIMIT, errnum,
                                 "cannot trace with only %d more descriptors: %s\nraise `ulimit "
                                 "-n` by %d",
                                 count, strerror(errnum), needed - count)
               : 0;
}

static int check(const struct trace_options *options, struct sprof_error *error)
{
    struct plan_expressions *expressions;
    int result =
        plan_expressions_make(&expressions, options->functions, options->function_count, error);
    if (result)
        return result;
    plan_expressions_free(expressions);
    result = calls_warnings_check(options, error);
    if (!result)
        result = calls_keep_check(options, error);
    if (!result)
        result = calls_values_check(options, error);
    if (!result)
        result = calls_requests_check(options, error);
    if (!result)
        result = check_descriptors(options->pid != 0, options->other_count, error);
    if (!result && options->pid)
        result = target_check(options->pid, false, error);
    for (size_t i = 0; i < options->other_count && !result; i++)
        result = target_check(options->others[i], false, error);
    return result;
}

static int open_target(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    SPROF_VEC(pid_t) pids = {0};
    int result = options->pid && sprof_vec_push(&pids, options->pid) ? SPROF_ENOMEM : 0;
    for (size_t i = 0; i < options->other_count && !result; i++)
        result = sprof_vec_push(&pids, options->others[i]);
    const struct target_options target = {.command = options->pid ? NULL : options->command,
                                          .pids = pids.items,
                                          .pid_count = pids.count,
                                          .in_child = session->backend->in_child,
                                          .meanwhile = session->backend->meanwhile,
                                          .meanwhile_context = &session->trace->hold};
    result =
        result ? sprof_error_memory(error) : target_open(&session->trace->target, &target, error);
    sprof_vec_release(&pids);
    return result;
}

/* A command that waits is answered sooner. */
static void hurry_if_asked(struct calls_program *program)
{
    struct trace *trace = trace_session_of(&program->probing)->trace;
    if (!trace->urgency.is_raised && control_server_is_asked(&trace->control))
        sprof_urgency_raise(&trace->urgency);
}

static int open_session(struct trace_session **out, const struct trace_options *options,
                        struct sprof_error *error)
{
    struct trace_entry entry = {
        .choice.backend = &probe_backend_attach, .agent_fd = -1, .lock_fd = -1};
    int result = options->other_count ? 0 : trace_entry_open(&entry, options, error);
    const struct probe_backend *backend = entry.choice.backend;
    if (!result && backend->borrows && !options->pid)
        result = check_descriptors(true, 0, error);
    struct trace_session *session = result ? NULL : calloc(1, sizeof *session);
    if (session && !(session->trace = calloc(1, sizeof *session->trace))) {
        free(session);
        session = NULL;
    }
    if (!session) {
        trace_entry_close(&entry);
        return result ? result : sprof_error_memory(error);
    }
    trace_session_join(session, session->trace, backend);
    session->process = INJECT_PROCESS_NONE;
    session->process.log = options->log;
    session->process.no_cache = options->no_cache;
    session->process.lock_fd = entry.lock_fd;
    if (backend->needs_keeper)
        inject_keeper_begin(&session->trace->keeper, options->log);
    session->options = *options;
    session->trace->events.look = hurry_if_asked;
    session->trace->may_grow = options->children;
    session->trace->has_others = session->stands_for_all = options->other_count;
    session->trace->membership = options->children      ? &trace_of_children
                                 : options->other_count ? &trace_of_several
                                                        : &trace_of_one;
    session->trace->reason = entry.choice.reason;
    session->trace->hold = INJECT_HOLD_NONE;
    session->options.rest_ns = options->rest_ns ? options->rest_ns : REST_NS;
    session->common = session;
    counters_read_clocks(&session->trace->clock.opened_ns, &session->trace->clock.opened_ticks);
    session->mode = options->mode;
    if (!session->options.output)
        session->options.output = "sprof.db";
    session->trace->child_fd = -1;
    session->process.agent_fd = entry.agent_fd;
    session->trace->control = CONTROL_SERVER_NONE;
    session->process.pid = options->pid;
    result = calls_keep_open(&session->trace->calls, options, error);
    if (!result)
        result = trace_drilling_begin(session, error);
    if (!result)
        result = session->trace->membership->open(session, error);
    if (!result)
        result = open_target(session, error);
    if (!result && backend->prepare)
        result = backend->prepare(session, error);
    if (!result)
        result = open_recording(session, error);
    session->trace->phase = 1;
    session->times.ns_per_tick = 1;
    if (!result && (result = trace_commands_begin(session, error)))
        recording_abandon(session->recording);
    if (result)
        trace_free(session);
    else
        *out = session;
    return result;
}

int trace_open(struct trace_session **out, const struct trace_options *options,
               struct sprof_error *error)
{
    *out = NULL;
    int result = check(options, error);
    if (result)
        return result;
    result = open_session(out, options, error);
    return result && options->pid && !options->other_count &&
                   target_check(options->pid, false, NULL) == SPROF_ENOTFOUND
               ? inject_refuse_ended(options->pid, error)
               : result;
}

pid_t trace_command_pid(const struct trace_session *session)
{
    return target_command(session->trace->target);
}

void trace_free(struct trace_session *session)
{
    if (!session)
        return;
    control_server_close(&session->trace->control);
    target_free(session->trace->target);
    recording_free(session->recording);
    if (session->trace->membership->free)
        session->trace->membership->free(session);
    for (size_t i = 0; i < session->trace->programs.count; i++)
        if (trace_program_at(session->trace, i) != session)
            trace_program_free(trace_program_at(session->trace, i));
    inject_hold_release(&session->trace->hold);
    trace_program_release(session);
    inject_keeper_end(&session->trace->keeper);
    trace_drilling_free(session->trace->drilling);
    calls_keep_release(&session->trace->calls);
    calls_states_free(session->trace->states);
    sprof_vec_release(&session->trace->programs);
    sprof_map_release(&session->trace->covered.nodes);
    calls_history_release(&session->trace->history);
    inject_close(&session->trace->child_fd);
    free(session->trace);
    free(session);
}
