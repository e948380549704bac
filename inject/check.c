/* Checks whether a running process can be traced. */
#include "inject/attach.h"
#include "inject/inside.h"
#include "inject/leaving.h"
#include "inject/lock.h"
#include "inject/sharers.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BEGIN_TRIES = 100 }; /* ten milliseconds each */

static int check_state(pid_t pid, struct sprof_error *error)
{
    char value[128];
    struct sprof_proc_status status;
    inject_read_status(pid, "TracerPid", value, sizeof value);
    if (atoi(value))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "cannot trace process %d: process %s traces it already (a debugger, "
                               "strace, or another sprof that is just beginning)\nend that first",
                               (int)pid, value);
    if (!sprof_proc_status_read(pid, &status))
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended", (int)pid);
    if (status.state == 'T' || status.state == 't')
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "cannot trace process %d: it is stopped\ncontinue it first: `kill "
                               "-CONT %d`",
                               (int)pid, (int)pid);
    return 0;
}

const char *inject_obstacle(pid_t pid)
{
    char value[128], library[TARGET_PATH_MAX];
    struct sprof_proc_status status;
    if (sprof_proc_status_read(pid, &status) && status.inner != pid)
        return "is in another pid namespace (a container, in which sprof would have to run)";
    if (!inject_find_agent(pid, library, NULL) && !inject_sees(pid, library))
        return "sees other files than sprof (in a container, in which sprof would have to run)";
    if (inject_is_filtered(pid))
        return "is under seccomp, which may end it where it loads the tracing agent";
    if (inject_has_lasting_sharer(pid))
        return "shares its memory with another process (clone with CLONE_VM alone), which would go "
               "on while its threads stand still for probes";
    inject_read_status(pid, "x86_Thread_features", value, sizeof value);
    return strstr(value, "shstk")
               ? "has a shadow stack, which a borrowed thread's return would not "
                 "agree with"
               : NULL;
}

static void wait_for_libraries(pid_t pid)
{
    char path[64], line[512];
    sprof_proc_shared_path(path, sizeof path, pid, "maps");
    for (int tries = 0; tries < BEGIN_TRIES; tries++) {
        bool found = false;
        FILE *maps = fopen(path, "re");
        while (maps && fgets(line, sizeof line, maps))
            found |= strstr(line, "/libc.so") || strstr(line, "/libc-") || strstr(line, "/ld-musl");
        if (maps)
            fclose(maps);
        if (found)
            return;
        const struct timespec pause = {.tv_nsec = 10000000};
        nanosleep(&pause, NULL);
    }
}

/* The caller holds the lock, which keeps a keeper from doing the same. */
static int clean_up_before(pid_t pid, const struct sprof_log *log, struct sprof_error *error)
{
    struct probe_owner owner;
    int result = inject_owner_check_version(pid, error);
    if (!result)
        result = inject_owner_check_alone(pid, error);
    if (result)
        return result;
    if (!inject_owner_read(pid, &owner, NULL)) {
        struct sprof_error ignored = {0}; /* after a failure the agent is used again, and stays */
        if (!inject_has_collector(pid))
            inject_clean_up_locked(pid, log, &ignored);
        return 0;
    }
    result = inject_clean_up_locked(pid, log, error);
    if (!result)
        sprof_log_message(log, SPROF_LOG_NOTE,
                          "process %d had probes of a trace that %s, into %s: they were taken out",
                          (int)pid, owner.is_ending ? "is over" : "was killed", owner.output);
    return result;
}

static int refuse_reader(pid_t pid, int errnum, struct sprof_error *error)
{
    char command[64];
    snprintf(command, sizeof command, "trace -p %d …", (int)pid);
    return target_explain_reading(pid, errnum, "traced", command, error);
}

/* Lock first: its holder may have stopped the process. */
int inject_check(pid_t pid, int *lock_fd, const struct sprof_log *log, struct sprof_error *error)
{
    char library[TARGET_PATH_MAX];
    int result = target_may_read(pid);
    if (result == -ESRCH) {
        inject_wait_for_leader(pid);
        result = target_may_read(pid);
    }
    if (result)
        return refuse_reader(pid, result, error);
    result = inject_lock_alone(pid, lock_fd, error);
    if (!result)
        result = check_state(pid, error);
    if (!result)
        result = inject_find_library(pid, library, error);
    if (!result && !inject_is_raw(pid))
        wait_for_libraries(pid);
    if (!result)
        result = clean_up_before(pid, log, error);
    if (result && inject_lock_has_become_stale(pid, *lock_fd))
        result = inject_refuse_executed(pid, error);
    if (result && *lock_fd >= 0) {
        close(*lock_fd);
        *lock_fd = -1;
    }
    return result;
}
