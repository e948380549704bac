/* Decides what counts the calls of a program: the agent, or the kernel where nothing can be put
 * into it. */
#include "inject/inject.h"
#include "trace/uprobe/uprobes.h"

#include "agent/agent.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Why nothing can be put into a program of such a file; NULL: it can, or it cannot run here. */
static const char *obstacle_of_file(enum agent_file kind, const char *path)
{
    switch (kind) {
    case AGENT_FILE_STATIC: return "is linked statically";
    case AGENT_FILE_SETUID: return "runs with other rights than yours";
    case AGENT_FILE_GO: return "is of Go, which moves its stacks";
    case AGENT_FILE_SANITIZER: return "is built with a sanitizer";
    case AGENT_FILE_LOADER: return "is a dynamic loader, and no program follows it";
    case AGENT_FILE_GOOD:
        return image_has_foreign_loader(path) ? "is not loaded by glibc's loader" : NULL;
    default: return NULL;
    }
}

static bool has_limit(pid_t pid, __rlimit_resource_t resource)
{
    struct rlimit limit;
    return !prlimit(pid, resource, NULL, &limit) && limit.rlim_cur < PROBE_RECORDS_BYTES;
}

/* Loading the agent needs one descriptor at a time. */
static bool has_descriptor(pid_t pid)
{
    struct rlimit limit;
    char path[64];
    rlim_t used = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", sprof_proc_sharing_task(pid));
    DIR *directory = prlimit(pid, RLIMIT_NOFILE, NULL, &limit) ? NULL : opendir(path);
    if (!directory)
        return true;
    for (struct dirent *entry; (entry = readdir(directory));)
        used += *entry->d_name != '.' && strtoull(entry->d_name, NULL, 10) < limit.rlim_cur;
    closedir(directory);
    return used < limit.rlim_cur;
}

/* Why there is no room for the window of records, or for the agent. A command has sprof's own
 * limits. */
static const char *obstacle_of_room(pid_t pid)
{
    char mode = '0';
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "re");
    if (file) {
        mode = (char)fgetc(file);
        fclose(file);
    }
    if (mode == '2')
        return "may not reserve 16 TiB of addresses for its calls, as vm.overcommit_memory is 2 "
               "(`sysctl vm.overcommit_memory=0` lifts that)";
    if (pid && has_limit(pid, RLIMIT_AS))
        return "has a limit of its addresses (`ulimit -v`; `prlimit --as=unlimited` lifts it)";
    if (pid && has_limit(pid, RLIMIT_DATA))
        return "has a limit of its data (`ulimit -d`; `prlimit --data=unlimited` lifts it)";
    return pid && !has_descriptor(pid)
               ? "has no descriptor free (`ulimit -n`; `prlimit --nofile=1024` raises that)"
               : NULL;
}

static int refuse_class(const char *name, enum agent_file kind, struct sprof_error *error)
{
    if (kind == AGENT_FILE_DAMAGED)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "cannot trace %s: it is a damaged ELF file, or one that is cut "
                               "off\ncopy it again, or build it anew",
                               name);
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot trace %s: it is of another processor or word size than "
                           "sprof\n`sprof record` can sample it",
                           name);
}

int trace_refuse(enum agent_file kind, const char *path, struct sprof_error *error)
{
    const char *reason = obstacle_of_file(kind, path);
    if (!reason)
        return refuse_class(path, kind, error);
    if (inject_raw_is_for(path) && !inject_raw_obstacle(0, path))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot trace %s: it %s\nby itself `sprof trace -- %s` can trace it",
                               path, reason, path);
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot trace %s: it %s\n`sprof trace -- %s`, as root, has the kernel "
                           "count its calls; `sprof record` can sample it",
                           path, reason, path);
}

/* Refuses an option that only the agent can fulfil. */
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

/* Finds the process's number or the command's file. */
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

/* Whether a command is a loader that is to start a program (`ld.so ./program`). */
static bool is_loaded(const struct trace_options *options)
{
    return !options->pid && agent_loaded_program(options->command) &&
           agent_check_command(*options->command, NULL, getenv("PATH"), NULL) == AGENT_FILE_LOADER;
}

/* Probes of the kernel are for the file that is executed, which is the loader. */
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

/* Whether the agent is put into a program that runs: a process, or a command that cannot be
 * preloaded and is held at its main. *reason: why it cannot be preloaded, or loaded. */
static bool may_attach(const struct trace_options *options, const char *path, const char **reason)
{
    if (!options->pid && (options->children || options->all_points))
        return false;
    if (*reason && inject_raw_is_for(path))
        *reason = inject_raw_obstacle(options->pid, path);
    return !*reason && (options->pid || inject_raw_is_for(path));
}

int trace_backend_choose(const struct trace_options *options, struct trace_choice *choice,
                         struct sprof_error *error)
{
    char path[AGENT_PATH_MAX], name[AGENT_PATH_MAX];
    *choice = (struct trace_choice){.backend = options->backend};
    const enum agent_file kind = find_program(options, path, sizeof path, name, sizeof name);
    const bool is_foreign = kind == AGENT_FILE_CLASS || kind == AGENT_FILE_DAMAGED;
    if (is_foreign && !options->children)
        return refuse_class(name, kind, error);
    if (options->backend == TRACE_UPROBE)
        return is_loaded(options) ? refuse_loaded(options, NULL, error)
                                  : trace_uprobes_check(options, error);
    choice->backend = TRACE_INJECT;
    const char *reason = obstacle_of_file(kind, path);
    choice->attaches = may_attach(options, path, &reason);
    if (choice->attaches && !options->pid)
        reason = is_loaded(options) ? "can be held at its main only without one"
                                    : inject_hold_obstacle(path);
    if (!reason && options->pid)
        reason = inject_obstacle(options->pid);
    if (!reason && !options->children)
        reason = obstacle_of_room(options->pid);
    if (options->children && (reason || is_foreign)) {
        /* programs that it executes may be traced */
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
    choice->backend = TRACE_UPROBE;
    choice->attaches = false;
    choice->reason = reason;
    return trace_uprobes_check(options, error) ? trace_backend_explain(options, choice, error) : 0;
}

int trace_backend_explain(const struct trace_options *options, const struct trace_choice *choice,
                          struct sprof_error *error)
{
    struct sprof_error why = *error;
    char name[64];
    if (!choice->reason)
        return error->code;
    snprintf(name, sizeof name, "process %d", (int)options->pid);
    return sprof_error_set(error, why.code, why.errnum,
                           "cannot trace %s: it %s, so nothing can be put into it, and %s\n`sprof "
                           "record` can sample it",
                           options->pid ? name : *options->command, choice->reason, why.message);
}

void trace_entry_close(struct trace_entry *entry)
{
    inject_close(&entry->agent_fd);
    inject_close(&entry->lock_fd);
}

int trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                     struct sprof_error *error)
{
    *entry = (struct trace_entry){.choice.backend = TRACE_INJECT, .agent_fd = -1, .lock_fd = -1};
    int listens = 0, result = 0;
    if (options->pid && options->backend != TRACE_UPROBE) {
        listens = inject_listening_connect(options->pid, &entry->agent_fd, &entry->lock_fd, error);
        result = listens < 0 ? listens : 0;
    }
    entry->listens = listens > 0;
    if (!result && !listens)
        result = trace_backend_choose(options, &entry->choice, error);
    if (!result && !listens && entry->choice.backend == TRACE_INJECT && options->pid)
        result = inject_check(options->pid, &entry->lock_fd, options->log, error);
    if (result)
        trace_entry_close(entry);
    return result;
}
