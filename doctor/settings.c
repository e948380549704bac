/* Judges the kernel's settings, this process's rights and its limits. */
#include "doctor/doctor.h"

#include "base/kernel.h"

#include <inttypes.h>
#include <string.h>

/* The default rate; and below how much memory rings, tables and rows leave too little. */
enum { DEFAULT_HZ = 997, USUAL_RATE = 100000, USUAL_MLOCK_KB = 516, LEAST_MEMORY_MIB = 512 };
enum { FILES_A_CPU = 8, FILES_FOR_SPROF = 64 };

static bool has(const struct doctor_facts *facts, enum doctor_capability capability)
{
    return facts->capabilities >> capability & 1;
}

/* CAP_SYS_ADMIN includes these two, capabilities(7). */
static bool has_perfmon(const struct doctor_facts *facts)
{
    return has(facts, DOCTOR_PERFMON) || has(facts, DOCTOR_SYS_ADMIN);
}

static bool has_bpf(const struct doctor_facts *facts)
{
    return has(facts, DOCTOR_BPF) || has(facts, DOCTOR_SYS_ADMIN);
}

static const char *sudo(const struct doctor_facts *facts)
{
    return facts->uid ? "sudo " : "";
}

/* The command that changes a setting of the kernel, and another that keeps it so. Settings are the
 * machine's: a container cannot change them. */
static void cure_setting(struct doctor_points *points, const struct doctor_facts *facts,
                         const char *setting, long value)
{
    switch (facts->place) {
    case DOCTOR_IN_KUBERNETES:
        doctor_cure(points,
                    "kubectl debug node/$(kubectl get pod %s -o jsonpath='{.spec.nodeName}') -it "
                    "--image=busybox --profile=sysadmin -- sysctl -w %s=%ld",
                    facts->host_name, setting, value);
        return;
    case DOCTOR_IN_CONTAINER:
        doctor_cure(points, "on the container's host: sudo sysctl %s=%ld", setting, value);
        return;
    case DOCTOR_ON_HOST: break;
    }
    doctor_cure(points,
                "%ssysctl %s=%ld (to keep it: echo %s=%ld | %stee -a /etc/sysctl.d/60-sprof.conf)",
                sudo(facts), setting, value, setting, value, sudo(facts));
}

/* The command that gives this process more rights, as the place has it: docker's options, or the
 * part of a pod's specification. */
static const char *rights_command(const struct doctor_facts *facts)
{
    switch (facts->place) {
    case DOCTOR_IN_KUBERNETES:
        return "securityContext: {capabilities: {add: [PERFMON, BPF, SYS_PTRACE, SYSLOG]}, "
               "seccompProfile: {type: Unconfined}} in the container's part of the pod's "
               "specification";
    case DOCTOR_IN_CONTAINER:
        return "docker run --cap-add PERFMON --cap-add BPF --cap-add SYS_PTRACE --cap-add SYSLOG "
               "--security-opt seccomp=unconfined …";
    case DOCTOR_ON_HOST: break;
    }
    return "run sprof as root: sudo sprof …";
}

static void check_release(struct doctor_points *points, const struct doctor_facts *facts)
{
    const bool is_old = sprof_kernel_release_is_before(facts->release, 5, 10);
    const bool lacks_bpf = sprof_kernel_release_is_before(facts->release, 5, 17);
    doctor_find(points, "kernel", "Linux", is_old || lacks_bpf ? DOCTOR_LESS : DOCTOR_GOOD, "%s%s",
                *facts->release ? facts->release : "unknown",
                is_old      ? ": sprof was never run on one before 5.10"
                : lacks_bpf ? ": before 5.17 it does not take sprof's BPF programs, so that late "
                              "samples are not weighed and deep stacks are cut"
                            : "");
    if (is_old || lacks_bpf)
        doctor_cure(points, "boot a kernel from 5.17 on");
}

static void check_paranoid(struct doctor_points *points, const struct doctor_facts *facts)
{
    static const char setting[] = "kernel.perf_event_paranoid";
    if (facts->paranoid == DOCTOR_UNKNOWN) {
        doctor_find(points, "kernel", setting, DOCTOR_LESS,
                    "not there: the kernel has no perf events, or a sandbox hides them");
        doctor_cure(points, "run sprof outside the sandbox, on a kernel with CONFIG_PERF_EVENTS=y");
        return;
    }
    const bool privileged = has_perfmon(facts);
    const enum doctor_state state = privileged || facts->paranoid <= 0 ? DOCTOR_GOOD : DOCTOR_LESS;
    doctor_find(points, "kernel", setting, state, "%ld: %s", facts->paranoid,
                privileged             ? "CAP_PERFMON permits all"
                : facts->paranoid <= 0 ? "all may be sampled"
                : facts->paranoid == 1 ? "your processes and their kernel part, but not `-a`"
                : facts->paranoid == 2
                    ? "your processes in user mode, without the kernel's part of their stacks"
                    : "perf events are root's alone; an agent in the command takes their place");
    if (state != DOCTOR_GOOD)
        cure_setting(points, facts, setting, facts->paranoid == 1 ? 0 : 1);
}

static void check_kernel_names(struct doctor_points *points, const struct doctor_facts *facts)
{
    const bool shown = facts->shows_kernel_addresses;
    doctor_find(points, "kernel", "kernel.kptr_restrict", shown ? DOCTOR_GOOD : DOCTOR_LESS,
                "%ld: %s", facts->kptr_restrict,
                shown ? "functions of the kernel have names"
                      : "the kernel's addresses are hidden from this process: its functions have "
                        "no names");
    if (shown)
        return;
    if (facts->kptr_restrict <= 0) /* perf_event_paranoid hides them, or CAP_SYSLOG is missing */
        doctor_cure(points, "%s", rights_command(facts));
    else
        cure_setting(points, facts, "kernel.kptr_restrict", 0);
}

static void check_rate(struct doctor_points *points, const struct doctor_facts *facts)
{
    static const char setting[] = "kernel.perf_event_max_sample_rate";
    if (facts->max_sample_rate == DOCTOR_UNKNOWN)
        return;
    const bool enough = facts->max_sample_rate >= DEFAULT_HZ;
    doctor_find(points, "kernel", setting, enough ? DOCTOR_GOOD : DOCTOR_LESS, "%ld%s",
                facts->max_sample_rate,
                enough ? "" : ": the default of 997 samples a second goes down to it");
    if (!enough)
        cure_setting(points, facts, setting, USUAL_RATE);
}

static void check_ptrace(struct doctor_points *points, const struct doctor_facts *facts)
{
    static const char setting[] = "kernel.yama.ptrace_scope";
    static const char *const meanings[] = {
        "your processes may be attached to",
        "only processes that sprof starts may be traced: `trace -p` is refused, and `record -p` "
        "cannot read memory of running ones",
        "root alone may attach to processes with `trace -p`",
        "no process may be attached to with `trace -p` until the next boot",
    };
    if (facts->ptrace_scope < 0 || facts->ptrace_scope > 3) {
        doctor_find(points, "kernel", setting, DOCTOR_GOOD, "not there: %s", meanings[0]);
        return;
    }
    const bool free =
        !facts->ptrace_scope || (facts->ptrace_scope < 3 && has(facts, DOCTOR_SYS_PTRACE));
    doctor_find(points, "kernel", setting, free ? DOCTOR_GOOD : DOCTOR_LESS, "%ld: %s",
                facts->ptrace_scope,
                !free || !facts->ptrace_scope ? meanings[facts->ptrace_scope]
                                              : "CAP_SYS_PTRACE permits attaching");
    if (!free && facts->ptrace_scope < 3)
        cure_setting(points, facts, setting, 0);
    else if (!free)
        doctor_cure(points, "set %s=0 in /etc/sysctl.d, and boot", setting);
}

static void check_bpf(struct doctor_points *points, const struct doctor_facts *facts)
{
    const bool may = has_bpf(facts) && has_perfmon(facts);
    doctor_find(points, "kernel", "kernel.unprivileged_bpf_disabled",
                may ? DOCTOR_GOOD : DOCTOR_LESS, "%ld: %s", facts->unprivileged_bpf,
                may ? "CAP_BPF and CAP_PERFMON permit BPF programs"
                    : "without CAP_BPF and CAP_PERFMON sprof loads no BPF programs, whatever the "
                      "setting is: short threads, deep stacks and late samples cost more or are "
                      "missed");
    if (!may)
        doctor_cure(points, "%s", rights_command(facts));
}

static void check_ring_memory(struct doctor_points *points, const struct doctor_facts *facts)
{
    static const char setting[] = "kernel.perf_event_mlock_kb";
    if (facts->mlock_kb == DOCTOR_UNKNOWN)
        return;
    const bool enough = has(facts, DOCTOR_SYS_ADMIN) || has_perfmon(facts) ||
                        facts->locked_bytes >> 10 >= 8192 || facts->mlock_kb >= USUAL_MLOCK_KB;
    doctor_find(points, "kernel", setting, enough ? DOCTOR_GOOD : DOCTOR_LESS, "%ld for each CPU%s",
                facts->mlock_kb,
                enough ? "" : ": rings are small, and less of each stack is copied");
    if (!enough)
        cure_setting(points, facts, setting, USUAL_MLOCK_KB);
}

static void check_events(struct doctor_points *points, const struct doctor_facts *facts)
{
    doctor_find(points, "kernel", "counters of the processor",
                facts->has_pmu ? DOCTOR_GOOD : DOCTOR_LESS, "%s",
                facts->has_pmu ? "there" : "none: a timer of the kernel, cpu-clock, takes samples");
    if (!facts->has_pmu)
        doctor_cure(points, "let this virtual machine see them: qemu -cpu host,pmu=on, or an "
                            "instance of the cloud that has them");
    doctor_find(points, "kernel", "tracepoints", facts->has_tracepoints ? DOCTOR_GOOD : DOCTOR_LESS,
                "%s",
                facts->has_tracepoints ? "there, for root"
                                       : "none: tracefs is not mounted, or hidden from you");
    if (!facts->has_tracepoints && facts->place == DOCTOR_ON_HOST)
        doctor_cure(points, "%smount -t tracefs tracefs /sys/kernel/tracing", sudo(facts));
}

static void check_rights(struct doctor_points *points, const struct doctor_facts *facts)
{
    static const struct {
        const char *name;
        enum doctor_capability capability;
    } wanted[] = {{"CAP_PERFMON", DOCTOR_PERFMON},
                  {"CAP_BPF", DOCTOR_BPF},
                  {"CAP_SYS_PTRACE", DOCTOR_SYS_PTRACE},
                  {"CAP_SYSLOG", DOCTOR_SYSLOG}};
    struct sprof_str missing = {0};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const bool is_in_admin =
            wanted[i].capability != DOCTOR_SYS_PTRACE && has(facts, DOCTOR_SYS_ADMIN);
        if (!has(facts, wanted[i].capability) && !is_in_admin)
            sprof_str_appendf(&missing, "%s%s", missing.length ? ", " : "", wanted[i].name);
    }
    points->failed |= missing.failed;
    const char *user = facts->uid ? "an ordinary user" : "root";
    doctor_find(points, "process", "capabilities", missing.length ? DOCTOR_LESS : DOCTOR_GOOD,
                "%s, %s%s", user, missing.length ? "without " : "with all that is used",
                missing.length ? missing.text : "");
    if (missing.length)
        doctor_cure(points, "%s", rights_command(facts));
    sprof_str_release(&missing);
}

static void check_limits(struct doctor_points *points, const struct doctor_facts *facts)
{
    const uint64_t needed = FILES_FOR_SPROF + (uint64_t)facts->cpus * FILES_A_CPU;
    const bool enough = facts->open_files >= needed;
    if (facts->open_files == UINT64_MAX)
        doctor_find(points, "process", "open files", DOCTOR_GOOD, "no limit");
    else
        doctor_find(points, "process", "open files", enough ? DOCTOR_GOOD : DOCTOR_LESS,
                    "%" PRIu64 " may be open; a recording of %u CPU%s opens about %" PRIu64
                    ", and %u for each thread where it samples thread by thread",
                    facts->open_files, facts->cpus, sprof_plural(facts->cpus), needed, facts->cpus);
    if (!enough)
        doctor_cure(points, "ulimit -n %s",
                    facts->open_files_most >= needed ? "$(ulimit -Hn)"
                                                     : "4096, as root: the hard limit is too low");
    if (facts->locked_bytes != UINT64_MAX)
        doctor_find(points, "process", "locked memory", DOCTOR_GOOD,
                    "%" PRIu64 " KiB beside what kernel.perf_event_mlock_kb permits",
                    facts->locked_bytes >> 10);
    else
        doctor_find(points, "process", "locked memory", DOCTOR_GOOD, "no limit");
}

static void check_container(struct doctor_points *points, const struct doctor_facts *facts)
{
    static const char *const places[] = {"none: sprof runs on the system itself",
                                         "sprof runs in a container", "sprof runs in Kubernetes"};
    const bool filtered = facts->has_seccomp_filter && facts->place != DOCTOR_ON_HOST;
    doctor_find(points, "process", "container", filtered ? DOCTOR_LESS : DOCTOR_GOOD, "%s%s",
                places[facts->place],
                filtered ? ", under a seccomp filter, which may refuse perf events" : "");
    if (filtered)
        doctor_cure(points, "%s", rights_command(facts));
    if (facts->memory_bytes != UINT64_MAX) {
        const uint64_t mib = facts->memory_bytes >> 20;
        doctor_find(points, "process", "memory of the cgroup",
                    mib >= LEAST_MEMORY_MIB ? DOCTOR_GOOD : DOCTOR_LESS,
                    "%" PRIu64 " MiB, with what it runs besides; rings and tables may take 128",
                    mib);
        if (mib < LEAST_MEMORY_MIB)
            doctor_cure(points,
                        "raise its limit to %d MiB (resources.limits.memory, docker run "
                        "--memory, or memory.max), or run sprof outside",
                        LEAST_MEMORY_MIB);
    }
    if (facts->cpu_limit > 0)
        doctor_find(points, "process", "CPUs of the cgroup", DOCTOR_GOOD,
                    "%.2g of %u: sprof's own time counts, too", facts->cpu_limit, facts->cpus);
}

void doctor_check_facts(struct doctor_points *points, const struct doctor_facts *facts)
{
    check_release(points, facts);
    check_paranoid(points, facts);
    check_kernel_names(points, facts);
    check_rate(points, facts);
    check_ring_memory(points, facts);
    check_ptrace(points, facts);
    check_bpf(points, facts);
    check_events(points, facts);
    check_rights(points, facts);
    check_limits(points, facts);
    check_container(points, facts);
}
