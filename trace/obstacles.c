/* Finds and reports why the agent cannot be put into a program. */
#include "trace/obstacles.h"
#include "inject/inject.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

const char *trace_obstacle_of_file(enum agent_file kind, const char *path)
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

/* Room is needed for the window of records and the agent. A command has sprof's limits. */
const char *trace_obstacle_of_room(pid_t pid)
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

int trace_refuse_class(const char *name, enum agent_file kind, struct sprof_error *error)
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
    const char *reason = trace_obstacle_of_file(kind, path);
    if (!reason)
        return trace_refuse_class(path, kind, error);
    if (inject_raw_is_for(path) && !inject_raw_obstacle(0, path))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "cannot trace %s: it %s\nby itself `sprof trace -- %s` can trace it",
                               path, reason, path);
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                           "cannot trace %s: it %s\n`sprof trace -- %s`, as root, has the kernel "
                           "count its calls; `sprof record` can sample it",
                           path, reason, path);
}

int trace_explain_uprobes(const struct trace_options *options, const char *reason,
                          struct sprof_error *error)
{
    struct sprof_error why = *error;
    char name[64];
    if (!reason)
        return error->code;
    snprintf(name, sizeof name, "process %d", (int)options->pid);
    return sprof_error_set(error, why.code, why.errnum,
                           "cannot trace %s: it %s, so nothing can be put into it, and %s\n`sprof "
                           "record` can sample it",
                           options->pid ? name : *options->command, reason, why.message);
}
