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

static int put_row(struct calls_program *session, uint32_t number, uint32_t thread)
{
    struct probing_probe *probe = &session->probes.items[number];
    uint32_t node;
    const int result = calls_node_of(session, number, 0, &node);
    uint64_t *known = result ? NULL : sprof_map_at(&session->all->covered.nodes, node);
    if (!result && !known)
        return SPROF_ENOMEM;
    const uint64_t first_ns = probe->first_ns ? probe->first_ns : UINT64_MAX;
    if (known && *known && *known <= first_ns) /* in another process */
        return 0;
    if (known) {
        session->all->covered.count += first_ns != UINT64_MAX && (!*known || *known == UINT64_MAX);
        *known = first_ns;
    }
    const struct store_entry_coverage row = {.run_id = session->run->id,
                                             .node_id = node,
                                             .first_ns = probe->first_ns,
                                             .thread_id = thread};
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    return sprof_vec_push(&recording_batch(session->recording)->entry_coverages, row) ? SPROF_ENOMEM
                                                                                      : 0;
}

int calls_coverage_begin(struct calls_program *session)
{
    for (uint32_t i = 0; i < session->probes.count; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        if (!probe->is_chosen || probe->has_coverage_row)
            continue;
        probe->has_coverage_row = true;
        if (put_row(session, i, 0))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* The command can overwrite `ticks`. */
static uint64_t time_of(const struct calls_program *session, uint64_t ticks)
{
    const double ns =
        ticks > session->times.start.ticks
            ? (double)(ticks - session->times.start.ticks) * session->times.ns_per_tick
            : 0;
    const uint64_t begin_ns = session->times.start.ns - session->run->start_monotonic_ns;
    const uint64_t end_ns = session->times.now_ns - session->run->start_monotonic_ns;
    const uint64_t at_ns = ns < 9e18 ? begin_ns + (uint64_t)ns : end_ns;
    return at_ns > end_ns ? end_ns : at_ns ? at_ns : 1;
}

static int note_hit(struct calls_program *session, uint32_t number, const struct probe_hit *hit)
{
    struct probing_probe *probe = &session->probes.items[number];
    const uint32_t tid = atomic_load(&hit->tid);
    const struct model_thread *thread = NULL;
    if (tid > 0 && tid <= INT32_MAX) {
        char text[16];
        const struct counters_pages pages = calls_pages(session);
        const pid_t pid = calls_process_seen(session, atomic_load(&hit->pid));
        const pid_t known = calls_process_thread(session, pid, tid);
        calls_thread_name(pid, known, text);
        if (!*text)
            counters_thread_name(&pages, atomic_load(&hit->pid), tid, text);
        const char *name = sprof_arena_text(&session->arena, text);
        thread = name && pid ? recording_thread(session->recording, pid, known, *name ? name : NULL,
                                                session->times.now_ns)
                             : NULL;
        if (!thread)
            return SPROF_ENOMEM;
    }
    probe->first_ns = time_of(session, atomic_load(&hit->first));
    return put_row(session, number, thread ? thread->id : 0);
}

/* Whether the probe lost its flag in a call during a clear. */
static bool is_blind(const struct calls_program *session, uint32_t number)
{
    const struct probing_probe *probe = &session->probes.items[number];
    return session->mode == TRACE_COVERAGE && !session->paused && probe->is_on &&
           probe->has_coverage_row &&
           !(atomic_load(&session->process.shared->tiers[number]) & PROBE_COVER) &&
           !atomic_load(&session->process.shared->hits[number].first);
}

int calls_coverage_collect(struct calls_program *session)
{
    bool is_missed = false;
    for (uint32_t i = 0; i < session->probes.count; i++) {
        const struct probing_probe *probe = &session->probes.items[i];
        const struct probe_hit *hit = &session->process.shared->hits[i];
        if (probe->has_coverage_row && !probe->first_ns && atomic_load(&hit->first) &&
            note_hit(session, i, hit))
            return SPROF_ENOMEM;
        is_missed |= is_blind(session, i);
    }
    if (is_missed)
        probing_switch(&session->probing);
    return 0;
}

void calls_coverage_count(const struct calls_program *session, size_t *covered, size_t *left)
{
    *left = 0;
    *covered = session->all->covered.count;
    for (size_t i = 0; i < session->all->programs.count; i++) {
        const struct calls_program *program = calls_program_at(session->all, i);
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

int calls_coverage_listed(struct calls_program *session, struct calls_covered *covered,
                          struct sprof_error *error)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             "SELECT count(*), count(first_ns) FROM coverage WHERE run_id = %" PRIu32,
             session->run->id);
    return store_query(recording_store(session->recording), sql, take_listed, covered, error);
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

void calls_coverage_clear(struct calls_program *session)
{
    sprof_map_clear(&session->all->covered.nodes);
    session->all->covered.count = 0;
    for (size_t i = 0; i < session->all->programs.count; i++)
        clear_program(calls_program_at(session->all, i));
}

/* == Taking probes back == */

/* Probes that cannot be placed again stay, switched off. */
static bool may_leave(const struct calls_program *session, const struct probing_probe *probe)
{
    return probe->first_ns && probe->is_placed && !probe->is_restored && !probe->rests &&
           (probe->tier == PROBE_FULL || probe->tier == PROBE_COUNT) &&
           probing_can_place_live(&session->probing, probe);
}

static bool is_any_to_leave(const struct calls_program *session)
{
    for (size_t i = 0; i < session->probes.count; i++)
        if (may_leave(session, &session->probes.items[i]))
            return true;
    return false;
}

/* Threads stand still, none inside a jump, which is one instruction. Threads in a thunk or copy
 * continue there. */
static void restore(struct calls_program *session, int memory_fd)
{
    for (size_t i = 0; i < session->probes.count; i++) {
        const struct probing_probe *probe = &session->probes.items[i];
        const off_t site = (off_t)(session->files.items[probe->file].bias + probe->function->site);
        uint8_t there[PLAN_JUMP_BYTES];
        if (may_leave(session, probe) &&
            pread(memory_fd, there, sizeof there, site) == (ssize_t)sizeof there &&
            !memcmp(there, probe->jump, sizeof there) &&
            pwrite(memory_fd, probe->function->original, sizeof there, site) !=
                (ssize_t)sizeof there)
            session->coverage.keeps_probes = true;
    }
}

struct restoring {
    struct calls_program *session;
    int memory_fd;
};

static void restore_stopped(void *context)
{
    const struct restoring *restoring = context;
    restore(restoring->session, restoring->memory_fd);
}

static int remove_from(struct calls_program *session, pid_t pid, bool *is_done,
                       struct sprof_error *why)
{
    struct inject_stop stop = {.notes_sharers = &session->process.shared->sharing.has_processes};
    char path[64];
    sprof_proc_shared_path(path, sizeof path, pid, "mem");
    const int memory_fd = session->way->only_embedded
                              ? fcntl(session->process.code_fd, F_DUPFD_CLOEXEC, 0)
                              : open(path, O_RDWR | O_CLOEXEC);
    struct restoring restoring = {session, memory_fd};
    int result = memory_fd < 0 ? SPROF_ENOTFOUND : 0;
    if (!result && session->way->only_embedded)
        restore(session, memory_fd);
    else if (!result)
        result = inject_stop_while(&stop, pid, restore_stopped, &restoring, why);
    *is_done |= !result;
    if (memory_fd >= 0)
        close(memory_fd);
    inject_stop_note(&stop, &session->process.stopped_ns);
    return result;
}

static void remove_probes(struct calls_program *session)
{
    struct sprof_error why = {0};
    bool is_done = false;
    int result = 0;
    if (session->mode != TRACE_COVERAGE || session->options.mode != TRACE_COVERAGE ||
        session->coverage.keeps_probes ||
        (session->executable.is_replaced && !session->options.children) ||
        session->times.now_ns < session->coverage.next_removal_ns || !is_any_to_leave(session))
        return;
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; i < session->processes.list.count; i++)
        if (!session->processes.list.items[i].is_over && !session->processes.list.items[i].is_out &&
            !calls_has_parents_memory(session->processes.list.items[i].pid))
            result = remove_from(session, session->processes.list.items[i].pid, &is_done, &why);
    for (size_t i = 0; i < session->probes.count && is_done; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        probe->is_restored |= may_leave(session, probe); /* or its file was unloaded */
    }
    const uint64_t end_ns = sprof_clock_monotonic_ns();
    if (result == SPROF_EPERMISSION && !is_done) {
        session->coverage.keeps_probes = true;
        sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                          "probes that have seen a call stay in place, switched off: %s",
                          why.message);
    }
    session->coverage.next_removal_ns =
        end_ns + (is_done ? REMOVAL_NS : RETRY_NS) + (end_ns - begin_ns) * STOP_SHARE;
}

int calls_coverage_serve(struct calls_program *session)
{
    if (calls_coverage_collect(session))
        return SPROF_ENOMEM;
    if (session->mode == TRACE_COVERAGE && calls_coverage_begin(session)) /* for new libraries */
        return SPROF_ENOMEM;
    remove_probes(session);
    return 0;
}
