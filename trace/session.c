/* Opens a tracing session: launches the command or finds the process, and begins a recording. */
#include "inject/inject.h"
#include "plan/plan.h"
#include "trace/children.h"
#include "trace/figures/keep.h"
#include "trace/figures/warn.h"
#include "trace/load.h"
#include "trace/probes/points.h"
#include "trace/program.h"
#include "trace/several.h"
#include "trace/uprobe/uprobes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#define REST_NS UINT64_C(10000000000)

/* == Opening == */

/* Only a command of root's can have programs of other users. They run all the same. */
static void note_closed(const struct trace_session *session, const char *library)
{
    char closed[TARGET_PATH_MAX];
    if (!geteuid() && inject_is_closed(library, closed))
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "what the command starts as another user is not traced: it may not %s "
                          "%s, and has to load the tracing agent: install sprof where all users "
                          "may read it, or `chmod a+%c %s`",
                          strcmp(closed, library) ? "enter" : "read", closed,
                          strcmp(closed, library) ? 'x' : 'r', closed);
}

static int set_environment(struct trace_session *session, struct sprof_error *error)
{
    char library[AGENT_PATH_MAX], variable[128];
    struct sprof_str preload = {0}, sanitizer = {0};
    int result = target_find_library(PROBE_LIBRARY, library, error);
    if (result)
        return result;
    const char *others = getenv("LD_PRELOAD"), *bound = getenv("LD_BIND_NOW");
    const bool binds = session->options.all_points && !(bound && *bound);
    sprof_str_appendf(&preload, "LD_PRELOAD=%s%s%s", library, others ? ":" : "",
                      others ? others : "");
    snprintf(variable, sizeof variable, PROBE_VARIABLE "=%d", session->trace->child_fd);
    if (session->trace->children) {
        /* Children with a sanitizer find the agent before its library. They are not traced, but
         * must run. */
        const char *flags = getenv("ASAN_OPTIONS");
        sprof_str_appendf(&sanitizer, "ASAN_OPTIONS=%s%sverify_asan_link_order=0",
                          flags ? flags : "", flags && *flags ? ":" : "");
        snprintf(variable, sizeof variable, PROBE_VARIABLE "=@%s", trace_children_address(session));
        note_closed(session, library);
    }
    if (preload.failed || sanitizer.failed ||
        target_set_environment(session->trace->target, preload.text) ||
        target_set_environment(session->trace->target, variable) ||
        (binds && target_set_environment(session->trace->target, PROBE_BINDS_NOW "=")) ||
        (sanitizer.text && target_set_environment(session->trace->target, sanitizer.text)))
        result = sprof_error_memory(error);
    sprof_str_release(&preload);
    sprof_str_release(&sanitizer);
    return result;
}

/* The command inherits its end, and the agent closes it. */
static int open_sockets(struct trace_session *session, struct sprof_error *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make a socket pair: %s\nsee `ulimit -n`", strerror(errno));
    session->process.agent_fd = ends[0];
    session->trace->child_fd = dup(ends[1]); /* without FD_CLOEXEC */
    close(ends[1]);
    return session->trace->child_fd >= 0
               ? 0
               : sprof_error_set(error, SPROF_ELIMIT, errno,
                                 "cannot duplicate a descriptor: %s\nsee `ulimit -n`",
                                 strerror(errno));
}

static const char *keep(struct trace_session *session, const char *text)
{
    return text && *text ? sprof_arena_text(&session->arena, text) : NULL;
}

/* Appends the command line of a running process. */
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
    if (session->choice.reason)
        snprintf(text, sizeof text, "uprobes: the program %s", session->choice.reason);
    run->source = session->choice.reason ? keep(session, text)
                  : session->uprobes     ? "uprobes"
                  : session->listens     ? "probes embedded"
                  : session->attaches    ? "probes injected"
                                         : "probes preloaded";
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

/* Requires free descriptors, so that a trace does not run out of them before its probes are out. */
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

/* For a command that is held. */
static int open_hold(struct trace_session *session, struct sprof_error *error)
{
    char library[AGENT_PATH_MAX];
    const int result = target_find_library(PROBE_MAPPED_LIBRARY, library, error);
    return result ? result : inject_hold_open(&session->trace->hold, error);
}

/* Opens uprobes, and reports why where they were not asked for. */
static int open_uprobes(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    char name[64];
    const int gone = options->pid ? target_check(options->pid, false, error) : 0;
    if (gone) /* which may be why nothing was found in it */
        return gone;
    if (trace_uprobes_open(&session->uprobes, error))
        return trace_backend_explain(options, &session->choice, error);
    snprintf(name, sizeof name, "process %d", (int)options->pid);
    if (session->choice.reason) {
        uint64_t least_ns, most_ns;
        trace_uprobes_call_ns(session->uprobes, &least_ns, &most_ns);
        sprof_log_message(options->log, SPROF_LOG_NOTE,
                          "%s %s, so nothing can be put into it: the kernel counts and times its "
                          "calls by uprobes, which takes %.1f to %.1f µs for each",
                          options->pid ? name : *options->command, session->choice.reason,
                          (double)least_ns / 1e3, (double)most_ns / 1e3);
    }
    return 0;
}

static int check(const struct trace_options *options, struct sprof_error *error)
{
    struct plan_expressions *expressions;
    int result =
        plan_expressions_make(&expressions, options->functions, options->function_count, error);
    if (result)
        return result;
    plan_expressions_free(expressions);
    result = trace_warnings_check(options, error);
    if (!result)
        result = trace_keep_check(options, error);
    if (!result)
        result = check_descriptors(options->pid != 0, options->other_count, error);
    if (!result && options->pid)
        result = target_check(options->pid, false, error);
    for (size_t i = 0; i < options->other_count && !result; i++)
        result = target_check(options->others[i], false, error);
    return result;
}

/* Opens what counts the calls. */
static int open_backend(struct trace_session *session, struct sprof_error *error)
{
    if (session->options.children)
        return trace_children_open(session, error);
    if (trace_is_of_several(session))
        return trace_several_open(session, error);
    if (session->choice.backend != TRACE_INJECT)
        return open_uprobes(session, error);
    if (session->options.pid)
        return 0;
    return session->attaches ? open_hold(session, error) : open_sockets(session, error);
}

static int open_target(struct trace_session *session, struct sprof_error *error)
{
    const struct trace_options *options = &session->options;
    const bool injects = session->choice.backend == TRACE_INJECT;
    const bool holds = session->attaches && !options->pid;
    SPROF_VEC(pid_t) pids = {0};
    int result = options->pid && sprof_vec_push(&pids, options->pid) ? SPROF_ENOMEM : 0;
    for (size_t i = 0; i < options->other_count && !result; i++)
        result = sprof_vec_push(&pids, options->others[i]);
    const struct target_options target = {.command = options->pid ? NULL : options->command,
                                          .pids = pids.items,
                                          .pid_count = pids.count,
                                          .in_child = injects ? NULL : trace_uprobes_in_child,
                                          .meanwhile = holds ? inject_hold_pass_signals : NULL,
                                          .meanwhile_context = &session->trace->hold};
    result =
        result ? sprof_error_memory(error) : target_open(&session->trace->target, &target, error);
    sprof_vec_release(&pids);
    return result;
}

static int open_session(struct trace_session **out, const struct trace_options *options,
                        struct sprof_error *error)
{
    struct trace_entry entry = {.choice.backend = TRACE_INJECT, .agent_fd = -1, .lock_fd = -1};
    int result = options->other_count ? 0 : trace_entry_open(&entry, options, error);
    const bool injects = entry.choice.backend == TRACE_INJECT;
    const bool holds = entry.choice.attaches && !options->pid;
    if (!result && holds)
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
    session->process = INJECT_PROCESS_NONE;
    session->process.log = options->log;
    session->process.no_cache = options->no_cache;
    session->process.lock_fd = entry.lock_fd;
    if (injects && !entry.listens)
        inject_keeper_begin(&session->trace->keeper, options->log);
    session->options = *options;
    session->choice = entry.choice;
    session->attaches = entry.choice.attaches || options->other_count;
    session->trace->hold = INJECT_HOLD_NONE;
    session->options.rest_ns = options->rest_ns ? options->rest_ns : REST_NS;
    session->common = session;
    trace_read_clocks(&session->trace->clock.opened_ns, &session->trace->clock.opened_ticks);
    session->mode = options->mode;
    if (!session->options.output)
        session->options.output = "sprof.db";
    session->trace->child_fd = -1;
    session->process.agent_fd = entry.agent_fd;
    session->listens = entry.listens;
    session->trace->control = CONTROL_SERVER_NONE;
    session->process.pid = options->pid;
    result = open_backend(session, error);
    if (!result)
        result = open_target(session, error);
    if (!result && !options->pid && injects && !holds)
        result = set_environment(session, error);
    if (!result)
        result = open_recording(session, error);
    session->trace->phase = 1;
    session->ns_per_tick = 1;
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
    trace_children_free(session);
    for (size_t i = 0; i < session->trace->programs.count; i++)
        if (session->trace->programs.items[i] != session)
            trace_program_free(session->trace->programs.items[i]);
    inject_hold_release(&session->trace->hold);
    trace_program_release(session);
    inject_keeper_end(&session->trace->keeper);
    sprof_vec_release(&session->trace->programs);
    sprof_map_release(&session->trace->covered.nodes);
    inject_close(&session->trace->child_fd);
    free(session->trace);
    free(session);
}
