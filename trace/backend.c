/* Chooses what counts a program's calls: the agent, or the kernel if the agent cannot enter. */
#include "inject/inject.h"
#include "target/target.h"
#include "trace/obstacles.h"
#include "trace/uprobe/uprobes.h"

#include "agent/agent.h"

#include <stdio.h>
#include <stdlib.h>

static int refuse_option(const char *name, const char *reason, const char *flag,
                         struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot trace %s with --%s: it %s\nwithout --%s the kernel counts and "
                           "times its calls by function, as in mode stats",
                           name, flag, reason, flag);
}

static int refuse_injection(const char *name, const char *reason, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot put probes into %s: it %s\nwithout --backend inject, as root, "
                           "the kernel counts its calls; `sprof record` can sample it",
                           name, reason);
}

/* `name` is for messages. */
static enum agent_file find_program(const struct trace_options *options, char *path, size_t size,
                                    char *name, size_t name_size)
{
    if (!options->pid) {
        const enum agent_file kind =
            agent_check_command(*options->command, options->command, getenv("PATH"), path);
        snprintf(name, name_size, "%s", path);
        return kind;
    }
    sprof_proc_shared_path(path, size, options->pid, "exe");
    snprintf(name, name_size, "process %d", (int)options->pid);
    const enum agent_file kind = agent_check_file(path);
    return kind == AGENT_FILE_LOADER && inject_program_file(options->pid, path)
               ? agent_check_file(path)
               : kind;
}

/* Whether the command is `ld.so ./program`. */
static bool is_loaded(const struct trace_options *options)
{
    return !options->pid && agent_loaded_program(options->command) &&
           agent_check_command(*options->command, NULL, getenv("PATH"), NULL) == AGENT_FILE_LOADER;
}

/* The kernel would probe the executed file, which is the loader. */
static int refuse_loaded(const struct trace_options *options, const char *reason,
                         struct sprof_error *error)
{
    const char *program = agent_loaded_program(options->command);
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot trace %s as a program of the loader %s%s%s: the kernel counts "
                           "calls of a command's own file alone\n`sprof trace -- %s` can trace it",
                           program, *options->command, reason ? ": it " : "", reason ? reason : "",
                           program);
}

/* Whether the agent enters a process, or a command that is held at its main because it cannot be
 * preloaded. *reason: the obstacle. */
static bool may_attach(const struct trace_options *options, const char *path, const char **reason)
{
    if (!options->pid && (options->children || options->all_points))
        return false;
    if (*reason && inject_raw_is_for(path))
        *reason = inject_raw_obstacle(options->pid, path);
    return !*reason && (options->pid || inject_raw_is_for(path));
}

/* Changes nothing. SPROF_EUNSUPPORTED: no back end fits the program or the options. */
static int choose(const struct trace_options *options, struct trace_choice *choice,
                  struct sprof_error *error)
{
    char path[AGENT_PATH_MAX], name[AGENT_PATH_MAX];
    *choice = (struct trace_choice){.backend = &probe_backend_uprobe};
    const enum agent_file kind = find_program(options, path, sizeof path, name, sizeof name);
    const bool is_foreign = kind == AGENT_FILE_CLASS || kind == AGENT_FILE_DAMAGED;
    if (is_foreign && !options->children)
        return trace_refuse_class(name, kind, error);
    if (options->backend == TRACE_UPROBE)
        return is_loaded(options) ? refuse_loaded(options, NULL, error)
                                  : trace_uprobes_check(options, error);
    const char *reason = trace_obstacle_of_file(kind, path);
    const bool attaches = may_attach(options, path, &reason);
    choice->backend = !attaches      ? &probe_backend_preload
                      : options->pid ? &probe_backend_attach
                                     : &probe_backend_held;
    if (attaches && !options->pid)
        reason = is_loaded(options) ? "can be held at its main only without one"
                                    : inject_hold_obstacle(path);
    if (!reason && options->pid)
        reason = inject_obstacle(options->pid);
    if (!reason && !options->children)
        reason = trace_obstacle_of_room(options->pid);
    if (options->children && (reason || is_foreign)) {
        /* programs that it executes may be traceable */
        struct sprof_error why = {0};
        trace_refuse(kind, path, &why);
        sprof_log_message(options->log, SPROF_LOG_WARNING, "%s", why.message);
        return 0;
    }
    if (!reason)
        return 0;
    if (options->all_points && inject_raw_is_for(path))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot put probes into %s with --all-points: it %s, and gets them "
                               "when it comes to its main\nwithout --all-points functions have "
                               "probes",
                               name, reason);
    if (options->backend == TRACE_INJECT)
        return refuse_injection(name, reason, error);
    if (is_loaded(options))
        return refuse_loaded(options, reason, error);
    const char *flag = trace_uprobes_excluded(options);
    if (flag)
        return refuse_option(name, reason, flag, error);
    choice->backend = &probe_backend_uprobe;
    choice->reason = reason;
    return trace_uprobes_check(options, error) ? trace_explain_uprobes(options, reason, error) : 0;
}

void trace_entry_close(struct trace_entry *entry)
{
    inject_close(&entry->agent_fd);
    inject_close(&entry->lock_fd);
}

int trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                     struct sprof_error *error)
{
    *entry = (struct trace_entry){
        .choice.backend = &probe_backend_preload, .agent_fd = -1, .lock_fd = -1};
    int listens = 0, result = 0;
    if (options->pid)
        target_wait_for_program(options->pid);
    if (options->pid && options->backend != TRACE_UPROBE) {
        listens = inject_listening_connect(options->pid, &entry->agent_fd, &entry->lock_fd, error);
        result = listens < 0 ? listens : 0;
    }
    if (listens > 0)
        entry->choice.backend = &probe_backend_listening;
    if (!result && !listens)
        result = choose(options, &entry->choice, error);
    if (!result && !listens && entry->choice.backend->has_agent && options->pid)
        result = inject_check(options->pid, &entry->lock_fd, options->log, error);
    if (result)
        trace_entry_close(entry);
    return result;
}
