/* sprof watch: traces programs that start on this machine, as a file of options says. */
#include "cli/commands.h"
#include "cli/config.h"
#include "cli/output.h"
#include "cli/signals.h"
#include "cli/values.h"
#include "inject/inject.h"
#include "trace/trace.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AT_ONCE = 8, STEP_MS = 200, NAME_MOST = 64 };

struct arguments {
    const char *config_path, *directory;
    uint64_t at_once, duration_ns;
    size_t max_size;
};

#define FIELD(name) offsetof(struct arguments, name)
static const struct cli_option options[] = {
    {"config", 0, "FILE",
     "options of `sprof trace` in sections [program GLOB]: these programs are traced",
     FIELD(config_path), cli_set_text},
    {"output", 'o', "DIR", "where the recordings go, PROGRAM.PID.db for each (.)", FIELD(directory),
     cli_set_text},
    {"at-once", 0, "N", "trace at most so many processes at the same time (8)", FIELD(at_once),
     cli_set_positive},
    {"max-size", 0, "SIZE", "begin no more traces when all recordings together are as large (1G)",
     FIELD(max_size), cli_set_size},
    {"duration", 0, "T", "end after so long (else by a signal)", FIELD(duration_ns),
     cli_set_duration},
    {0},
};

/* A trace that runs: a sprof of its own. */
struct traced_process {
    pid_t tracer, traced;
};

struct watch {
    const struct arguments *arguments;
    struct cli_terminal *terminal;
    struct cli_config config;
    struct trace_exec_events events;
    sigset_t before; /* the mask of signals */
    char self[PATH_MAX];
    SPROF_VEC(struct traced_process) running;
    SPROF_VEC(char *) recordings;
    uint64_t begun, failed, passed; /* passed: there was no room */
    bool is_full;                   /* of --max-size */
};

/* == A trace == */

static _Noreturn void become(const struct watch *watch, pid_t pid, const char *recording,
                             pid_t parent)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)pid);
    char *const words[] = {"sprof", "trace", "--config", (char *)watch->arguments->config_path,
                           "-p",    number,  "-o",       (char *)recording,
                           NULL};
    setpgid(0, 0); /* a terminal's Ctrl-C reaches the watch alone, which ends its traces */
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(0);
    pthread_sigmask(SIG_SETMASK, &watch->before, NULL);
    execv("/proc/self/exe", words);
    _exit(127);
}

static bool is_within_size(struct watch *watch)
{
    uint64_t bytes = 0;
    struct stat file;
    for (size_t i = 0; i < watch->recordings.count; i++)
        if (!stat(watch->recordings.items[i], &file))
            bytes += (uint64_t)file.st_size;
    if (bytes >= watch->arguments->max_size && !watch->is_full)
        cli_say(watch->terminal,
                "the recordings have reached --max-size: programs that start now are not traced");
    watch->is_full = bytes >= watch->arguments->max_size;
    return !watch->is_full;
}

static int trace(struct watch *watch, pid_t pid, const char *program)
{
    struct sprof_str path = {0};
    const char *slash = strrchr(program, '/');
    const pid_t parent = getpid();
    sprof_str_appendf(&path, "%s/%.*s.%d.db", watch->arguments->directory, NAME_MOST,
                      slash ? slash + 1 : program, (int)pid);
    if (path.failed || sprof_vec_push(&watch->recordings, path.text)) {
        sprof_str_release(&path);
        return SPROF_ENOMEM;
    }
    const pid_t tracer = fork();
    if (!tracer)
        become(watch, pid, path.text, parent);
    if (tracer < 0) {
        watch->failed++;
        return 0;
    }
    watch->begun++;
    cli_say(watch->terminal, "process %d, %s, is traced: %s", (int)pid, program, path.text);
    return sprof_vec_push(&watch->running, ((struct traced_process){tracer, pid}));
}

static bool is_traced(const struct watch *watch, pid_t pid)
{
    for (size_t i = 0; i < watch->running.count; i++)
        if (watch->running.items[i].traced == pid || watch->running.items[i].tracer == pid)
            return true;
    return false;
}

/* A process that has executed a program. Sprof itself is never traced. */
static int look_at(struct watch *watch, pid_t pid)
{
    char program[PATH_MAX];
    inject_program_file(pid, program);
    if (!*program || !strcmp(program, watch->self) || is_traced(watch, pid) ||
        !cli_config_has(&watch->config, program))
        return 0;
    if (watch->running.count >= watch->arguments->at_once) {
        if (!watch->passed++)
            cli_say(watch->terminal,
                    "process %d, %s, is not traced: there are %zu already (--at-once)", (int)pid,
                    program, watch->running.count);
        return 0;
    }
    return is_within_size(watch) ? trace(watch, pid, program) : 0;
}

/* == The watch == */

static void reap(struct watch *watch)
{
    for (size_t i = watch->running.count; i > 0; i--) {
        int status;
        const pid_t tracer = watch->running.items[i - 1].tracer;
        if (waitpid(tracer, &status, WNOHANG) != tracer)
            continue;
        watch->failed += !WIFEXITED(status) || WEXITSTATUS(status);
        watch->running.items[i - 1] = watch->running.items[--watch->running.count];
    }
}

/* Ends the traces in order, and waits for what they write. */
static void end_traces(struct watch *watch)
{
    for (size_t i = 0; i < watch->running.count; i++)
        kill(watch->running.items[i].tracer, SIGINT);
    while (watch->running.count) {
        reap(watch);
        if (watch->running.count)
            poll(NULL, 0, STEP_MS / 4);
    }
}

static int run_until_end(struct watch *watch, int signals, struct sprof_error *error)
{
    const uint64_t duration_ns = watch->arguments->duration_ns;
    const uint64_t end_ns = duration_ns ? sprof_clock_monotonic_ns() + duration_ns : UINT64_MAX;
    int result = 0;
    while (!result && sprof_clock_monotonic_ns() < end_ns) {
        struct pollfd polls[] = {{.fd = signals, .events = POLLIN},
                                 {.fd = watch->events.fd, .events = POLLIN}};
        pid_t pid;
        poll(polls, 2, STEP_MS);
        if (polls[0].revents)
            break;
        reap(watch);
        while (!result && !(result = trace_exec_events_next(&watch->events, &pid)))
            result = look_at(watch, pid);
        result = result > 0 ? 0 : result;
    }
    return result == SPROF_ENOMEM ? sprof_error_memory(error)
           : result ? sprof_error_set(error, result, errno, "cannot read which programs start: %s",
                                      strerror(errno))
                    : 0;
}

static void say_end(const struct watch *watch)
{
    char failed[64] = "", passed[96] = "", lost[96] = "";
    if (watch->failed)
        snprintf(failed, sizeof failed, ", %llu without success",
                 (unsigned long long)watch->failed);
    if (watch->passed)
        snprintf(passed, sizeof passed, "; %llu not, for there were too many at once",
                 (unsigned long long)watch->passed);
    if (watch->events.lost)
        snprintf(lost, sizeof lost, "; the kernel had no room for events %llu time%s",
                 (unsigned long long)watch->events.lost, sprof_plural(watch->events.lost));
    cli_say(watch->terminal, "%llu process%s traced%s%s%s", (unsigned long long)watch->begun,
            watch->begun == 1 ? "" : "es", failed, passed, lost);
}

static int watch_programs(struct watch *watch, struct sprof_error *error)
{
    const char *directory = watch->arguments->directory;
    int result = trace_exec_events_open(&watch->events, error);
    if (result)
        return result;
    result = cli_make_directory(directory, error);
    const int signals = result ? -1 : cli_signals_open(&watch->before);
    if (signals >= 0) {
        cli_say(watch->terminal, "programs of %s are traced as they start: Ctrl-C ends it",
                watch->arguments->config_path);
        result = run_until_end(watch, signals, error);
        end_traces(watch);
        say_end(watch);
        close(signals);
    } else if (!result)
        result = sprof_system_error(error, "wait for", "signals");
    trace_exec_events_close(&watch->events);
    return result;
}

static int run(struct cli_terminal *terminal, void *all, const struct cli_operands *operands,
               struct sprof_error *error)
{
    struct arguments *arguments = all;
    struct watch watch = {.arguments = arguments, .terminal = terminal};
    (void)operands;
    if (!arguments->config_path)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "nothing to watch for: --config FILE names programs, in sections "
                               "as [program NAME]");
    arguments->directory = arguments->directory ? arguments->directory : ".";
    arguments->at_once = arguments->at_once ? arguments->at_once : AT_ONCE;
    arguments->max_size = arguments->max_size ? arguments->max_size : (size_t)1 << 30;
    inject_program_file(getpid(), watch.self);
    int result = cli_config_check(&watch.config, arguments->config_path, &cli_trace_command, error);
    if (!result)
        result = watch_programs(&watch, error);
    for (size_t i = 0; i < watch.recordings.count; i++)
        free(watch.recordings.items[i]);
    sprof_vec_release(&watch.recordings);
    sprof_vec_release(&watch.running);
    cli_config_release(&watch.config);
    return result;
}

const struct cli_command cli_watch_command = {
    .name = "watch",
    .summary = "Trace programs that start on this machine, as a file of options says",
    .options = options,
    .details =
        "Each process that executes a program with a section in FILE is traced from then\n"
        "on, as by `sprof trace --config FILE -p PID`. Nothing is loaded into other programs, and\n"
        "programs that run already are left alone. Programs of others are traced by root alone.\n",
    .arguments_size = sizeof(struct arguments),
    .run = run,
};
