/* Books what CPUs were idle while the whole machine is recorded: "[idle]", an event of its own. */
#include "base/proc.h"
#include "record/session.h"

/* Sampling idle CPUs would wake them; the kernel counts what they are idle by itself, so that each
 * look at the CPU time makes one row a CPU. */
struct booking {
    struct record_session *session;
    uint64_t time_ns;
    bool counts;
};

static int begin(struct record_session *session, uint64_t now_ns)
{
    const struct store_event event = {.name = MODEL_EVENT_IDLE, .is_clock = true, .varying = true};
    /* in another pid namespace 0 is what runs outside: see sampler_merge_outside() */
    const pid_t number = sprof_proc_in_first_pid_namespace() ? 0 : -1;
    const struct model_thread *thread =
        recording_thread(session->recording, number, number, MODEL_IDLE, now_ns);
    if (!thread || recording_pseudo(session->recording, MODEL_PSEUDO_IDLE, &session->idle.node) ||
        recording_add_event(session->recording, &event, &session->idle.event))
        return SPROF_ENOMEM;
    session->idle.thread = thread->id;
    return 0;
}

static int book(void *context, const struct sampler_cpu_idle *idle)
{
    const struct booking *booking = context;
    struct record_session *session = booking->session;
    uint64_t *booked_ns = sprof_map_at(&session->idle.booked_ns, (uint64_t)idle->cpu);
    if (!booked_ns)
        return SPROF_ENOMEM;
    const uint64_t weight_ns = idle->idle_ns - *booked_ns;
    *booked_ns = idle->idle_ns;
    if (!booking->counts || !weight_ns)
        return 0;
    if (!session->idle.event && begin(session, session->start_ns))
        return SPROF_ENOMEM;
    const struct store_sample row = {
        .event_id = session->idle.event,
        .thread_id = session->idle.thread,
        .node_id = session->idle.node,
        .time_ns = booking->time_ns,
        .weight = weight_ns,
        .count = 1,
        .cpu = idle->cpu,
        .end_reason = MODEL_END_NO_STACK,
    };
    return recording_add_sample(session->recording, &row);
}

int record_book_idle(struct record_session *session, uint64_t time_ns, bool counts)
{
    struct booking booking = {session, time_ns, counts};
    return sampler_each_idle(session->sampler, book, &booking);
}
