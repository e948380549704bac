/* Says whether a process or thread can be a target, and why it cannot be sampled. */
#include "target/target.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SETTLE_MS = 20, YOUNG_MS = 1000, LOOK_MS = 2 };
enum { PF_FORKNOEXEC = 0x40 }; /* include/linux/sched.h, field 9 of /proc/PID/stat */

/* A process whose first thread has ended looks like a zombie while others go on. */
static bool has_ended(const struct sprof_proc_status *status, bool is_thread)
{
    return (status->state == 'Z' || status->state == 'X') && (is_thread || status->threads <= 1);
}

/* One of which another thread than the first executes a program looks, for a moment, as if it had
 * ended. */
static bool read_settled(pid_t pid, bool is_thread, struct sprof_proc_status *status)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    bool is_there = sprof_proc_status_read(pid, status);
    for (int i = 0; i < SETTLE_MS && is_there && has_ended(status, is_thread); i++) {
        nanosleep(&pause, NULL);
        is_there = sprof_proc_status_read(pid, status);
    }
    return is_there;
}

/* How long ago a process began, in milliseconds. */
static int64_t age_ms(const struct sprof_proc_stat *stat)
{
    const int64_t ticks = sysconf(_SC_CLK_TCK);
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000 -
           (int64_t)(stat->start_ticks / (uint64_t)ticks * 1000 +
                     stat->start_ticks % (uint64_t)ticks * 1000 / (uint64_t)ticks);
}

void target_wait_for_program(pid_t pid)
{
    const struct timespec pause = {.tv_nsec = LOOK_MS * 1000000};
    struct sprof_proc_stat stat;
    for (int i = 0; i < YOUNG_MS / LOOK_MS && sprof_proc_stat_read(pid, &stat) &&
                    stat.flags & PF_FORKNOEXEC && age_ms(&stat) < YOUNG_MS;
         i++)
        nanosleep(&pause, NULL);
}

int target_check(pid_t pid, bool is_thread, struct sprof_error *error)
{
    const char *kind = is_thread ? "thread" : "process";
    struct sprof_proc_status status;
    errno = 0;
    const bool is_there = read_settled(pid, is_thread, &status);
    if (!is_there && (errno == EMFILE || errno == ENFILE))
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "%s %d cannot be looked at: %s\nsee `ulimit -n`", kind, pid,
                               strerror(errno));
    if (!is_there)
        return sprof_error_set(error, SPROF_ENOTFOUND, ESRCH,
                               "%s %d does not exist\nrun `ps -e%s` to see which do", kind, pid,
                               is_thread ? "L" : "");
    if (has_ended(&status, is_thread))
        return sprof_error_set(error, SPROF_ENOTFOUND, ESRCH,
                               "%s %d has ended: it is a zombie its parent %d has not waited for",
                               kind, pid, status.parent);
    if (status.kernel_thread)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "%s %d is a thread of the kernel; sprof looks at programs", kind,
                               pid);
    if (!is_thread && status.process != pid)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "%d is a thread of process %d: give that, `-p %d`\n`sprof record -t %d` samples one "
            "thread",
            pid, status.process, status.process, pid);
    return 0;
}

/* The command line by which the user may do it. */
struct cure {
    char text[160];
};

static struct cure cure_for(uid_t user, const char *name, const char *command)
{
    struct cure cure;
    if (!user)
        snprintf(cure.text, sizeof cure.text, "`sudo sprof %s`", command);
    else
        snprintf(cure.text, sizeof cure.text, "`sudo -u %s sprof %s`, or as root", name, command);
    return cure;
}

int target_explain(pid_t pid, bool is_thread, int errnum, struct sprof_error *error)
{
    const char *kind = is_thread ? "thread" : "process";
    const char option = is_thread ? 't' : 'p';
    struct sprof_proc_status status;
    if (!sprof_proc_status_read(pid, &status))
        return sprof_error_set(error, SPROF_ENOTFOUND, ESRCH, "%s %d has ended meanwhile", kind,
                               pid);
    const struct passwd *owner = getpwuid(status.user);
    char number[32];
    snprintf(number, sizeof number, "#%u", status.user);
    const char *name = owner ? owner->pw_name : number;
    if (status.user != geteuid()) {
        char command[32];
        snprintf(command, sizeof command, "record -%c %d", option, (int)pid);
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "cannot sample %s %d: it belongs to user %s\nrun %s", kind, pid,
                               name, cure_for(status.user, owner ? name : "'#UID'", command).text);
    }
    return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                           "cannot sample %s %d: it has changed its privileges, or forbids being "
                           "watched (prctl PR_SET_DUMPABLE)\nrun `sudo sprof record -%c %d`",
                           kind, pid, option, pid);
}

int target_explain_reading(pid_t pid, int errnum, const char *done, const char *command,
                           struct sprof_error *error)
{
    struct sprof_proc_status status;
    const bool is_known = sprof_proc_status_read(pid, &status);
    const struct passwd *owner = is_known ? getpwuid(status.user) : NULL;
    if (errnum == -ESRCH)
        return sprof_error_set(error, SPROF_ENOTFOUND, ESRCH, "process %d has ended meanwhile",
                               (int)pid);
    if (is_known && owner && status.user != geteuid())
        return sprof_error_set(error, SPROF_EPERMISSION, EPERM,
                               "process %d may not be %s by you: it belongs to user %s\nrun %s",
                               (int)pid, done, owner->pw_name,
                               cure_for(status.user, owner->pw_name, command).text);
    if (!geteuid())
        return sprof_error_set(
            error, SPROF_EPERMISSION, EPERM,
            "process %d may not be %s even by root here: it has capabilities "
            "that sprof has not, or is of another user namespace\ncompare CapPrm "
            "in /proc/%d/status and /proc/self/status",
            (int)pid, done, (int)pid);
    return sprof_error_set(error, SPROF_EPERMISSION, EPERM,
                           "process %d may not be %s by you\nrun sprof as its owner or as "
                           "root, and see /proc/sys/kernel/yama/ptrace_scope",
                           (int)pid, done);
}
