/* Sampling whatever runs on the machine: which CPUs, what was chosen of it, and how much CPU time
 * that used. */
#include "sampler/perf/machine.h"

#include "sampler/perf/perf_source.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { USAGE_BYTES_MAX = 64 << 10 };

/* == What was chosen == */

static bool is_online(const struct sprof_id_list *online, int cpu)
{
    for (size_t i = 0; i < online->count; i++)
        if (online->items[i] == cpu)
            return true;
    return false;
}

static int choose_cpus(struct perf_source *source, const struct sampler_choice *choice,
                       struct sprof_error *error)
{
    struct sprof_id_list chosen = {0};
    for (size_t i = 0; i < choice->cpu_count; i++) {
        const int cpu = choice->cpus[i];
        if (!is_online(&source->cpus, cpu)) {
            sprof_vec_release(&chosen);
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "CPU %d is not online\nrun `cat "
                                   "/sys/devices/system/cpu/online` to see which are",
                                   cpu);
        }
        if (!is_online(&chosen, cpu) && sprof_vec_push(&chosen, cpu)) {
            sprof_vec_release(&chosen);
            return sprof_error_memory(error);
        }
    }
    if (!chosen.count)
        return 0;
    sprof_vec_release(&source->cpus);
    source->cpus = chosen;
    return 0;
}

static int choose_cgroup(struct perf_machine *machine, const struct sampler_choice *choice,
                         struct sprof_error *error)
{
    struct target_cgroup *cgroup = &machine->cgroup;
    const int result = target_cgroup_find(choice->cgroup, cgroup, error);
    if (result)
        return result;
    machine->choice.cgroup_id = cgroup->id;
    machine->choice.cgroup_level = cgroup->level;
    machine->counts_cgroup = !choice->cpu_count && !choice->by_user && !choice->program;
    return 0;
}

int perf_machine_open(struct perf_source *source, const struct sampler_choice *choice,
                      struct sprof_error *error)
{
    struct perf_machine *machine = &source->machine;
    machine->chooses = choice->cgroup || choice->by_user || choice->program;
    machine->choice.by_user = choice->by_user;
    machine->choice.user = choice->user;
    machine->choice.by_name = choice->program != NULL;
    if (choice->program)
        snprintf((char *)machine->choice.name, sizeof machine->choice.name, "%s", choice->program);
    const int result = choose_cpus(source, choice, error);
    return result || !choice->cgroup ? result : choose_cgroup(machine, choice, error);
}

/* == Choosing here == */

static bool fits(const struct perf_machine *machine, pid_t pid)
{
    const struct sampling_choice *choice = &machine->choice;
    struct sprof_proc_status status;
    char name[SAMPLING_NAME_BYTES] = "";
    if (choice->by_user &&
        (!sprof_proc_status_read(pid, &status) || status.user != (uid_t)choice->user))
        return false;
    if (choice->by_name)
        sprof_proc_comm(pid, pid, name);
    if (choice->by_name && strcmp(name, (const char *)choice->name) != 0)
        return false;
    return !choice->cgroup_id || target_cgroup_has(&machine->cgroup, pid);
}

enum { CHOSEN = 1, FOREIGN }; /* 0: not known yet */

void perf_machine_note(struct perf_source *source, const struct model_record *record)
{
    struct sprof_map *chosen = &source->machine.chosen;
    if (!source->machine.chooses)
        return;
    if (record->type == MODEL_RECORD_COMM && record->pid == record->tid)
        sprof_map_put(chosen, (uint64_t)record->pid, 0);
    if (record->type == MODEL_RECORD_FORK && record->pid != record->fork.parent_pid) {
        const uint64_t *parent = sprof_map_get(chosen, (uint64_t)record->fork.parent_pid);
        sprof_map_put(chosen, (uint64_t)record->pid, parent ? *parent : 0);
    }
}

/* A process is looked at when its first sample comes, and again when it executes a program. */
bool perf_machine_chooses(struct perf_source *source, const struct model_record *record)
{
    struct perf_machine *machine = &source->machine;
    const struct perf_event *event = &source->config.events.items[record->event];
    if (!machine->chooses || (source->programs.filter.programs && !perf_event_is_tracepoint(event)))
        return true;
    if (record->pid <= 0)
        return false;
    uint64_t *known = sprof_map_at(&machine->chosen, (uint64_t)record->pid);
    if (!known)
        return false;
    if (!*known)
        *known = fits(machine, record->pid) ? CHOSEN : FOREIGN;
    return *known == CHOSEN;
}

/* == CPU time == */

/* One CPU's line of /proc/stat (proc(5)): what it was idle, with waits for disks, and what the host
 * took. */
static bool parse_idle(const char *line, int *cpu, uint64_t *idle_ns, uint64_t *stolen_ns)
{
    const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    unsigned long long user, nice, system, idle, disks, interrupts, soft, stolen = 0;
    if (sscanf(line, "cpu%d %llu %llu %llu %llu %llu %llu %llu %llu", cpu, &user, &nice, &system,
               &idle, &disks, &interrupts, &soft, &stolen) < 6)
        return false;
    *idle_ns = (idle + disks) * tick_ns;
    *stolen_ns = stolen * tick_ns;
    return true;
}

/* A CPU that is not known yet was not idle before. Without memory, its idle time is not known. */
static void note_idle(struct perf_machine *machine, int cpu, uint64_t level_ns, bool counts)
{
    struct perf_cpu_idle *idle = NULL;
    for (size_t i = 0; i < machine->idle.count && !idle; i++)
        if (machine->idle.items[i].sum.cpu == cpu)
            idle = &machine->idle.items[i];
    if (!idle) {
        const struct perf_cpu_idle new = {{cpu, 0}, level_ns};
        (void)!sprof_vec_push(&machine->idle, new);
        return;
    }
    if (counts && level_ns > idle->level_ns)
        idle->sum.idle_ns += level_ns - idle->level_ns;
    idle->level_ns = level_ns;
}

/* What the CPUs did not use, since the machine began; `counts`: what is new of it counts. */
static uint64_t read_idle(struct perf_source *source, bool counts)
{
    struct sprof_str text = {0};
    uint64_t sum = 0;
    if (!sprof_proc_read("/proc/stat", 16 << 20, &text) && text.text)
        for (const char *line = text.text; line; line = strchr(line, '\n')) {
            int cpu;
            uint64_t idle_ns, stolen_ns;
            line += *line == '\n';
            if (strncmp(line, "cpu", 3) != 0)
                break;
            if (line[3] == ' ' || !parse_idle(line, &cpu, &idle_ns, &stolen_ns) ||
                !is_online(&source->cpus, cpu))
                continue;
            sum += idle_ns + stolen_ns;
            note_idle(&source->machine, cpu, idle_ns, counts);
        }
    sprof_str_release(&text);
    return sum;
}

static uint64_t cgroup_used_ns(const struct target_cgroup *cgroup)
{
    char path[TARGET_PATH_MAX + sizeof "/cpu.stat"];
    struct sprof_str text = {0};
    unsigned long long used_us = 0;
    snprintf(path, sizeof path, "%s/cpu.stat", cgroup->directory);
    if (!sprof_proc_read(path, USAGE_BYTES_MAX, &text) && text.text)
        sscanf(text.text, "usage_usec %llu", &used_us);
    sprof_str_release(&text);
    return used_us * 1000;
}

/* What grows by the CPU time used; 0 where that cannot be known. */
static uint64_t read_level(struct perf_source *source, bool counts)
{
    const struct perf_machine *machine = &source->machine;
    if (machine->counts_cgroup)
        return cgroup_used_ns(&machine->cgroup);
    if (machine->chooses)
        return 0;
    return sprof_clock_monotonic_ns() * source->cpus.count - read_idle(source, counts);
}

uint64_t perf_machine_cpu_ns(struct perf_source *source)
{
    struct perf_machine *machine = &source->machine;
    const uint64_t level_ns = machine->counts ? read_level(source, true) : 0;
    if (level_ns > machine->level_ns) {
        machine->used_ns += level_ns - machine->level_ns;
        machine->level_ns = level_ns;
    }
    return machine->used_ns;
}

void perf_machine_count(struct perf_source *source, bool counts)
{
    struct perf_machine *machine = &source->machine;
    if (!machine->is_wanted || machine->counts == counts)
        return;
    perf_machine_cpu_ns(source);
    machine->counts = counts;
    machine->level_ns = counts ? read_level(source, false) : 0;
}

int perf_machine_each_idle(struct perf_source *source,
                           int (*each)(void *context, const struct sampler_cpu_idle *idle),
                           void *context)
{
    int result = 0;
    for (size_t i = 0; i < source->machine.idle.count && !result; i++)
        result = each(context, &source->machine.idle.items[i].sum);
    return result;
}
