/* Turns figures into rows of the recording. */
#include "trace/tracing.h"

#include <math.h>

struct putting {
    struct trace_session *session;
    struct trace_result *result;
    double ns_per_tick;
    SPROF_VEC(uint32_t) nodes; /* by probe; 0: not made yet */
};

static uint64_t nanoseconds(const struct putting *putting, uint64_t ticks)
{
    const double ns = (double)ticks * putting->ns_per_tick;
    if (ticks && ns < 1) /* the counter may be finer than a nanosecond */
        return 1;
    return ns < 9e18 ? (uint64_t)llround(ns)
                     : (uint64_t)9e18; /* whatever the command wrote there */
}

static int node_of(struct putting *putting, uint32_t number, uint32_t *node)
{
    struct trace_session *session = putting->session;
    const struct trace_probe *probe = &session->probes.items[number];
    if (!putting->nodes.items[number]) {
        const int result =
            recording_child_at(session->recording, 0, target_command(session->target),
                               session->files.items[probe->file].bias + probe->function->start,
                               session->start_ns, &putting->nodes.items[number]);
        if (result)
            return result;
    }
    *node = putting->nodes.items[number];
    return 0;
}

static int put_call_cost(struct putting *putting, const struct probe_stat *stat, bool timed,
                         uint32_t thread, uint32_t node)
{
    struct trace_session *session = putting->session;
    const struct sprof_bytes buckets = {
        (const uint8_t *)sprof_arena_copy(&session->arena, (const char *)stat->buckets,
                                          sizeof stat->buckets),
        sizeof stat->buckets};
    const struct store_call_cost row = {
        .run_id = session->run->id,
        .event_id = session->event,
        .thread_id = thread,
        .node_id = node,
        .timed = timed,
        .calls = stat->calls,
        .in_flight = timed && stat->calls > stat->ended ? stat->calls - stat->ended : 0,
        .total_ns = nanoseconds(putting, stat->total),
        .self_ns = nanoseconds(putting, stat->self),
        .min_ns = nanoseconds(putting, stat->min),
        .max_ns = nanoseconds(putting, stat->max),
        .child_calls = stat->child_calls,
        .tails = stat->tails,
        .abnormal = stat->abnormal,
        .recursive = stat->recursive,
        .uncertain = stat->uncertain,
        .bucket_ns = (double)(1u << PROBE_BUCKET_FIRST) * M_SQRT2 * putting->ns_per_tick,
        .buckets = timed ? buckets : (struct sprof_bytes){0},
    };
    putting->result->calls += row.calls;
    putting->result->in_flight += row.in_flight;
    putting->result->abnormal += row.abnormal;
    return !buckets.data || sprof_vec_push(&recording_batch(session->recording)->call_costs, row)
               ? SPROF_ENOMEM
               : 0;
}

/* One function of one thread: a row of figures, and one as a sample, of which everything that adds
 * up self times and calls is made. */
static int put_function(struct putting *putting, const struct model_thread *thread, uint32_t number,
                        const struct probe_stat *stat)
{
    struct trace_session *session = putting->session;
    uint32_t node;
    const int result = node_of(putting, number, &node);
    if (result)
        return result == SPROF_ENOTFOUND ? 0 : result;
    const struct store_sample sample = {
        .event_id = session->event,
        .thread_id = thread->id,
        .node_id = node,
        .time_ns = session->end_ns - session->start_ns,
        .weight = nanoseconds(putting, stat->self),
        .count = stat->calls,
        .cpu = -1,
        .end_reason = MODEL_END_ROOT,
        .user_stack = true,
    };
    return put_call_cost(putting, stat, session->probes.items[number].tier == PROBE_FULL,
                         thread->id, node)
               ? SPROF_ENOMEM
               : recording_add_sample(session->recording, &sample);
}

static int put_thread(struct putting *putting, const struct trace_figures *figures)
{
    struct trace_session *session = putting->session;
    const pid_t pid = target_command(session->target);
    const char *name = sprof_arena_text(&session->arena, figures->name);
    const struct model_thread *thread =
        recording_thread(session->recording, pid, figures->tid < 0 ? 0 : figures->tid,
                         name && *name ? name : NULL, session->start_ns);
    int result = thread ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < figures->functions.count && !result; i++)
        if (figures->stats.items[i].calls)
            result = put_function(putting, thread, figures->functions.items[i],
                                  &figures->stats.items[i]);
    return result;
}

int trace_write_rows(struct trace_session *session, struct trace_result *result)
{
    const uint64_t ticks = session->end_ticks - session->start_ticks;
    struct putting putting = {
        .session = session,
        .result = result,
        .ns_per_tick = ticks ? (double)(session->end_ns - session->start_ns) / (double)ticks : 1,
    };
    int status = 0;
    for (size_t i = 0; i < session->probes.count && !status; i++)
        status = sprof_vec_push(&putting.nodes, 0u);
    for (size_t i = 0; i < session->threads.count && !status; i++)
        status = put_thread(&putting, &session->threads.items[i]);
    sprof_vec_release(&putting.nodes);
    return status;
}
