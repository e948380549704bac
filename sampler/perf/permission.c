/* Says why the kernel refuses perf events, and what cures it. */
#include "sampler/perf/permission.h"

#include "sampler/perf/event_config.h"
#include "target/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char paranoid_path[] = "/proc/sys/kernel/perf_event_paranoid";
static const char mlock_path[] = "/proc/sys/kernel/perf_event_mlock_kb";
enum { PARANOID_UNKNOWN = -99, PARANOID_USER_ALLOWED = 2 };

/* Whether this process may open even the most harmless event on itself. */
static int open_harmless(void)
{
    struct perf_event_attr attr;
    perf_config_ring_event(&attr, false);
    const int fd = perf_open(&attr, 0, -1, -1);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

static bool under_seccomp(void)
{
    struct sprof_str text = {0};
    const char *mode = NULL;
    if (!sprof_proc_read("/proc/self/status", 16 << 10, &text) && text.text)
        mode = strstr(text.text, "\nSeccomp:\t");
    const bool is = mode && mode[strlen("\nSeccomp:\t")] != '0';
    sprof_str_release(&text);
    return is;
}

static int explain_seccomp(int errnum, long paranoid, struct sprof_error *error)
{
    return sprof_error_set(
        error, SPROF_EPERMISSION, errnum,
        "perf events are refused (%s) by a seccomp filter, as containers have "
        "(kernel.perf_event_paranoid is %ld, which would allow them)\nrun the container with "
        "`--cap-add PERFMON --security-opt seccomp=unconfined`, or run sprof on the host with "
        "`sprof record -p PID`",
        strerror(errnum), paranoid);
}

/* There is no such system call. A kernel that has it has its setting, too. */
static int explain_hidden(int errnum, struct sprof_error *error)
{
    const long paranoid = sprof_proc_number(paranoid_path, PARANOID_UNKNOWN);
    if (paranoid != PARANOID_UNKNOWN && under_seccomp())
        return explain_seccomp(errnum, paranoid, error);
    return sprof_error_set(
        error, SPROF_EUNSUPPORTED, errnum,
        "this kernel has no perf events (CONFIG_PERF_EVENTS), or a sandbox hides "
        "them\nrun sprof on a kernel built with CONFIG_PERF_EVENTS=y, or "
        "outside the sandbox");
}

/* Nothing at all may be opened: the setting, a filter, or a security module. */
static int explain_all_refused(int errnum, struct sprof_error *error)
{
    const long paranoid = sprof_proc_number(paranoid_path, PARANOID_UNKNOWN);
    if (paranoid > PARANOID_USER_ALLOWED && geteuid())
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "perf events are refused: kernel.perf_event_paranoid is %ld, which "
                               "allows them to root only\nrun `sudo sysctl "
                               "kernel.perf_event_paranoid=1`, or run sprof as root",
                               paranoid);
    if (under_seccomp())
        return explain_seccomp(errnum, paranoid, error);
    return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                           "perf events are refused (%s; kernel.perf_event_paranoid is %ld), by a "
                           "security module or a missing capability\nrun `sudo sysctl "
                           "kernel.perf_event_paranoid=1`, or sprof as root with CAP_PERFMON",
                           strerror(errnum), paranoid);
}

int perf_explain(pid_t target, bool is_thread, int errnum, struct sprof_error *error)
{
    switch (errnum) {
    case EACCES:
    case EPERM: {
        const int refused = open_harmless();
        if (refused == -EACCES || refused == -EPERM || !target)
            return explain_all_refused(errnum, error);
        return target_explain(target, is_thread, errnum, error);
    }
    case ENOSYS: return explain_hidden(errnum, error);
    case ESRCH:
        return sprof_error_set(error, SPROF_ENOTFOUND, errnum, "%s %d has ended meanwhile",
                               is_thread ? "thread" : "process", target);
    case EMFILE:
    case ENFILE:
        return sprof_error_set(
            error, SPROF_ELIMIT, errnum,
            "too many open files: an event for each thread and CPU is needed\n"
            "run `ulimit -n $(ulimit -Hn)` first or raise the hard limit, or run "
            "sprof as root");
    case ENOMEM:
        return sprof_error_set(error, SPROF_ELIMIT, errnum, "the kernel has no memory for events");
    default:
        return sprof_error_set(error, SPROF_EIO, errnum, "cannot open the sampling event: %s",
                               strerror(errnum));
    }
}

int perf_explain_all_cpus(struct sprof_error *error)
{
    const int refused = open_harmless();
    if (refused)
        return perf_explain(0, false, -refused, error);
    return sprof_error_set(error, SPROF_EPERMISSION, EACCES,
                           "kernel.perf_event_paranoid is %ld, which lets root alone sample the "
                           "whole machine\nrun sprof as root (`sudo sprof record -a`), or `sudo "
                           "sysctl kernel.perf_event_paranoid=0`",
                           sprof_proc_number(paranoid_path, PARANOID_UNKNOWN));
}

int perf_explain_rings(size_t ring_bytes, int errnum, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_ELIMIT, errnum,
                           "no room for even the smallest rings, %zu KiB for each CPU (%s); "
                           "kernel.perf_event_mlock_kb is %ld\nraise `ulimit -l`, or run `sudo "
                           "sysctl kernel.perf_event_mlock_kb=%zu`",
                           ring_bytes >> 10, strerror(errnum), sprof_proc_number(mlock_path, 0),
                           (ring_bytes >> 10) * 8);
}

void perf_explain_kernel_excluded(char *text, size_t size)
{
    snprintf(text, size,
             "kernel.perf_event_paranoid is %ld: only user mode is sampled; run `sudo sysctl "
             "kernel.perf_event_paranoid=1` to include the kernel",
             sprof_proc_number(paranoid_path, PARANOID_UNKNOWN));
}
