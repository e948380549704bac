/* CPU time of threads that no sample stands for becomes rows of its own: "[not sampled]". */
#include "record/session.h"

int record_forget_cpu_time(struct record_session *session)
{
    const struct model_process_table *table = recording_processes(session->recording);
    for (size_t i = 0; i < table->threads.count; i++) {
        const struct model_thread *thread = table->threads.items[i];
        const uint64_t cpu_ns =
            thread->end_ns ? 0
                           : sampler_thread_cpu_ns(session->sampler,
                                                   table->processes.items[thread->process - 1]->pid,
                                                   thread->tid);
        if (cpu_ns && sprof_map_put(&session->cpu_before, thread->id, cpu_ns))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* What a thread has used of the time that counts, since it executed its program. */
static uint64_t counted_ns(const struct record_session *session, const struct model_thread *thread)
{
    const struct model_process_table *table = recording_processes(session->recording);
    const uint64_t own_ns = model_process_table_own_cpu_ns(table, thread, true);
    const uint64_t *before_ns = sprof_map_get(&session->cpu_before, thread->id);
    if (thread->end_ns && thread->end_ns < session->start_ns + session->options.delay_ns)
        return 0;
    for (uint32_t id = thread->former; id && !before_ns;) {
        before_ns = sprof_map_get(&session->cpu_before, id);
        id = table->threads.items[id - 1 - table->first_thread]->former;
    }
    if (!before_ns)
        return own_ns;
    return own_ns > *before_ns ? own_ns - *before_ns : 0;
}

int record_note_past_events(struct record_session *session, uint64_t changed_ns)
{
    const struct record_event *clock = record_clock(session);
    const struct record_past_events past = {session->events_from_ns, changed_ns,
                                            clock ? clock->ledger.period_ns : 0};
    session->events_from_ns = changed_ns;
    return sprof_vec_push(&session->past_events, past) ? SPROF_ENOMEM : 0;
}

/* The most that a thread can have left over of the periods of all events that it has had. Of those
 * that still count in a thread that lives nothing is said: their period may yet end. */
static uint64_t most_left_ns(const struct record_session *session, const struct record_event *clock,
                             const struct model_thread *thread)
{
    const uint64_t first_ns = session->start_ns + session->options.delay_ns;
    const uint64_t end_ns = thread->end_ns ? thread->end_ns : UINT64_MAX;
    uint64_t most_ns = thread->end_ns > session->events_from_ns ? clock->ledger.period_ns : 0;
    for (size_t i = 0; i < session->past_events.count; i++) {
        const struct record_past_events *past = &session->past_events.items[i];
        if (past->to_ns > first_ns && past->to_ns > thread->start_ns && past->from_ns < end_ns)
            most_ns += past->period_ns;
    }
    return most_ns;
}

/* The clock of a per-thread event starts anew in every thread, so that one that ended has up to a
 * period left over, which counts where threads are many and short. What is left over beyond that
 * are samples that were lost, of which no ring says whose they were, as far as there were any.
 * Where the kernel is not sampled, what is left over may be the kernel's. */
static uint64_t unsampled_ns(const struct record_session *session, const struct record_event *clock,
                             const struct model_thread *thread, uint64_t *lost_ns)
{
    const struct record_ledger *ledger = &clock->ledger;
    const uint64_t cpu_ns = counted_ns(session, thread);
    if (!thread->sampled_weight)
        return cpu_ns;
    if (ledger->kernel_excluded || cpu_ns <= thread->sampled_weight)
        return 0;
    const uint64_t left_ns = cpu_ns - thread->sampled_weight,
                   most_ns = most_left_ns(session, clock, thread);
    if (left_ns <= most_ns)
        return left_ns;
    const uint64_t own_lost_ns = left_ns - most_ns < *lost_ns ? left_ns - most_ns : *lost_ns;
    *lost_ns -= own_lost_ns;
    return most_ns + own_lost_ns;
}

static int add_row(struct record_session *session, const struct model_thread *thread, uint32_t node,
                   uint64_t weight_ns)
{
    /* One that lives may have begun before what counts. */
    const uint64_t first_ns = session->start_ns + session->options.delay_ns;
    const uint64_t life_ns = thread->end_ns ? thread->end_ns : thread->start_ns;
    const uint64_t when_ns = life_ns > first_ns ? life_ns : first_ns;
    struct record_event *clock = record_clock(session);
    const struct store_sample row = {
        .event_id = clock->row.id,
        .thread_id = thread->id,
        .node_id = node,
        .time_ns = when_ns - session->start_ns,
        .weight = weight_ns,
        .cpu = -1,
        .end_reason = MODEL_END_NO_STACK,
    };
    clock->ledger.unsampled_ns += weight_ns;
    return recording_add_sample(session->recording, &row);
}

/* Where each sample weighs what was used since the last, and the first one a tick, weights are
 * right on the whole, not thread by thread: only what all of them together do not account for has
 * no sample. It is booked on the threads that fall short, and what no thread used, programs without
 * an agent, on the first. */
static int book_shortfall(struct record_session *session, uint32_t node, uint64_t used_ns)
{
    const struct model_process_table *table = recording_processes(session->recording);
    uint64_t sampled_ns = 0, short_ns = 0;
    for (size_t i = 0; i < table->threads.count; i++) {
        const struct model_thread *thread = table->threads.items[i];
        const uint64_t cpu_ns = model_process_table_own_cpu_ns(table, thread, true);
        sampled_ns += thread->sampled_weight;
        if (cpu_ns > thread->sampled_weight)
            short_ns += cpu_ns - thread->sampled_weight;
    }
    uint64_t left_ns = used_ns > sampled_ns ? used_ns - sampled_ns : 0;
    const double share = short_ns > left_ns ? (double)left_ns / (double)short_ns : 1;
    for (size_t i = table->threads.count; i-- > 0 && left_ns;) {
        const struct model_thread *thread = table->threads.items[i];
        const uint64_t cpu_ns = model_process_table_own_cpu_ns(table, thread, true);
        uint64_t weight_ns = 0;
        if (cpu_ns > thread->sampled_weight)
            weight_ns = (uint64_t)(share * (double)(cpu_ns - thread->sampled_weight));
        if (weight_ns > left_ns || i == 0)
            weight_ns = left_ns;
        if (weight_ns && add_row(session, thread, node, weight_ns))
            return SPROF_ENOMEM;
        left_ns -= weight_ns;
    }
    return 0;
}

/* Events of whole CPUs meet every thread that has a CPU, but not for as long as the kernel charges
 * it, where threads wake and sleep thousands of times a second on CPUs that are idle in between:
 * - A thread is charged from its wake-up on (kernel/sched/core.c: wakeup_preempt lets __schedule
 *   skip the update of the clock), while its CPU is still leaving the idle state.
 * - An interrupt that comes late, as in a virtual machine, meets the idle task where the thread
 *   slept before; one that comes while the CPU is idle brings forward the wake-ups whose timers
 *   have slack, which then begin behind it.
 * - What the tick itself costs is charged to the thread, and no other tick falls into it.
 * It is a tenth of what two threads are charged with that hand a byte to and fro, and most of what
 * one that sleeps 50 µs at a time is. And of samples that were lost, because sprof had no CPU while
 * the rings filled, their time is known. */
static uint64_t missed_of_cpus(const struct record_session *session,
                               const struct record_event *clock)
{
    const struct record_ledger *ledger = &clock->ledger;
    if (!clock->row.varying)
        return 0;
    return ledger->kernel_excluded ? record_ledger_lost_ns(ledger)
                                   : record_ledger_missed_ns(ledger, session->run->target_cpu_ns);
}

/* It is unknown of which threads the missing time is: it is booked on all by their CPU time, in
 * rows of a period at least. */
static int book_missed(struct record_session *session, uint32_t node, uint64_t missed_ns)
{
    const uint64_t least_ns = record_clock(session)->ledger.period_ns;
    const struct model_process_table *table = recording_processes(session->recording);
    uint64_t total_ns = 0, passed_ns = 0, booked_ns = 0;
    for (size_t i = 0; i < table->threads.count; i++)
        total_ns += counted_ns(session, table->threads.items[i]);
    for (size_t i = 0; i < table->threads.count && booked_ns < missed_ns && total_ns; i++) {
        const struct model_thread *thread = table->threads.items[i];
        const uint64_t own_ns = counted_ns(session, thread);
        passed_ns += own_ns;
        const uint64_t due_ns =
            (uint64_t)((double)missed_ns * ((double)passed_ns / (double)total_ns)) - booked_ns;
        if (!own_ns || (due_ns < least_ns && passed_ns < total_ns))
            continue;
        if (add_row(session, thread, node, due_ns))
            return SPROF_ENOMEM;
        booked_ns += due_ns;
    }
    return 0;
}

int record_book_unsampled(struct record_session *session, uint64_t unseen_ns)
{
    const struct sampler_facts *facts = sampler_facts(session->sampler);
    const struct model_process_table *table = recording_processes(session->recording);
    const struct record_event *clock = record_clock(session);
    uint32_t node;
    const bool of_cpus = !facts->may_miss_threads;
    const uint64_t missed_ns = of_cpus && clock ? missed_of_cpus(session, clock) : 0;
    if (!clock || (of_cpus && !missed_ns))
        return 0;
    if (recording_pseudo(session->recording, MODEL_PSEUDO_NOT_SAMPLED, &node))
        return SPROF_ENOMEM;
    if (of_cpus)
        return book_missed(session, node, missed_ns);
    if (facts->weights == SAMPLER_WEIGHTS_TICK)
        return book_shortfall(session, node, session->run->target_cpu_ns);
    uint64_t ended = 0, lost_ns = record_ledger_lost_ns(&clock->ledger);
    for (size_t i = 0; i < table->threads.count; i++)
        ended += table->threads.items[i]->end_ns != 0;
    for (size_t i = 0; i < table->threads.count; i++) {
        const struct model_thread *thread = table->threads.items[i];
        const uint64_t weight_ns = unsampled_ns(session, clock, thread, &lost_ns) +
                                   (thread->end_ns ? unseen_ns / ended : 0);
        if (weight_ns && add_row(session, thread, node, weight_ns))
            return SPROF_ENOMEM;
    }
    return 0;
}
