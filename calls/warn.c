/* Reports calls that took too long, left memory allocated, used much stack, or have not returned.
 * The program can overwrite figures and records, so numbers are checked. */
#include "calls/warn.h"
#include "calls/program.h"
#include "inject/inject.h"
#include "names/names.h"
#include "plan/plan.h"
#include "probing/probing.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINES_MOST = 50, /* per run; then only rows are written */
    LOOKS_EACH = 4,  /* checks per limit */
    LOOK_LEAST_MS = 100,
    LOOK_MOST_MS = 1000,
    DEPTH_MOST = 4096,
};

/* The start of struct warning_record in agent/probe/thread.h. */
struct warning_record {
    uint64_t return_address, begin, parent, child_ticks, probe_ticks, slot, stat;
    uint32_t serial, node;
};
_Static_assert(sizeof(struct warning_record) == PROBE_RECORD_BYTES, "as the agent writes it");

/* The start of struct warned_thread there. */
struct warned_thread {
    uint64_t stats, innermost, low, high;
    uint32_t serial;
};

struct stuck {
    uint64_t begin;
    uint32_t function, slab;
};

struct calls_warnings {
    SPROF_VEC(uint64_t) stuck_ns; /* by probe; 0: no limit */
    SPROF_VEC(struct stuck) reported;
    uint64_t next_ns;
};

/* == What is wanted == */

bool calls_warns(const struct trace_options *options)
{
    return options->warn.over_count || options->warn.watchdog_count ||
           options->warn.stack_percent > 0 || options->warn.heap_count;
}

static int check_limits(const struct trace_limit *limits, size_t count, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        struct plan_expressions *expressions = NULL;
        if (limits[i].function)
            result = plan_expressions_make(&expressions, &limits[i].function, 1, error);
        plan_expressions_free(expressions);
    }
    return result;
}

int calls_warnings_check(const struct trace_options *options, struct sprof_error *error)
{
    int result = check_limits(options->warn.over, options->warn.over_count, error);
    if (!result)
        result = check_limits(options->warn.watchdog, options->warn.watchdog_count, error);
    return result ? result : probing_heap_check_options(options, error);
}

/* Returns 0 if there is none. */
static int find_limit(const struct trace_limit *limits, struct plan_expressions *const *each,
                      size_t count, const struct plan_function *function, uint64_t *ns,
                      struct sprof_error *error)
{
    *ns = 0;
    for (size_t i = 0; i < count; i++) {
        const int found = each[i] ? plan_expressions_match(each[i], function, error) : 1;
        if (found < 0)
            return found;
        if (found && (!*ns || limits[i].ns < *ns))
            *ns = limits[i].ns;
    }
    return 0;
}

static int make_all(struct plan_expressions ***each, const struct trace_limit *limits, size_t count,
                    struct sprof_error *error)
{
    int result = 0;
    *each = calloc(count + 1, sizeof **each);
    for (size_t i = 0; i < count && *each && !result; i++)
        if (limits[i].function)
            result = plan_expressions_make(&(*each)[i], &limits[i].function, 1, error);
    return *each ? result : sprof_error_memory(error);
}

static void free_all(struct plan_expressions **each, size_t count)
{
    for (size_t i = 0; i < count && each; i++)
        plan_expressions_free(each[i]);
    free(each);
}

static int set_limits(struct calls_program *program, size_t first,
                      struct plan_expressions *const *slow, struct plan_expressions *const *stuck,
                      struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    int result = 0;
    for (size_t i = first; i < program->probes.count && !result; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const bool may_be_on = probe->is_chosen || probe->is_spare;
        uint64_t slow_ns = 0, stuck_ns = 0;
        if (may_be_on)
            result = find_limit(options->warn.over, slow, options->warn.over_count, probe->function,
                                &slow_ns, error);
        if (may_be_on && !result)
            result = find_limit(options->warn.watchdog, stuck, options->warn.watchdog_count,
                                probe->function, &stuck_ns, error);
        if (slow_ns)
            atomic_store(&program->process.shared->warnings.slow[i],
                         (uint64_t)((double)slow_ns / program->all->clock.tick_ns) + 1);
        if (!result && sprof_vec_push(&program->warnings->stuck_ns, stuck_ns))
            result = sprof_error_memory(error);
    }
    return result;
}

static int report_unfound(const struct calls_program *program, const char *option,
                          const struct trace_limit *limits, struct plan_expressions *const *each,
                          size_t count, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < count && !result; i++)
        if (each[i])
            result = probing_report_unfound(&program->probing, option, limits[i].function, each[i],
                                            false, error);
    return result;
}

int calls_warnings_begin(struct calls_program *program, size_t first, struct sprof_error *error)
{
    const struct trace_options *options = &program->options;
    struct plan_expressions **slow = NULL, **stuck = NULL;
    if (!calls_warns(options))
        return 0;
    calls_find_tick(program);
    if (!program->warnings && !(program->warnings = calloc(1, sizeof *program->warnings)))
        return sprof_error_memory(error);
    if (options->warn.stack_percent > 0)
        atomic_store(&program->process.shared->warnings.stack_part,
                     (uint32_t)(options->warn.stack_percent * 256 / 100) + 1);
    program->warnings->stuck_ns.count = first;
    int result = make_all(&slow, options->warn.over, options->warn.over_count, error);
    if (!result)
        result = make_all(&stuck, options->warn.watchdog, options->warn.watchdog_count, error);
    if (!result)
        result = set_limits(program, first, slow, stuck, error);
    const bool is_all =
        !first && !options->children && !probing_has_others(&program->probing); /* so far */
    if (!result && is_all)
        result = report_unfound(program, "warn-over", options->warn.over, slow,
                                options->warn.over_count, error);
    if (!result && is_all)
        result = report_unfound(program, "watchdog", options->warn.watchdog, stuck,
                                options->warn.watchdog_count, error);
    free_all(slow, options->warn.over_count);
    free_all(stuck, options->warn.watchdog_count);
    return result;
}

/* == Rows and lines == */

/* Three digits or so of milliseconds, as tables have them. */
static int decimals_of(double time_ns)
{
    return time_ns < 1e6 ? 4 : time_ns < 1e7 ? 2 : time_ns < 1e8 ? 1 : 0;
}

static void describe(struct sprof_str *text, const char *function, const struct store_warning *row,
                     const struct probe_warning *noted)
{
    const double value = (double)row->value, bound = (double)row->bound;
    if (!strcmp(row->kind, "stack"))
        sprof_str_appendf(text,
                          "stack: %s was called with %.1f KiB of its stack in use, more than %.1f "
                          "KiB",
                          function, value / 1024, bound / 1024);
    else if (!strcmp(row->kind, "heap"))
        sprof_str_appendf(text,
                          "heap: %s left %llu byte%s allocated, more than %llu: by %u allocation%s "
                          "and %u free%s",
                          function, (unsigned long long)row->value,
                          sprof_plural((uint64_t)row->value), (unsigned long long)row->bound,
                          noted->allocations, sprof_plural(noted->allocations), noted->frees,
                          sprof_plural(noted->frees));
    else if (!strcmp(row->kind, "chunk"))
        sprof_str_appendf(text,
                          "chunk: what the allocator keeps %s the block at 0x%llx is broken: seen "
                          "when that was freed, in or after a call of %s",
                          row->bound ? "behind" : "before", (unsigned long long)row->value,
                          function);
    else
        sprof_str_appendf(text,
                          !strcmp(row->kind, "slow")
                              ? "slow: %s took %.*f ms, more than %.6g ms"
                              : "stuck: %s has not returned after %.*f ms, more than %.6g ms",
                          function, decimals_of(value), value / 1e6, bound / 1e6);
}

static void say(struct calls_program *program, const struct calls_thread *thread,
                const char *function, const struct store_warning *row,
                const struct probe_warning *noted)
{
    const struct sprof_log *log = program->options.log;
    struct sprof_str text = {0};
    if (program->all->warned.lines++ >= LINES_MOST) {
        if (program->all->warned.lines == LINES_MOST + 1)
            sprof_log_message(log, SPROF_LOG_WARNING,
                              "there are more warnings: `sprof stats --warnings` shows all");
        return;
    }
    describe(&text, function, row, noted);
    sprof_log_message(log, SPROF_LOG_WARNING, "%s (thread %d%s%s)", text.text ? text.text : "",
                      (int)thread->tid, *thread->name ? ", " : "", thread->name);
    sprof_str_release(&text);
}

static int put(struct calls_program *program, uint32_t slab, uint32_t function, const char *kind,
               uint64_t ticks, uint64_t value, uint64_t bound, const struct probe_warning *noted)
{
    const struct calls_thread *thread = program->threads.of_slab[slab];
    const struct probing_probe *probe = &program->probes.items[function];
    uint32_t node;
    const int result = calls_node_of(program, function, 0, &node);
    program->counts.unplaced_warnings += result == SPROF_ENOTFOUND;
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    const uint64_t begin_ns = program->times.start.ns - program->run->start_monotonic_ns;
    const uint64_t end_ns = program->times.now_ns - program->run->start_monotonic_ns;
    const double passed_ns =
        ticks > program->times.start.ticks
            ? (double)(ticks - program->times.start.ticks) * program->times.ns_per_tick
            : 0;
    const uint64_t time_ns =
        passed_ns < (double)(end_ns - begin_ns) ? begin_ns + (uint64_t)passed_ns : end_ns;
    const struct store_warning row = {
        .run_id = program->run->id,
        .thread_id = thread->shares ? program->threads.others.row : thread->row,
        .node_id = node,
        .time_ns = time_ns ? time_ns : 1,
        .kind = kind,
        .value = value,
        .bound = bound,
    };
    program->all->warned.rows++;
    say(program, thread, names_screen_show(program->options.names, probe->function->name), &row,
        noted);
    return sprof_vec_push(&recording_batch(program->recording)->warnings, row) ? SPROF_ENOMEM : 0;
}

/* == What the agent has noted == */

static bool is_known(const struct calls_program *program, uint32_t function, uint32_t slab)
{
    return function < program->probes.count && program->probes.items[function].is_chosen &&
           slab < program->slab_count && program->threads.of_slab[slab];
}

static uint64_t in_ns(double ticks, double ns_per_tick)
{
    const double ns = ticks * ns_per_tick;
    return ns < 9e18 ? (uint64_t)ns : (uint64_t)9e18;
}

static int take_noted(struct calls_program *program, const struct probe_warning *noted)
{
    static const char *const kinds[] = {[PROBE_SLOW] = "slow",
                                        [PROBE_STACK] = "stack",
                                        [PROBE_HEAP] = "heap",
                                        [PROBE_CHUNK] = "chunk"};
    if (calls_meet_thread(program, noted->slab))
        return SPROF_ENOMEM;
    if (!is_known(program, noted->function, noted->slab) ||
        noted->kind >= sizeof kinds / sizeof *kinds || !kinds[noted->kind]) {
        program->counts.unplaced_warnings++;
        return 0;
    }
    const double scale = noted->kind == PROBE_SLOW ? program->all->clock.tick_ns : 1;
    return put(program, noted->slab, noted->function, kinds[noted->kind], noted->time,
               in_ns((double)noted->value, scale), in_ns((double)noted->limit, scale), noted);
}

int calls_warnings_read(struct calls_program *program)
{
    if (!program->warnings)
        return 0;
    struct probe_warnings *warnings = &program->process.shared->warnings;
    const uint64_t head = atomic_load(&warnings->head);
    struct probe_warning noted;
    int result = 0;
    /* overwritten entries can repeat */
    for (uint32_t i = 0; !result && i < PROBE_WARNINGS; i++) {
        if (!counters_next_warning(warnings, head, &noted))
            break;
        result = take_noted(program, &noted);
    }
    return result;
}

/* == Calls that have not returned == */

static bool read_record(const struct calls_program *program, pid_t pid, uint64_t at,
                        const struct warned_thread *thread, struct warning_record *record)
{
    (void)program;
    if (target_read_memory(pid, at, record, sizeof *record) != sizeof *record)
        return false;
    if (at - PROBE_JUMPERS_AT < PROBE_JUMPERS_BYTES)
        record->begin = record->return_address;
    return record->serial == thread->serial;
}

static bool was_told(const struct calls_warnings *warnings, const struct stuck *stuck)
{
    for (size_t i = 0; i < warnings->reported.count; i++)
        if (warnings->reported.items[i].begin == stuck->begin &&
            warnings->reported.items[i].function == stuck->function &&
            warnings->reported.items[i].slab == stuck->slab)
            return true;
    return false;
}

/* Reads the record twice, because its call may end meanwhile. */
static int check_record(struct calls_program *program, uint32_t slab,
                        const struct warned_thread *thread, uint64_t at,
                        const struct warning_record *record)
{
    struct calls_warnings *warnings = program->warnings;
    const uint64_t now = probe_ticks();
    const uint64_t stat = record->stat & ((UINT64_C(1) << PROBE_STAT_BITS) - 1);
    const uint64_t function = (stat - thread->stats) / sizeof(struct probe_stat);
    const pid_t pid = program->threads.of_slab[slab]->pid;
    struct warning_record again;
    if (stat < thread->stats || function >= program->probes.count ||
        function >= warnings->stuck_ns.count || record->begin >= now ||
        !is_known(program, (uint32_t)function, slab))
        return 0;
    const uint64_t limit_ns = warnings->stuck_ns.items[function];
    const uint64_t value_ns = in_ns((double)(now - record->begin), program->times.ns_per_tick);
    const struct stuck stuck = {record->begin, (uint32_t)function, slab};
    if (!limit_ns || value_ns <= limit_ns || was_told(warnings, &stuck) ||
        !read_record(program, pid, at, thread, &again) || again.begin != record->begin ||
        again.stat != record->stat)
        return 0;
    return sprof_vec_push(&warnings->reported, stuck)
               ? SPROF_ENOMEM
               : put(program, slab, stuck.function, "stuck", now, value_ns, limit_ns, NULL);
}

static int check_thread(struct calls_program *program, uint32_t slab)
{
    const uint64_t pointer = atomic_load(&program->process.shared->slabs[slab].thread);
    const pid_t pid = program->threads.of_slab[slab]->pid;
    struct warned_thread thread;
    struct warning_record record;
    int result = 0;
    const uint64_t data =
        inject_thread_data(&program->process.hello, pid, pointer,
                           atomic_load(&program->process.shared->slabs[slab].tid));
    if (!data || target_read_memory(pid, data, &thread, sizeof thread) != sizeof thread ||
        !thread.stats)
        return 0;
    uint64_t at = thread.innermost;
    for (int i = 0; i < DEPTH_MOST && at && !result; i++, at = record.parent) {
        if (!read_record(program, pid, at, &thread, &record))
            break;
        result = check_record(program, slab, &thread, at, &record);
    }
    return result;
}

/* Checks soon after each limit. */
static int find_stuck(struct calls_program *program)
{
    const struct trace_options *options = &program->options;
    const uint32_t used = atomic_load(&program->process.shared->slabs_used);
    uint64_t wait_ns = LOOK_MOST_MS * UINT64_C(1000000);
    int result = 0;
    if (!options->warn.watchdog_count || program->times.now_ns < program->warnings->next_ns)
        return 0;
    for (size_t i = 0; i < options->warn.watchdog_count; i++)
        if (options->warn.watchdog[i].ns / LOOKS_EACH < wait_ns)
            wait_ns = options->warn.watchdog[i].ns / LOOKS_EACH;
    if (wait_ns < LOOK_LEAST_MS * UINT64_C(1000000))
        wait_ns = LOOK_LEAST_MS * UINT64_C(1000000);
    program->warnings->next_ns = program->times.now_ns + wait_ns;
    for (uint32_t i = 0; i < used && i < program->slab_count && !result; i++)
        if (program->threads.of_slab[i] && atomic_load(&program->process.shared->slabs[i].tid) ==
                                               program->threads.of_slab[i]->slab_tid)
            result = check_thread(program, i);
    return result;
}

int calls_warnings_collect(struct calls_program *program)
{
    const int result = calls_warnings_read(program);
    return result || !program->warnings ? result : find_stuck(program);
}

void calls_warnings_free(struct calls_program *program)
{
    if (!program->warnings)
        return;
    sprof_vec_release(&program->warnings->stuck_ns);
    sprof_vec_release(&program->warnings->reported);
    free(program->warnings);
    program->warnings = NULL;
}
