/* Reads what the kernel shows of its settings and of this process's rights and limits. */
#include "doctor/doctor.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 1024 };

static void join(char path[PATH_BYTES], const char *root, const char *name)
{
    if (snprintf(path, PATH_BYTES, "%s%s", root, name) >= PATH_BYTES)
        *path = '\0';
}

static bool exists(const char *root, const char *name)
{
    char path[PATH_BYTES];
    join(path, root, name);
    return !access(path, F_OK);
}

static long number_of(const char *root, const char *name)
{
    char path[PATH_BYTES];
    join(path, root, name);
    return sprof_proc_number(path, DOCTOR_UNKNOWN);
}

static void read_file(struct sprof_str *text, const char *root, const char *name)
{
    char path[PATH_BYTES];
    join(path, root, name);
    sprof_str_clear(text);
    sprof_proc_read(path, 64 << 10, text);
    sprof_str_append(text, "");
}

static void read_settings(struct doctor_facts *facts, const char *root)
{
    const struct {
        const char *name;
        long *value;
    } settings[] = {
        {"/proc/sys/kernel/perf_event_paranoid", &facts->paranoid},
        {"/proc/sys/kernel/kptr_restrict", &facts->kptr_restrict},
        {"/proc/sys/kernel/perf_event_max_sample_rate", &facts->max_sample_rate},
        {"/proc/sys/kernel/perf_event_mlock_kb", &facts->mlock_kb},
        {"/proc/sys/kernel/yama/ptrace_scope", &facts->ptrace_scope},
        {"/proc/sys/kernel/unprivileged_bpf_disabled", &facts->unprivileged_bpf},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        *settings[i].value = number_of(root, settings[i].name);
    char path[PATH_BYTES], line[128];
    join(path, root, "/proc/sys/kernel/osrelease");
    sprof_proc_line(path, facts->release, sizeof facts->release);
    join(path, root, "/proc/sys/kernel/hostname");
    sprof_proc_line(path, facts->host_name, sizeof facts->host_name);
    join(path, root, "/proc/kallsyms"); /* hidden addresses are all 0 */
    sprof_proc_line(path, line, sizeof line);
    facts->shows_kernel_addresses = strspn(line, "0") < strspn(line, "0123456789abcdef");
}

/* Devices of processors' counters: "cpu", "cpu_core" and "cpu_atom" of hybrid ones, "armv8_…". */
static bool find_pmu(const char *root)
{
    char path[PATH_BYTES];
    bool found = false;
    join(path, root, "/sys/bus/event_source/devices");
    DIR *devices = opendir(path);
    for (const struct dirent *entry; devices && !found && (entry = readdir(devices));)
        found = !strncmp(entry->d_name, "cpu", 3) || !strncmp(entry->d_name, "armv", 4);
    if (devices)
        closedir(devices);
    return found;
}

static void read_hardware(struct doctor_facts *facts, const char *root)
{
    char path[PATH_BYTES], line[256];
    struct sprof_id_list cpus = {0};
    facts->has_pmu = find_pmu(root);
    facts->has_tracepoints = exists(root, "/sys/kernel/tracing/events") ||
                             exists(root, "/sys/kernel/debug/tracing/events");
    join(path, root, "/sys/devices/system/cpu/online");
    sprof_proc_line(path, line, sizeof line);
    facts->cpus = sprof_proc_parse_ranges(line, &cpus) ? (unsigned)cpus.count : 0;
    sprof_vec_release(&cpus);
}

/* The text behind "\nNAME", or NULL. */
static const char *behind(const struct sprof_str *text, const char *name)
{
    const char *line = text->text ? strstr(text->text, name) : NULL;
    return line ? line + strlen(name) : NULL;
}

static void read_status(struct doctor_facts *facts, struct sprof_str *text, const char *root)
{
    read_file(text, root, "/proc/self/status");
    const char *user = behind(text, "\nUid:");
    const char *capabilities = behind(text, "\nCapEff:");
    const char *seccomp = behind(text, "\nSeccomp:");
    unsigned effective = 0;
    facts->uid = user && sscanf(user, "%*u %u", &effective) == 1 ? effective : (uid_t)-1;
    facts->capabilities = capabilities ? strtoull(capabilities, NULL, 16) : 0;
    facts->has_seccomp_filter = seccomp && strtol(seccomp, NULL, 10) == 2;
}

/* The soft and the hard limit of a line of /proc/PID/limits. */
static void read_limit(const struct sprof_str *text, const char *name, uint64_t *soft,
                       uint64_t *hard)
{
    const char *line = behind(text, name);
    char words[2][32] = {"", ""};
    if (line && sscanf(line, "%31s %31s", words[0], words[1]) != 2)
        words[0][0] = words[1][0] = '\0';
    *soft = *words[0] >= '0' && *words[0] <= '9' ? strtoull(words[0], NULL, 10) : UINT64_MAX;
    *hard = *words[1] >= '0' && *words[1] <= '9' ? strtoull(words[1], NULL, 10) : UINT64_MAX;
}

/* A number of a cgroup's file; UINT64_MAX where it says "max", or is not there. */
static uint64_t cgroup_number(const char *root, const char *directory, const char *file)
{
    char path[PATH_BYTES], line[64];
    if (snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/%s", root, directory, file) >=
        (int)sizeof path)
        return UINT64_MAX;
    sprof_proc_line(path, line, sizeof line);
    return *line >= '0' && *line <= '9' ? strtoull(line, NULL, 10) : UINT64_MAX;
}

/* CPUs that "QUOTA PERIOD" stands for; 0: no limit. */
static double cgroup_cpus(const char *root, const char *directory)
{
    char path[PATH_BYTES], line[64];
    double quota, period;
    if (snprintf(path, sizeof path, "%s/sys/fs/cgroup%s/cpu.max", root, directory) >=
        (int)sizeof path)
        return 0;
    sprof_proc_line(path, line, sizeof line);
    return sscanf(line, "%lf %lf", &quota, &period) == 2 && period > 0 ? quota / period : 0;
}

static void take_limits(struct doctor_facts *facts, const char *root, const char *directory)
{
    const uint64_t bytes = cgroup_number(root, directory, "memory.max");
    const double cpus = cgroup_cpus(root, directory);
    facts->memory_bytes = bytes < facts->memory_bytes ? bytes : facts->memory_bytes;
    if (cpus > 0 && (facts->cpu_limit <= 0 || cpus < facts->cpu_limit))
        facts->cpu_limit = cpus;
}

/* The narrowest limits of the cgroup and those above it.
 * (Documentation/admin-guide/cgroup-v2.rst) */
static void read_cgroup(struct doctor_facts *facts, struct sprof_str *text, const char *root)
{
    char directory[512] = "";
    read_file(text, root, "/proc/self/cgroup");
    const char *own =
        text->text && !strncmp(text->text, "0::", 3) ? text->text + 3 : behind(text, "\n0::");
    if (own)
        snprintf(directory, sizeof directory, "%.*s", (int)strcspn(own, "\n"), own);
    facts->memory_bytes = cgroup_number(root, "/memory", "memory.limit_in_bytes");
    if (facts->memory_bytes > (uint64_t)1 << 60) /* version 1 has a large number for none */
        facts->memory_bytes = UINT64_MAX;
    take_limits(facts, root, directory);
    for (char *end; (end = strrchr(directory, '/'));) {
        *end = '\0';
        take_limits(facts, root, directory);
    }
}

static enum doctor_place find_place(const char *root)
{
    if (exists(root, "/run/secrets/kubernetes.io") ||
        exists(root, "/var/run/secrets/kubernetes.io"))
        return DOCTOR_IN_KUBERNETES;
    return exists(root, "/.dockerenv") || exists(root, "/run/.containerenv") ||
                   exists(root, "/run/systemd/container")
               ? DOCTOR_IN_CONTAINER
               : DOCTOR_ON_HOST;
}

void doctor_facts_read(struct doctor_facts *facts, const char *root)
{
    struct sprof_str text = {0};
    uint64_t hard;
    *facts = (struct doctor_facts){0};
    report_distribution_read(&facts->distribution, root);
    facts->place = find_place(root);
    read_settings(facts, root);
    read_hardware(facts, root);
    read_status(facts, &text, root);
    read_file(&text, root, "/proc/self/limits");
    read_limit(&text, "\nMax open files", &facts->open_files, &facts->open_files_most);
    read_limit(&text, "\nMax locked memory", &facts->locked_bytes, &hard);
    read_cgroup(facts, &text, root);
    sprof_str_release(&text);
}
