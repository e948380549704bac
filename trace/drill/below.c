/* Reads the calls below roots of drill-downs. */
#include "trace/drill/below.h"
#include "calls/outside.h"
#include "trace/tracing.h"

#include <stdlib.h>
#include <string.h>

enum { THREAD_CALLS = 5 /* fewer are not significant */, USUAL_LEAST = 3 };

/* == What is new == */

static struct trace_below_seen *seen_of(struct trace_below_slab *slab, struct sprof_map *map,
                                        uint64_t key)
{
    const struct trace_below_seen none = {0};
    uint64_t *index = sprof_map_at(map, key);
    if (!index || (!*index && sprof_vec_push(&slab->seen, none)))
        return NULL;
    *index = *index ? *index : slab->seen.count;
    return &slab->seen.items[*index - 1];
}

/* A lower count is of a new thread. */
static uint64_t new_count(uint64_t now, uint64_t *before)
{
    const uint64_t count = now >= *before ? now - *before : now;
    *before = now;
    return count;
}

/* Returns ns; 0 for impossible values, which the program may write. */
static double new_time(const struct trace_session *program, int64_t now, int64_t *before)
{
    const int64_t ticks = counters_limit_time((int64_t)((uint64_t)now - (uint64_t)*before),
                                              calls_most_ticks(&program->calls));
    *before = now;
    return ticks > 0 ? (double)ticks * program->times.ns_per_tick : 0;
}

void trace_below_forget(struct trace_below_slab *slab)
{
    for (size_t i = 0; i < slab->seen.count; i++)
        free(slab->seen.items[i].histogram);
    sprof_vec_release(&slab->seen);
    sprof_map_release(&slab->nodes);
    sprof_map_release(&slab->stats);
}

/* == Sums == */

/* Stamps first: each item has one, also after memory ran out. */
static struct rules_drill_figures *figures_of(struct trace_below *below, uint32_t function,
                                              uint64_t **stamp)
{
    const struct rules_drill_figures none = {.function = function};
    uint64_t *index = sprof_map_at(&below->by_function, function);
    if (!index || (!*index && (sprof_vec_push(&below->figure_stamps, 0) ||
                               sprof_vec_push(&below->figures, none))))
        return NULL;
    *index = *index ? *index : below->figures.count;
    *stamp = &below->figure_stamps.items[*index - 1];
    return &below->figures.items[*index - 1];
}

static struct rules_drill_flow *flow_of(struct trace_below *below, uint32_t caller, uint32_t callee,
                                        uint64_t **stamp)
{
    const struct rules_drill_flow none = {.caller = caller, .callee = callee};
    uint64_t *index = sprof_map_at(&below->by_pair, (uint64_t)caller << 32 | callee);
    if (!index || (!*index &&
                   (sprof_vec_push(&below->flow_stamps, 0) || sprof_vec_push(&below->flows, none))))
        return NULL;
    *index = *index ? *index : below->flows.count;
    *stamp = &below->flow_stamps.items[*index - 1];
    return &below->flows.items[*index - 1];
}

/* Adds calls to the innermost function, and their time once to each function of the path. */
static int add_path(struct trace_below *below, const uint32_t *chain, size_t depth, uint64_t stamp,
                    uint64_t calls, double ns)
{
    uint64_t *seen;
    for (size_t i = 0; i <= depth; i++) {
        struct rules_drill_figures *figures = figures_of(below, chain[i], &seen);
        if (!figures)
            return SPROF_ENOMEM;
        figures->ns += *seen == stamp ? 0 : ns;
        *seen = stamp;
        figures->calls += i ? 0 : calls;
        figures->self_ns += i ? 0 : ns;
        struct rules_drill_flow *flow =
            i < depth ? flow_of(below, chain[i + 1], chain[i], &seen) : NULL;
        if (!flow && i < depth)
            return SPROF_ENOMEM;
        if (!flow)
            continue;
        flow->calls += i ? 0 : calls;
        flow->ns += *seen == stamp ? 0 : ns;
        *seen = stamp;
    }
    return 0;
}

/* == Nodes == */

static size_t read_chain(struct trace_below_reader *reader, const struct trace_session *program,
                         const struct probe_node *nodes, uint32_t index)
{
    size_t count = 0;
    while (index && count < PROBE_PATH_DEPTH) {
        const uint64_t key = nodes[index].key;
        const uint32_t function = (uint32_t)key - 1;
        if (!key || function >= program->probes.count)
            return 0;
        reader->chain[count++] = program->probes.items[function].drill_number - 1;
        index = PROBE_NODE_PARENT(key);
    }
    return count;
}

/* Time outside of the traced modules is its caller's. */
static int read_node(struct trace_below_reader *reader, struct trace_session *program,
                     struct trace_below_slab *slab, const struct probe_node *nodes, uint32_t index)
{
    const volatile struct probe_node *from = &nodes[index];
    struct trace_below_seen *seen;
    if (!index || !from->key || !from->ended)
        return 0;
    if (!(seen = seen_of(slab, &slab->nodes, index)))
        return SPROF_ENOMEM;
    const uint64_t calls = new_count(from->ended, &seen->calls);
    const double ns = new_time(program, from->self, &seen->ticks);
    const bool leaves = calls_outside_has(&program->calls, (uint32_t)from->key - 1);
    const uint32_t own = leaves ? PROBE_NODE_PARENT(from->key) : index;
    const size_t count = calls || ns > 0 ? read_chain(reader, program, nodes, own) : 0;
    int result = 0;
    for (size_t r = 0; r < reader->root_count && count && !result; r++) {
        struct trace_below *below = &reader->below[r];
        size_t outermost = count;
        while (outermost && reader->chain[outermost - 1] != below->root)
            outermost--;
        if (outermost)
            result = add_path(below, reader->chain, outermost - 1, ++reader->stamp,
                              leaves ? 0 : calls, ns);
    }
    return result;
}

static int read_nodes(struct trace_below_reader *reader, struct trace_session *program,
                      struct trace_below_slab *seen, uint32_t slab)
{
    const struct counters_pages pages = calls_pages(&program->calls);
    struct counters_walk walk = counters_walk_nodes(&pages, slab);
    int result = 0;
    while (!result && counters_walk_next(&walk)) {
        const struct probe_node *node = walk.entry;
        result = read_node(reader, program, seen, node - walk.index, walk.index);
    }
    return result;
}

/* == Figures of functions == */

static int read_histogram(struct trace_below *below, const struct trace_session *program,
                          struct trace_below_seen *seen, const struct probe_stat *stats,
                          uint32_t function)
{
    const uint64_t at = probe_stats_bytes(program->capacity) +
                        (function + UINT64_C(1)) * sizeof(struct probe_histogram);
    if (program->memory.no_histograms)
        return 0;
    const struct probe_histogram now =
        *(const struct probe_histogram *)((const uint8_t *)stats + at);
    if (!seen->histogram && !(seen->histogram = calloc(1, sizeof *seen->histogram)))
        return SPROF_ENOMEM;
    for (size_t b = 0; b < PROBE_BUCKETS; b++)
        below->buckets[b] += now.buckets[b] - seen->histogram->buckets[b];
    *seen->histogram = now;
    return 0;
}

static int read_root(struct trace_below *below, const struct trace_session *program,
                     struct trace_below_seen *seen, const struct probe_stat *stats,
                     uint32_t function)
{
    const struct probe_stat *stat = &stats[function];
    const uint64_t calls = new_count(stat->ended, &seen->calls);
    const double total_ns = new_time(program, stat->total, &seen->total);
    below->calls += calls;
    below->total_ns += total_ns;
    below->self_ns += new_time(program, stat->self, &seen->ticks);
    if (calls >= THREAD_CALLS && sprof_vec_push(&below->threads, total_ns / (double)calls))
        return SPROF_ENOMEM;
    return calls ? read_histogram(below, program, seen, stats, function) : 0;
}

/* A root that this thread has not called has no figures, and its drill-down waits. */
static bool was_called(const struct probe_stat *stat)
{
    return stat->calls || stat->counted;
}

/* Abnormal ends are counted by function, not by path. */
static int read_stats(struct trace_below_reader *reader, struct trace_session *program,
                      struct trace_below_slab *slab, const struct probe_stat *stats)
{
    for (size_t r = 0; r < reader->root_count; r++) {
        struct trace_below *below = &reader->below[r];
        for (size_t k = 0; k < program->below->on.count; k++) {
            const uint32_t i = program->below->on.items[k];
            const struct probing_probe *probe = &program->probes.items[i];
            const bool is_root = probe->drill_number == below->root + 1;
            if (is_root ? !was_called(&stats[i])
                        : !sprof_map_get(&below->by_function, probe->drill_number - 1))
                continue;
            struct trace_below_seen *seen = seen_of(slab, &slab->stats, (uint64_t)r << 32 | i);
            uint64_t *stamp;
            struct rules_drill_figures *figures =
                seen ? figures_of(below, probe->drill_number - 1, &stamp) : NULL;
            if (!figures)
                return SPROF_ENOMEM;
            const uint64_t failed = new_count(stats[i].abnormal, &seen->failed);
            figures->failed += failed;
            below->failed += is_root ? failed : 0;
            if (is_root && read_root(below, program, seen, stats, i))
                return SPROF_ENOMEM;
        }
    }
    return 0;
}

int trace_below_read_results(struct trace_below_reader *reader, struct trace_session *program)
{
    for (size_t k = 0; k < program->below->on.count; k++) {
        struct probing_probe *probe = &program->probes.items[program->below->on.items[k]];
        const uint64_t failed = probe->bad_results - probe->bad_results_seen;
        probe->bad_results_seen = probe->bad_results;
        for (size_t r = 0; r < reader->root_count && failed; r++) {
            struct trace_below *below = &reader->below[r];
            const bool is_root = probe->drill_number == below->root + 1;
            uint64_t *stamp;
            if (!is_root && !sprof_map_get(&below->by_function, probe->drill_number - 1))
                continue;
            struct rules_drill_figures *figures =
                figures_of(below, probe->drill_number - 1, &stamp);
            if (!figures)
                return SPROF_ENOMEM;
            figures->failed += failed;
            below->failed += is_root ? failed : 0;
        }
    }
    return 0;
}

int trace_below_read(struct trace_below_reader *reader, struct trace_session *program,
                     uint32_t slab)
{
    struct trace_below_slab **index = &program->below->slabs[slab], *seen = *index;
    if (!seen && !(seen = *index = calloc(1, sizeof *seen)))
        return SPROF_ENOMEM;
    const struct counters_pages pages = calls_pages(&program->calls);
    const int result = read_nodes(reader, program, seen, slab);
    return result ? result : read_stats(reader, program, seen, counters_slab_stats(&pages, slab));
}

void trace_below_program_free(struct trace_below_program *program)
{
    for (size_t i = 0; i < PROBE_SLABS && program; i++) {
        if (program->slabs[i])
            trace_below_forget(program->slabs[i]);
        free(program->slabs[i]);
    }
    if (program)
        sprof_vec_release(&program->on);
    free(program);
}

/* == Windows == */

void trace_below_clear(struct trace_below *below)
{
    below->has_calls |= below->calls || below->flows.count;
    below->figures.count = below->figure_stamps.count = 0;
    below->flows.count = below->flow_stamps.count = 0;
    below->threads.count = 0;
    sprof_map_clear(&below->by_function);
    sprof_map_clear(&below->by_pair);
    below->calls = below->failed = 0;
    below->total_ns = below->self_ns = 0;
    memset(below->buckets, 0, sizeof below->buckets);
}

void trace_below_release(struct trace_below *below)
{
    sprof_vec_release(&below->figures);
    sprof_vec_release(&below->figure_stamps);
    sprof_vec_release(&below->flows);
    sprof_vec_release(&below->flow_stamps);
    sprof_vec_release(&below->threads);
    sprof_vec_release(&below->usual);
    sprof_map_release(&below->by_function);
    sprof_map_release(&below->by_pair);
}

static int compare_times(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts `times`. Returns 0 for fewer than `least`. */
static double median_of(double *times, size_t count, size_t least)
{
    if (count < least)
        return 0;
    qsort(times, count, sizeof *times, compare_times);
    return times[(count - 1) / 2];
}

int trace_below_calls(struct trace_below *below, const struct rules_condition *condition,
                      double ns_per_tick, struct rules_window_calls *calls)
{
    double usual[TRACE_USUAL_WINDOWS];
    const size_t count = below->usual.count;
    if (count)
        memcpy(usual, below->usual.items, count * sizeof *usual);
    *calls = (struct rules_window_calls){
        .calls = below->calls,
        .failed = below->failed,
        .total_ns = below->total_ns,
        .self_ns = below->self_ns,
        .quantile_ns = counters_quantile(below->buckets, condition->quantile) * ns_per_tick,
        .usual_ns = median_of(usual, count, USUAL_LEAST),
        .threads_ns = median_of(below->threads.items, below->threads.count, 2)};
    if (below->threads.count)
        calls->thread_ns = below->threads.items[below->threads.count - 1];
    if (below->calls < THREAD_CALLS)
        return 0;
    const double average_ns = below->total_ns / (double)below->calls;
    if (count < TRACE_USUAL_WINDOWS)
        return sprof_vec_push(&below->usual, average_ns) ? SPROF_ENOMEM : 0;
    memmove(below->usual.items, below->usual.items + 1, (count - 1) * sizeof average_ns);
    below->usual.items[count - 1] = average_ns;
    return 0;
}
