/* Coverage: the agent records each function's first call. Then the probe is removed, so later calls
 * cost nothing. */
#include "calls/coverage.h"
#include "calls/program.h"
#include "inject/inject.h"
#include "probing/probing.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STOP_SHARE = 100, /* threads stand still at most 1/STOP_SHARE of the time */
    REMOVAL_NS = 100000000,
    RETRY_NS = 1000000000,
};

/* == Rows == */

static int put_row(struct calls_program *program, uint32_t number, uint32_t thread)
{
    struct probing_probe *probe = &program->probes.items[number];
    uint32_t node;
    const int result = calls_node_of(program, number, 0, &node);
    uint64_t *known = result ? NULL : sprof_map_at(&program->all->covered.nodes, node);
    if (!result && !known)
        return SPROF_ENOMEM;
    const uint64_t first_ns = probe->first_ns ? probe->first_ns : UINT64_MAX;
    if (known && *known && *known <= first_ns) /* in another process */
        return 0;
    if (known) {
        program->all->covered.count += first_ns != UINT64_MAX && (!*known || *known == UINT64_MAX);
        *known = first_ns;
    }
    const struct store_entry_coverage row = {.run_id = program->run->id,
                                             .node_id = node,
                                             .first_ns = probe->first_ns,
                                             .thread_id = thread};
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    return sprof_vec_push(&recording_batch(program->recording)->entry_coverages, row) ? SPROF_ENOMEM
                                                                                      : 0;
}

int calls_coverage_begin(struct calls_program *program)
{
    for (uint32_t i = 0; i < program->probes.count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        if (!probe->is_chosen || probe->has_coverage_row)
            continue;
        probe->has_coverage_row = true;
        if (put_row(program, i, 0))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* The command can overwrite `ticks`. */
static uint64_t time_of(const struct calls_program *program, uint64_t ticks)
{
    const double ns =
        ticks > program->times.start.ticks
            ? (double)(ticks - program->times.start.ticks) * program->times.ns_per_tick
            : 0;
    const uint64_t begin_ns = program->times.start.ns - program->run->start_monotonic_ns;
    const uint64_t end_ns = program->times.now_ns - program->run->start_monotonic_ns;
    const uint64_t at_ns = ns < 9e18 ? begin_ns + (uint64_t)ns : end_ns;
    return at_ns > end_ns ? end_ns : at_ns ? at_ns : 1;
}

static int note_hit(struct calls_program *program, uint32_t number, const struct probe_hit *hit)
{
    struct probing_probe *probe = &program->probes.items[number];
    const uint32_t tid = atomic_load(&hit->tid);
    const struct model_thread *thread = NULL;
    if (tid > 0 && tid <= INT32_MAX) {
        char text[16];
        const struct counters_pages pages = calls_pages(program);
        const pid_t pid = calls_process_seen(program, atomic_load(&hit->pid));
        const pid_t known = calls_process_thread(program, pid, tid);
        calls_thread_name(pid, known, text);
        if (!*text)
            counters_thread_name(&pages, atomic_load(&hit->pid), tid, text);
        const char *name = sprof_arena_text(&program->arena, text);
        thread = name && pid ? recording_thread(program->recording, pid, known, *name ? name : NULL,
                                                program->times.now_ns)
                             : NULL;
        if (!thread)
            return SPROF_ENOMEM;
    }
    probe->first_ns = time_of(program, atomic_load(&hit->first));
    return put_row(program, number, thread ? thread->id : 0);
}

/* Whether the probe lost its flag in a call during a clear. */
static bool is_blind(const struct calls_program *program, uint32_t number)
{
    const struct probing_probe *probe = &program->probes.items[number];
    return program->mode == TRACE_COVERAGE && !program->paused && probe->is_on &&
           probe->has_coverage_row &&
           !(atomic_load(&program->process.shared->tiers[number]) & PROBE_COVER) &&
           !atomic_load(&program->process.shared->hits[number].first);
}

int calls_coverage_collect(struct calls_program *program)
{
    bool is_missed = false;
    for (uint32_t i = 0; i < program->probes.count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const struct probe_hit *hit = &program->process.shared->hits[i];
        if (probe->has_coverage_row && !probe->first_ns && atomic_load(&hit->first) &&
            note_hit(program, i, hit))
            return SPROF_ENOMEM;
        is_missed |= is_blind(program, i);
    }
    if (is_missed)
        probing_switch(&program->probing);
    return 0;
}

void calls_coverage_count(const struct calls_program *common, size_t *covered, size_t *left)
{
    *left = 0;
    *covered = common->all->covered.count;
    for (size_t i = 0; i < common->all->programs.count; i++) {
        const struct calls_program *program = calls_program_at(common->all, i);
        for (size_t k = 0; k < program->probes.count; k++)
            *left += program->probes.items[k].is_restored;
    }
}

static int take_listed(void *context, int columns, char *const *values, char *const *names)
{
    struct calls_covered *covered = context;
    (void)names;
    if (columns != 2 || !values[0] || !values[1])
        return SPROF_EFORMAT;
    covered->functions = strtoul(values[0], NULL, 10);
    covered->called = strtoul(values[1], NULL, 10);
    return 0;
}

int calls_coverage_listed(struct calls_program *program, struct calls_covered *covered,
                          struct sprof_error *error)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             "SELECT count(*), count(first_ns) FROM coverage WHERE run_id = %" PRIu32,
             program->run->id);
    return store_query(recording_store(program->recording), sql, take_listed, covered, error);
}

static void clear_program(struct calls_program *program)
{
    for (size_t i = 0; i < program->probes.count; i++) {
        program->probes.items[i].first_ns = 0;
        program->probes.items[i].has_coverage_row = false;
        atomic_store(&program->process.shared->hits[i].first, 0);
        atomic_store(&program->process.shared->hits[i].pid, 0);
        atomic_store(&program->process.shared->hits[i].tid, 0);
    }
}

void calls_coverage_clear(struct calls_program *program)
{
    sprof_map_clear(&program->all->covered.nodes);
    program->all->covered.count = 0;
    for (size_t i = 0; i < program->all->programs.count; i++)
        clear_program(calls_program_at(program->all, i));
}

/* == Taking probes back == */

/* Probes that cannot be placed again stay, switched off. */
static bool may_leave(const struct calls_program *program, const struct probing_probe *probe)
{
    return probe->first_ns && probe->is_placed && !probe->is_restored && !probe->rests &&
           (probe->tier == PROBE_FULL || probe->tier == PROBE_COUNT) &&
           probing_can_place_live(&program->probing, probe);
}

static bool is_any_to_leave(const struct calls_program *program)
{
    for (size_t i = 0; i < program->probes.count; i++)
        if (may_leave(program, &program->probes.items[i]))
            return true;
    return false;
}

/* Threads stand still, none inside a jump, which is one instruction. Threads in a thunk or copy
 * continue there. */
static void restore(struct calls_program *program, int memory_fd)
{
    for (size_t i = 0; i < program->probes.count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const off_t site = (off_t)(program->files.items[probe->file].bias + probe->function->site);
        uint8_t there[PLAN_JUMP_BYTES];
        if (may_leave(program, probe) &&
            pread(memory_fd, there, sizeof there, site) == (ssize_t)sizeof there &&
            !memcmp(there, probe->jump, sizeof there) &&
            pwrite(memory_fd, probe->function->original, sizeof there, site) !=
                (ssize_t)sizeof there)
            program->coverage.keeps_probes = true;
    }
}

struct restoring {
    struct calls_program *program;
    int memory_fd;
};

static void restore_stopped(void *context)
{
    const struct restoring *restoring = context;
    restore(restoring->program, restoring->memory_fd);
}

static int remove_from(struct calls_program *program, pid_t pid, bool *is_done,
                       struct sprof_error *why)
{
    struct inject_stop stop = {.notes_sharers = &program->process.shared->sharing.has_processes};
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "mem");
    const int memory_fd = program->way->only_embedded
                              ? fcntl(program->process.code_fd, F_DUPFD_CLOEXEC, 0)
                              : open(path, O_RDWR | O_CLOEXEC);
    struct restoring restoring = {program, memory_fd};
    int result = memory_fd < 0 ? SPROF_ENOTFOUND : 0;
    if (!result && program->way->only_embedded)
        restore(program, memory_fd);
    else if (!result)
        result = inject_stop_while(&stop, pid, restore_stopped, &restoring, why);
    *is_done |= !result;
    if (memory_fd >= 0)
        close(memory_fd);
    inject_stop_note(&stop, &program->process.stopped_ns);
    return result;
}

static void remove_probes(struct calls_program *program)
{
    struct sprof_error why = {0};
    bool is_done = false;
    int result = 0;
    if (program->mode != TRACE_COVERAGE || program->options.mode != TRACE_COVERAGE ||
        program->coverage.keeps_probes ||
        (program->executable.is_replaced && !program->options.children) ||
        program->times.now_ns < program->coverage.next_removal_ns || !is_any_to_leave(program))
        return;
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; i < program->processes.list.count; i++)
        if (!program->processes.list.items[i].is_over && !program->processes.list.items[i].is_out &&
            !calls_has_parents_memory(program->processes.list.items[i].pid))
            result = remove_from(program, program->processes.list.items[i].pid, &is_done, &why);
    for (size_t i = 0; i < program->probes.count && is_done; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        probe->is_restored |= may_leave(program, probe); /* or its file was unloaded */
    }
    const uint64_t end_ns = sprof_clock_monotonic_ns();
    if (result == SPROF_EPERMISSION && !is_done) {
        program->coverage.keeps_probes = true;
        sprof_log_message(program->options.log, SPROF_LOG_NOTE,
                          "probes that have seen a call stay in place, switched off: %s",
                          why.message);
    }
    program->coverage.next_removal_ns =
        end_ns + (is_done ? REMOVAL_NS : RETRY_NS) + (end_ns - begin_ns) * STOP_SHARE;
}

int calls_coverage_serve(struct calls_program *program)
{
    if (calls_coverage_collect(program))
        return SPROF_ENOMEM;
    if (program->mode == TRACE_COVERAGE && calls_coverage_begin(program)) /* for new libraries */
        return SPROF_ENOMEM;
    remove_probes(program);
    return 0;
}
