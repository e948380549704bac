/* Writes figures into rows, and updates them. */
#include "calls/program.h"

#include <math.h>

void calls_take_time(struct calls_program *program)
{
    uint64_t ns, ticks;
    counters_read_clocks(&ns, &ticks);
    program->times.now_ns = ns;
    program->times.ns_per_tick =
        program->reader->in_nanoseconds ? 1
        : ticks > program->times.start.ticks
            ? (double)(ns - program->times.start.ns) / (double)(ticks - program->times.start.ticks)
            : 1;
}

uint64_t calls_most_ticks(const struct calls_program *program)
{
    const uint64_t slack = UINT64_C(1) << 34; /* several seconds, because time was read earlier */
    const double passed_ns = program->times.now_ns > program->times.start.ns
                                 ? (double)(program->times.now_ns - program->times.start.ns)
                                 : 0;
    /* the command cannot overwrite uprobes' figures, which may be of many threads */
    if (program->reader->in_nanoseconds)
        return INT64_MAX;
    return passed_ns > 0 ? slack + (uint64_t)(4 * passed_ns / program->times.ns_per_tick) : slack;
}

/* The parts of the shared row were checked. */
static uint64_t most_in_row(const struct calls_program *program, uint32_t thread)
{
    return thread && thread == program->threads.others.row ? INT64_MAX : calls_most_ticks(program);
}

static int64_t own_part(int64_t self, const struct counters_figures *figures)
{
    return (int64_t)((uint64_t)self - (uint64_t)figures->outside);
}

static int put_call_cost(struct calls_program *program, const struct counters_figures *figures,
                         bool timed, uint32_t thread, uint32_t node, struct calls_cell *cell)
{
    const struct probe_stat *stat = &figures->stat;
    const uint64_t most = most_in_row(program, thread);
    const struct sprof_bytes buckets = {
        (const uint8_t *)sprof_arena_copy(recording_batch_arena(program->recording),
                                          (const char *)figures->histogram.buckets,
                                          sizeof figures->histogram.buckets),
        sizeof figures->histogram.buckets};
    const struct probe_cost costs = program->reader->cost
                                        ? program->reader->cost(program, cell->function)
                                        : calls_cost_of(program),
                            *cost = &costs;
    const struct store_call_cost row = {
        .run_id = program->run->id,
        .event_id = program->event,
        .thread_id = thread,
        .node_id = node,
        .timed = timed,
        .calls = stat->calls + stat->counted,
        .counted = stat->counted,
        .in_flight = stat->calls > stat->ended ? stat->calls - stat->ended : 0,
        .total_ns = counters_time(stat->total, program->times.ns_per_tick),
        .self_ns = counters_time(own_part(stat->self, figures), program->times.ns_per_tick),
        .raw_total_ns = counters_time(counters_limit_time(counters_raw_total(stat, cost), most),
                                      program->times.ns_per_tick),
        .raw_self_ns = counters_time(
            counters_limit_time(own_part(counters_raw_self(stat, cost), figures), most),
            program->times.ns_per_tick),
        .min_ns = stat->ended ? counters_single(~stat->min_mask, program->times.ns_per_tick) : 0,
        .max_ns = stat->ended ? counters_single(stat->max, program->times.ns_per_tick) : 0,
        .child_calls = stat->child_calls,
        .tails = stat->tails,
        .abnormal = stat->abnormal,
        .recursive = stat->recursive,
        .uncertain = stat->uncertain,
        .outermost = counters_outermost(stat),
        .bucket_ns = (double)(1u << PROBE_BUCKET_FIRST) * M_SQRT2 * program->times.ns_per_tick,
        .buckets = timed && !program->memory.no_histograms ? buckets : (struct sprof_bytes){0},
    };
    const struct probing_calls now = {
        .calls = row.calls,
        .in_flight = row.in_flight,
        .abnormal = row.abnormal,
        .timed = stat->ended,
        .self_ns = row.self_ns,
        .unlogged = stat->unlogged,
    };
    probing_calls_replace(&program->probes.items[cell->function].sums, &cell->written, &now);
    return !buckets.data || sprof_vec_push(&recording_batch(program->recording)->call_costs, row)
               ? SPROF_ENOMEM
               : 0;
}

/* Totals are made of samples. Each phase has one, at the time of the first call. */
int calls_put_sample(struct calls_program *program, uint64_t calls, int64_t self, uint32_t thread,
                     uint32_t node, struct calls_cell *cell)
{
    if (cell->phase != program->all->phase) {
        cell->phase = program->all->phase;
        cell->before_calls = cell->phase_calls;
        cell->before_self = cell->phase_self;
        cell->sample = ++program->all->last_sample;
        cell->sample_ns = program->times.now_ns - program->run->start_monotonic_ns - 1;
    }
    const uint64_t most = most_in_row(program, thread);
    const int64_t fresh_self = (int64_t)((uint64_t)self - (uint64_t)cell->before_self);
    cell->phase_calls = calls;
    cell->phase_self = self;
    const struct store_sample sample = {
        .id = cell->sample,
        .event_id = program->event,
        .thread_id = thread,
        .node_id = node,
        .time_ns = cell->sample_ns,
        .weight = counters_time(counters_limit_time(fresh_self, most), program->times.ns_per_tick),
        .count = counters_limit(calls - cell->before_calls, most),
        .cpu = -1,
        .end_reason = MODEL_END_ROOT,
        .user_stack = true,
    };
    return recording_add_sample(program->recording, &sample);
}

static int put_beside(struct calls_program *program, const struct counters_figures *figures,
                      uint32_t thread, uint32_t node, const struct calls_cell *cell)
{
    const struct probe_stat *stat = &figures->stat;
    struct store_batch *batch = recording_batch(program->recording);
    const uint32_t run = program->run->id;
    const struct store_call_untimed untimed = {run, thread, node, stat->child_counted};
    const struct store_call_tail_cut cut = {run, thread, node, stat->tail_cuts};
    const struct store_call_outside outside = {
        run, thread, node, counters_time(figures->outside, program->times.ns_per_tick)};
    if (calls_history_describe(program, cell->function))
        return SPROF_ENOMEM;
    if ((stat->child_counted && sprof_vec_push(&batch->call_untimeds, untimed)) ||
        (stat->tail_cuts && sprof_vec_push(&batch->call_tail_cuts, cut)) ||
        (figures->outside && sprof_vec_push(&batch->call_outsides, outside)))
        return SPROF_ENOMEM;
    return 0;
}

int calls_put_row(struct calls_program *program, uint32_t thread, struct calls_cell *cell,
                  const struct counters_figures *figures)
{
    const struct probe_stat *stat = &figures->stat;
    const uint64_t calls = stat->calls + stat->counted;
    uint32_t node;
    const int result = calls_node_of(program, cell->function, 0, &node);
    if (result == SPROF_ENOTFOUND) {
        program->counts.unplaced_calls += calls - cell->written.calls;
        cell->written.calls = calls;
        return 0;
    }
    if (result)
        return result;
    const bool timed = program->probes.items[cell->function].tier == PROBE_FULL;
    const uint64_t rest = calls > cell->path_calls ? calls - cell->path_calls : 0;
    /* the first row may be older than its paths */
    if (!cell->row_node)
        cell->row_node = cell->stack ? cell->stack : node;
    if (put_call_cost(program, figures, timed, thread, cell->row_node, cell) ||
        put_beside(program, figures, thread, cell->row_node, cell))
        return SPROF_ENOMEM;
    return rest || cell->sample || !cell->stack
               ? calls_put_sample(program, rest,
                                  (int64_t)((uint64_t)stat->self - (uint64_t)cell->path_self),
                                  thread, node, cell)
               : 0;
}
