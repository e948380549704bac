/* Traces with uprobes: holds the command until probes are placed, and copies the kernel's figures
 * to memory like the agent's. */
#include "trace/uprobe/uprobes.h"
#include "names/names.h"
#include "probing/probing.h"
#include "trace/uprobe/sites.h"
#include "trace/uprobe/uprobes_inside.h"
#include "uprobe/uprobe.h"

#include "agent/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_SHARE = 10, /* reading takes at most 1/READ_SHARE of the time */
    OVER = 1 << 16,  /* flag: the thread has ended, and all was copied */
    BOUND_MOST = 50, /* percent, if no function was chosen */
};

/* == What cannot be done == */

const char *trace_uprobes_excluded(const struct trace_options *options)
{
    return options->mode != TRACE_STATS      ? "mode"
           : options->paths                  ? "paths"
           : options->callers                ? "callers"
           : options->memory                 ? "memory"
           : options->children               ? "children"
           : options->all_points             ? "all-points"
           : options->warn.over_count        ? "warn-over"
           : options->warn.watchdog_count    ? "watchdog"
           : options->warn.stack_percent > 0 ? "stack-check"
           : options->warn.heap_count        ? "heap-check"
           : options->kept.rule_count        ? "keep"
           : options->stack                  ? "stack"
           : options->heap                   ? "heap"
                                             : NULL;
}

int trace_uprobes_check(const struct trace_options *options, struct sprof_error *error)
{
    const char *flag = trace_uprobes_excluded(options);
    if (flag)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--%s needs the agent: with --backend uprobe calls are counted and "
                               "timed by function, as in mode stats",
                               flag);
    if (!sprof_proc_in_first_pid_namespace())
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "uprobes know processes by the numbers that they have outside of "
                               "this container\nrun sprof out there");
    if (options->pid && sprof_proc_sharing_task(options->pid) != options->pid)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "uprobes find a process's memory by its first thread, and that of "
                               "process %d has ended",
                               (int)options->pid);
    return 0;
}

/* == Opening == */

int trace_uprobes_open(struct trace_uprobes **out, struct sprof_error *error)
{
    struct trace_uprobes *uprobes = *out = calloc(1, sizeof *uprobes);
    if (!uprobes)
        return sprof_error_memory(error);
    int result = uprobe_kernel_open(&uprobes->kernel, error);
    if (!result)
        result = uprobe_own_cost_measure(&uprobes->kernel, error);
    if (result) {
        trace_uprobes_free(uprobes);
        *out = NULL;
    }
    return result;
}

void trace_uprobes_free(struct trace_uprobes *uprobes)
{
    if (!uprobes)
        return;
    uprobe_kernel_close(&uprobes->kernel);
    uprobe_figures_release(&uprobes->figures);
    sprof_map_release(&uprobes->slabs);
    sprof_vec_release(&uprobes->tids);
    for (size_t i = 0; i < uprobes->placed.count; i++) {
        close(uprobes->placed.items[i].fd);
        sprof_vec_release(&uprobes->placed.items[i].sites);
    }
    sprof_vec_release(&uprobes->placed);
    sprof_vec_release(&uprobes->loads);
    sprof_vec_release(&uprobes->spent_ns);
    free(uprobes);
}

/* == Holding the command == */

void trace_uprobes_in_child(void)
{
    prctl(PR_SET_PDEATHSIG, SIGCONT);
}

int trace_uprobes_expect(struct trace_session *session, struct sprof_error *error)
{
    return uprobe_kernel_stop_at_exec(&session->uprobes->kernel, session->process.pid, error);
}

static bool wait_for_stop(struct trace_session *session, uint32_t number)
{
    const volatile struct uprobe_control *control = session->uprobes->kernel.control;
    struct sprof_proc_stat stat;
    const struct timespec pause = {.tv_nsec = 500000};
    while (!target_ended(session->trace->target, NULL)) {
        if (control->stopped >= number && sprof_proc_stat_read(session->process.pid, &stat) &&
            stat.state == 'T')
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void ignore(void *context, const struct uprobe_site *site)
{
    (void)context;
    (void)site;
}

struct entry {
    struct trace_session *session;
    uint64_t address;
    struct sprof_error *error;
};

static int stop_at_entry(void *context, const struct model_mmap *mapping)
{
    struct entry *entry = context;
    char path[64];
    if (entry->address < mapping->address || entry->address - mapping->address >= mapping->size)
        return 0;
    const struct uprobe_site site = {.offset =
                                         mapping->file_offset + entry->address - mapping->address,
                                     .cookie = UPROBE_COOKIE(0, 0, UPROBE_EXIT_STOP, 0)};
    sprof_proc_shared_path(path, sizeof path, entry->session->process.pid, "exe");
    const int result =
        uprobe_kernel_attach(&entry->session->uprobes->kernel, path, &site, 1,
                             entry->session->process.pid, ignore, NULL, entry->error);
    return result ? result : 1;
}

static int no_start(struct trace_session *session, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0, "%s ended before it could have probes",
                           *session->options.command);
}

int trace_uprobes_hold(struct trace_session *session, struct sprof_error *error)
{
    struct entry entry = {.session = session, .error = error};
    if (!wait_for_stop(session, 1))
        return no_start(session, error);
    entry.address = target_entry(session->process.pid);
    const int result = target_each_mapping(session->process.pid, stop_at_entry, &entry);
    if (result < 0)
        return result;
    if (!result || !session->uprobes->kernel.links.count)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "where %s begins is not known, or cannot have a probe",
                               *session->options.command);
    kill(session->process.pid, SIGCONT);
    if (!wait_for_stop(session, 2))
        return no_start(session, error);
    uprobe_kernel_detach(&session->uprobes->kernel);
    return 0;
}

/* == Placing == */

/* Makes memory like the agent's, outside the process. */
static int make_memory(struct trace_session *session, struct sprof_error *error)
{
    session->capacity = (uint32_t)session->probes.count;
    session->slab_count = UPROBE_THREADS;
    session->process.shared_bytes = PROBE_SHARED_BYTES +
                                    session->slab_count * probe_slab_bytes(session->capacity) +
                                    probe_ring_offset(session->slab_count);
    session->process.memory_fd = memfd_create(PROBE_MEMORY_NAME, MFD_CLOEXEC);
    void *mapped = MAP_FAILED;
    if (session->process.memory_fd >= 0 &&
        !ftruncate(session->process.memory_fd, (off_t)session->process.shared_bytes))
        mapped = mmap(NULL, session->process.shared_bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, session->process.memory_fd, 0);
    if (mapped == MAP_FAILED)
        return sprof_error_set(error, SPROF_ELIMIT, errno,
                               "cannot make room for figures: %s; see `ulimit -v`",
                               strerror(errno));
    session->process.shared = mapped;
    session->process.shared->slab_count = session->slab_count;
    session->process.shared->function_count = session->capacity;
    session->process.shared->cost = trace_uprobes_cost(session, 0);
    return 0;
}

/* Does not time Go, which moves calls between threads, nor functions that leave calls without a
 * return. */
static uint8_t tier_of(const struct probing_probe *probe)
{
    const struct plan_function *function = probe->function;
    if (function->mechanism == PLAN_LEAVE)
        return probe->tier;
    if (!probe->is_chosen)
        return PROBE_OFF;
    return function->from_go || function->why == PLAN_NEEDS_RETURN_ADDRESS ? PROBE_COUNT
                                                                           : PROBE_FULL;
}

struct placing {
    struct trace_session *session;
    struct uprobe_sites *sites;
    bool failed;
};

static void note_refused(void *context, const struct uprobe_site *site)
{
    struct placing *placing = context;
    struct probing_probe *probe = &placing->session->probes.items[site->function];
    if (UPROBE_COOKIE_ENTRY(site->cookie)) {
        const struct uprobe_refusal refusal = {site->function,
                                               "begins with what the kernel refuses"};
        probe->tier = PROBE_OFF;
        placing->failed |= sprof_vec_push(&placing->sites->refused, refusal) != 0;
    } else if (probe->tier == PROBE_FULL)
        probe->tier = PROBE_COUNT;
}

static void report_refused(struct trace_session *session, const struct probing_file *file,
                           const struct uprobe_sites *sites)
{
    enum { NAMED = 5 };
    struct sprof_str names = {0};
    for (size_t i = 0; i < sites->refused.count && i < NAMED; i++) {
        const struct uprobe_refusal *refusal = &sites->refused.items[i];
        const char *name = session->probes.items[refusal->function].function->name;
        sprof_str_appendf(&names, "%s%.80s (%s)", i ? " · " : "",
                          names_screen_show(session->options.names, name), refusal->why);
    }
    if (names.text)
        sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                          "%s: %zu function%s without a uprobe: %s%s", file->path,
                          sites->refused.count, sites->refused.count == 1 ? "" : "s", names.text,
                          sites->refused.count > NAMED ? " · …" : "");
    sprof_str_release(&names);
}

/* Takes over the list of sites. */
static int keep_placed(struct trace_session *session, const struct image *image,
                       struct uprobe_sites *sites)
{
    struct placed placed = {.fd = fcntl(image_fd(image), F_DUPFD_CLOEXEC, 0)};
    if (placed.fd < 0) {
        session->uprobes->is_fixed = true;
        return 0;
    }
    placed.sites.items = sites->list.items;
    placed.sites.count = sites->list.count;
    placed.sites.capacity = sites->list.capacity;
    if (sprof_vec_push(&session->uprobes->placed, placed)) {
        close(placed.fd);
        return SPROF_ENOMEM;
    }
    sites->list.items = NULL;
    sites->list.count = sites->list.capacity = 0;
    return 0;
}

static int place_file(struct trace_session *session, const struct probing_file *file,
                      struct sprof_error *error)
{
    struct uprobe_sites sites = {0};
    struct placing placing = {.session = session, .sites = &sites};
    struct image_request request;
    struct image *image;
    char path[64];
    if (plan_request_find(&request, session->process.pid, file->identity, file->path))
        return sprof_error_memory(error);
    int result = image_open(&image, &request, error);
    if (result)
        return result;
    snprintf(path, sizeof path, "/proc/self/fd/%d", image_fd(image));
    result = trace_uprobe_sites_find(&sites, session, file, image) ? sprof_error_memory(error) : 0;
    if (!result)
        result = uprobe_kernel_attach(&session->uprobes->kernel, path, sites.list.items,
                                      sites.list.count, session->process.pid, note_refused,
                                      &placing, error);
    if (!result && placing.failed)
        result = sprof_error_memory(error);
    if (!result)
        report_refused(session, file, &sites);
    if (!result && keep_placed(session, image, &sites))
        result = sprof_error_memory(error);
    sprof_vec_release(&sites.list);
    sprof_vec_release(&sites.refused);
    image_free(image);
    return result;
}

static int place_probes(struct trace_session *session, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < session->probes.count; i++)
        session->probes.items[i].tier = tier_of(&session->probes.items[i]);
    for (size_t i = 0; i < session->files.count && !result; i++)
        result = session->files.items[i].count
                     ? place_file(session, &session->files.items[i], error)
                     : 0;
    for (size_t i = 0; i < session->probes.count; i++) {
        struct probing_probe *probe = &session->probes.items[i];
        session->counts.refused += probe->is_chosen && probe->tier == PROBE_OFF;
        probe->is_chosen &= probe->tier != PROBE_OFF;
    }
    return result;
}

/* In a static program, library functions are unknown. */
static void warn_of_all(const struct trace_session *session)
{
    const struct trace_options *options = &session->options;
    uint64_t least_ns, most_ns;
    size_t count = 0;
    char path[64];
    if (options->function_count || options->children_of_count)
        return;
    sprof_proc_shared_path(path, sizeof path, session->process.pid, "exe");
    const bool holds_libraries = agent_check_file(path) == AGENT_FILE_STATIC;
    for (size_t i = 0; i < session->probes.count; i++)
        count += session->probes.items[i].is_chosen;
    trace_uprobes_call_ns(session->uprobes, &least_ns, &most_ns);
    sprof_log_message(
        options->log, SPROF_LOG_WARNING,
        "all %zu functions of %s get probes%s: a million calls take %.0f to %.0f s "
        "more; choose with --function%s",
        count, options->module_count ? "the chosen modules" : "the program",
        holds_libraries ? ", those of libraries that are linked into it, too" : "",
        (double)least_ns / 1e3, (double)most_ns / 1e3,
        options->max_overhead > 0
            ? "; those that are called most lose theirs where probes take too much of "
              "the CPU time (--max-overhead none: they keep them)"
            : "");
}

int trace_uprobes_place(struct trace_session *session, struct sprof_error *error)
{
    struct trace_options *options = &session->options;
    if (!options->function_count && !options->children_of_count && !options->max_overhead)
        options->max_overhead = BOUND_MOST;
    warn_of_all(session);
    int result = make_memory(session, error);
    if (!result)
        result = place_probes(session, error);
    if (!result)
        result = probing_ranges_begin(&session->probing, error);
    if (result)
        return result;
    session->times.start.ns = session->times.start.ticks = sprof_clock_monotonic_ns();
    probing_switch(&session->probing);
    if (!session->options.pid)
        kill(session->process.pid, SIGCONT);
    return 0;
}

void trace_uprobes_switch(struct trace_session *session)
{
    struct uprobe_control *control = session->uprobes->kernel.control;
    for (size_t i = 0; i < session->probes.count; i++) {
        const uint8_t tier = atomic_load(&session->process.shared->tiers[i]);
        const bool counts = session->probes.items[i].is_chosen && !(tier & PROBE_QUIET);
        __atomic_store_n(&control->tiers[i],
                         (uint8_t)(!counts || tier == PROBE_OFF ? UPROBE_OFF
                                   : tier == PROBE_FULL         ? UPROBE_TIME
                                                                : UPROBE_COUNT),
                         __ATOMIC_SEQ_CST);
    }
}

void trace_uprobes_take_out(struct trace_session *session)
{
    uprobe_kernel_detach(&session->uprobes->kernel);
    session->is_out = true;
}

struct probe_cost trace_uprobes_cost(const struct trace_session *session, uint32_t function)
{
    const struct uprobe_control *control = session->uprobes->kernel.control;
    const struct plan_function *of = session->probes.items[function].function;
    const uint32_t entry = trace_uprobe_entry_of(of->original, of->site ? of->displaced : 0);
    const uint32_t inside = control->inside[entry];
    return (struct probe_cost){.inside = inside,
                               .whole = inside + control->outside[UPROBE_RETURNS],
                               .count = control->count[entry]};
}

void trace_uprobes_call_ns(const struct trace_uprobes *uprobes, uint64_t *least, uint64_t *most)
{
    const struct uprobe_control *control = uprobes->kernel.control;
    *least = control->inside[UPROBE_ENTRY_PUSH] + control->outside[UPROBE_RETURNS];
    *most = control->inside[UPROBE_ENTRY_STEP] + control->outside[UPROBE_RETURNS];
}

uint64_t trace_uprobes_lost(const struct trace_session *session)
{
    return __atomic_load_n(&session->uprobes->kernel.control->lost, __ATOMIC_SEQ_CST) +
           session->uprobes->left_over;
}

/* == Figures == */

static uint64_t *slab_of(struct trace_session *session, uint32_t tid)
{
    struct trace_uprobes *uprobes = session->uprobes;
    struct probe_shared *shared = session->process.shared;
    uint64_t *known = sprof_map_get(&uprobes->slabs, tid);
    if (known && !(*known & OVER))
        return known;
    uint32_t slab = 0;
    while (slab < session->slab_count && atomic_load(&shared->slabs[slab].state) != PROBE_SLAB_FREE)
        slab++;
    if (slab == session->slab_count || sprof_vec_reserve(&uprobes->tids, uprobes->tids.count + 1) ||
        sprof_map_put(&uprobes->slabs, tid, slab))
        return NULL;
    uprobes->tids.items[uprobes->tids.count++] = tid;
    atomic_store(&shared->slabs[slab].tid, tid);
    atomic_store(&shared->slabs[slab].state, PROBE_SLAB_TAKEN);
    if (slab >= atomic_load(&shared->slabs_used))
        atomic_store(&shared->slabs_used, slab + 1);
    return sprof_map_get(&uprobes->slabs, tid);
}

static void copy(struct trace_session *session, uint64_t slab, uint32_t function,
                 const struct uprobe_stat *from)
{
    uint8_t *stats = (uint8_t *)session->process.shared + PROBE_SHARED_BYTES +
                     slab * probe_slab_bytes(session->capacity);
    struct probe_stat *stat = (struct probe_stat *)stats + function;
    *stat = (struct probe_stat){.calls = from->calls,
                                .ended = from->ends[UPROBE_RETURNS] + from->ends[UPROBE_TAILS] +
                                         from->ends[UPROBE_IS_LEFT],
                                .self = from->self,
                                .total = from->total,
                                .probe_ticks = from->probe_ns,
                                .child_calls = from->child_calls,
                                .counted = from->counted,
                                .child_counted = from->child_counted,
                                .recursive = from->recursive,
                                .tails = from->ends[UPROBE_TAILS],
                                .abnormal = from->ends[UPROBE_IS_LEFT],
                                .uncertain = from->uncertain};
    if (from->period == session->uprobes->kernel.control->period && from->most_below) {
        stat->max = from->max;
        stat->min_mask = ~(UPROBE_LONG - from->most_below);
    }
    memcpy((struct probe_histogram *)(stats + probe_stats_bytes(session->capacity)) + function + 1,
           from->buckets, sizeof from->buckets);
}

static bool has_thread(const struct trace_session *session, uint32_t tid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%u", (int)session->process.pid, tid);
    return access(path, F_OK) == 0;
}

/* Threads that ended before the figures are read make no more. */
static int note_ended(struct trace_session *session, struct sprof_map *ended)
{
    struct trace_uprobes *uprobes = session->uprobes;
    for (size_t i = 0; i < uprobes->tids.count; i++) {
        const uint32_t tid = uprobes->tids.items[i];
        if (!has_thread(session, tid) && sprof_map_put(ended, tid, 1))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int take_figures(struct trace_session *session, const struct sprof_map *ended)
{
    struct trace_uprobes *uprobes = session->uprobes;
    struct uprobe_figures *figures = &uprobes->figures;
    if (uprobe_kernel_read(&uprobes->kernel, figures))
        return SPROF_ENOMEM;
    uprobes->left_over = 0;
    for (size_t i = 0; i < figures->keys.count; i++) {
        const struct uprobe_key *key = &figures->keys.items[i];
        uint64_t *slab = key->function < session->probes.count ? slab_of(session, key->tid) : NULL;
        if (slab)
            copy(session, *slab, key->function, &figures->stats.items[i]);
        else
            uprobes->left_over += figures->stats.items[i].calls + figures->stats.items[i].counted;
        if (slab && sprof_map_get(ended, key->tid))
            uprobe_kernel_forget(&uprobes->kernel, key);
    }
    size_t kept = 0;
    for (size_t i = 0; i < uprobes->tids.count; i++) {
        const uint32_t tid = uprobes->tids.items[i];
        if (!sprof_map_get(ended, tid)) {
            uprobes->tids.items[kept++] = tid;
            continue;
        }
        uprobe_kernel_forget_thread(&uprobes->kernel, tid);
        *sprof_map_get(&uprobes->slabs, tid) |= OVER;
    }
    uprobes->tids.count = kept;
    return 0;
}

int trace_uprobes_read(struct trace_session *session, bool at_once)
{
    struct sprof_map ended = {0};
    const uint64_t begin_ns = sprof_clock_monotonic_ns();
    if (!at_once && begin_ns < session->uprobes->next_read_ns)
        return 0;
    int result = note_ended(session, &ended);
    if (!result)
        result = take_figures(session, &ended);
    sprof_map_release(&ended);
    const uint64_t end_ns = sprof_clock_monotonic_ns();
    session->uprobes->next_read_ns = end_ns + (end_ns - begin_ns) * READ_SHARE;
    return result;
}

int trace_uprobes_clear(struct trace_session *session)
{
    struct uprobe_control *control = session->uprobes->kernel.control;
    __atomic_store_n(&control->cleared_ns, session->times.now_ns, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&control->period, 1, __ATOMIC_SEQ_CST);
    return trace_uprobes_read(session, true);
}

bool trace_uprobes_has_ended(const struct trace_session *session, uint32_t tid)
{
    const uint64_t *slab = sprof_map_get(&session->uprobes->slabs, tid);
    return !slab || *slab & OVER;
}
