/* The account of a session: the CPU time of the targets and of sprof itself, second by second, and
 * what is written of it. */
#include "record/session.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* sprof's own, and its agents' where they have threads in the targets. */
static uint64_t own_cpu_ns(const struct record_session *session)
{
    return sprof_clock_own_cpu_ns() + sampler_counters(session->sampler).helpers_ns;
}

/* Books what the targets have used by now on the ledger of an event: nothing on those of waits. */
static int expect(struct record_event *event, uint64_t time_ns, uint64_t cpu_ns, bool counts)
{
    struct record_ledger *ledger = &event->ledger;
    if (event->is_wait)
        cpu_ns = ledger->last_cpu_ns;
    if (counts)
        return record_ledger_expect(ledger, time_ns, cpu_ns);
    record_ledger_skip(ledger, time_ns, cpu_ns);
    return 0;
}

static void set_duration(struct record_session *session, uint64_t time_ns)
{
    const uint64_t delay_ns = session->options.delay_ns;
    const uint64_t cut_ns = session->cut_ns - session->start_ns;
    const uint64_t end_ns = time_ns < cut_ns ? time_ns : cut_ns;
    session->run->duration_ns = end_ns > delay_ns ? end_ns - delay_ns : 0;
}

/* `time_ns`: in the run. */
static int account(struct record_session *session, uint64_t time_ns, uint64_t cpu_ns)
{
    const struct record_ledger *first = &session->events.items[0].ledger;
    const uint64_t delay_ns = session->options.delay_ns;
    const bool counts = first->last_time_ns >= delay_ns;
    int result = counts ? 0 : record_forget_cpu_time(session);
    for (size_t i = 0; i < session->events.count && !result; i++)
        result = expect(&session->events.items[i], time_ns, cpu_ns, counts);
    if (!result)
        result = record_book_idle(session, time_ns, counts);
    set_duration(session, time_ns);
    session->run->target_cpu_ns = cpu_ns - first->skipped_cpu_ns;
    session->run->own_cpu_ns = own_cpu_ns(session) - session->own_cpu_start_ns;
    return result;
}

int record_account(struct record_session *session, uint64_t now_ns)
{
    return account(session, now_ns - session->start_ns, sampler_target_cpu_ns(session->sampler));
}

static int clear_ledgers(struct record_session *session, uint64_t run_ns, uint64_t cpu_ns)
{
    int result = 0;
    for (size_t i = 0; i < session->events.count && !result; i++) {
        struct record_ledger *ledger = &session->events.items[i].ledger;
        record_ledger_skip(ledger, run_ns, cpu_ns);
        ledger->skipped_cpu_ns = ledger->last_cpu_ns;
        result = record_ledger_clear(ledger, run_ns);
    }
    return result;
}

int record_clear(struct record_session *session, uint64_t time_ns)
{
    const uint64_t run_ns = time_ns - session->start_ns;
    session->options.delay_ns = run_ns;
    session->cleared_samples = sampler_counters(session->sampler).samples;
    session->own_cpu_start_ns = own_cpu_ns(session);
    session->governor.decided = (struct record_use){0};
    session->governor.total_ns = 0;
    session->stack_bytes = 0;
    return clear_ledgers(session, run_ns, sampler_target_cpu_ns(session->sampler)) ||
                   recording_clear(session->recording, time_ns) || record_forget_cpu_time(session)
               ? SPROF_ENOMEM
               : 0;
}

struct record_use record_used(struct record_session *session)
{
    return (struct record_use){.own_ns = session->run->own_cpu_ns,
                               .target_ns = session->run->target_cpu_ns,
                               .samples = sampler_counters(session->sampler).samples -
                                          session->cleared_samples,
                               .stack_bytes = session->stack_bytes};
}

double record_overhead(struct record_session *session)
{
    const struct record_use use = record_used(session);
    return record_governor_share(&session->governor, &use);
}

int record_write_ledgers(struct record_session *session)
{
    int result = 0;
    for (size_t i = 0; i < session->events.count && !result; i++)
        if (session->events.items[i].row.id)
            result = record_ledger_rows(&session->events.items[i].ledger,
                                        recording_batch(session->recording));
    return result;
}

static int put_counter(void *context, const char *name, uint64_t value)
{
    struct record_session *session = context;
    const struct store_counter row = {session->run->id, name, value};
    return sprof_vec_push(&recording_batch(session->recording)->counters, row);
}

struct record_machine_time record_machine_time(void)
{
    enum { IDLE = 3, IOWAIT = 4, STEAL = 7 }; /* what guests use is part of the first two */
    const uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
    struct record_machine_time time = {0};
    char line[512], *end;
    sprof_proc_line("/proc/stat", line, sizeof line);
    char *at = line + strcspn(line, " ");
    for (int i = 0; i <= STEAL; i++, at = end) {
        const uint64_t time_ns = strtoull(at, &end, 10) * tick_ns;
        time.all_ns += time_ns;
        time.busy_ns += i == IDLE || i == IOWAIT ? 0 : time_ns;
    }
    return time;
}

/* Counters by which a target that waits differs from one that is ready while others have the CPUs.
 */
static int put_crowd(struct record_session *session)
{
    const struct record_machine_time *start = &session->machine_start, *end = &session->machine_end;
    int result = put_counter(session, STORE_TARGET_READY, session->ready_ns);
    if (result || end->all_ns <= start->all_ns || end->busy_ns < start->busy_ns)
        return result;
    result = put_counter(session, STORE_MACHINE_BUSY, end->busy_ns - start->busy_ns);
    return result ? result : put_counter(session, STORE_MACHINE_CPU, end->all_ns - start->all_ns);
}

/* Says what the governor chose, once, and in the run's row. */
static int conclude_governor(struct record_session *session)
{
    const struct record_governor *governor = &session->governor;
    if (!(governor->most > 0))
        return 0;
    char rates[64], slices[96] = "";
    if (governor->lowest_hz == governor->highest_hz)
        snprintf(rates, sizeof rates, "%llu Hz", (unsigned long long)governor->highest_hz);
    else
        snprintf(rates, sizeof rates, "%llu to %llu Hz", (unsigned long long)governor->lowest_hz,
                 (unsigned long long)governor->highest_hz);
    if (governor->least_slice < governor->asked.slice)
        snprintf(slices, sizeof slices, " and %zu to %zu bytes of stack", governor->least_slice,
                 governor->asked.slice);
    else if (governor->asked.slice)
        snprintf(slices, sizeof slices, " and %zu bytes of stack", governor->asked.slice);
    struct sprof_str source = {0};
    sprof_str_appendf(&source, "%s, %s%s for at most %.4g %% overhead", session->run->source, rates,
                      slices, 100 * governor->most);
    sprof_log_message(session->options.log, SPROF_LOG_NOTE,
                      "the rate was %s%s: estimated overhead %.2f %%, to be at most %.4g %%", rates,
                      slices, 100 * record_overhead(session), 100 * governor->most);
    session->run->source = source.failed ? NULL : sprof_arena_text(&session->arena, source.text);
    sprof_str_release(&source);
    return session->run->source ? 0 : SPROF_ENOMEM;
}

/* CPU time that samples stand for: where no sum of it is known, as of a user's programs. */
static uint64_t sampled_cpu_ns(struct record_session *session)
{
    const struct record_event *clock = record_clock(session);
    uint64_t sum_ns = 0;
    for (size_t i = 0; clock && i < clock->ledger.sums.count; i++)
        sum_ns += clock->ledger.sums.items[i].weight_ns;
    return sum_ns;
}

/* Until when samples were taken (CLOCK_MONOTONIC), whatever rings and names took after it: the cut,
 * the end of the targets, or of what they left behind and was sampled still, or the stop. */
static uint64_t end_of(const struct record_session *session)
{
    uint64_t end_ns = session->off_ns;
    const uint64_t cut_ns = atomic_load(&session->cut_ns);
    const struct sampler_counters counters = sampler_counters(session->sampler);
    const bool has_exits = session->exit_ns && !counters.lost && !counters.lost_others;
    if (session->targets_ended && has_exits && !session->options.all_cpus) {
        end_ns = session->exit_ns > session->sample_ns ? session->exit_ns : session->sample_ns;
        end_ns = end_ns < session->off_ns ? end_ns : session->off_ns;
    }
    return cut_ns < end_ns ? cut_ns : end_ns;
}

/* What was used between a cut and the stop belongs to another recording: it is taken to be even. */
static uint64_t cpu_until_end(struct record_session *session, uint64_t time_ns)
{
    const struct record_ledger *first = &session->events.items[0].ledger;
    const uint64_t cpu_ns = sampler_target_cpu_ns(session->sampler);
    const uint64_t off_ns = session->off_ns - session->start_ns;
    if (time_ns < session->cut_ns - session->start_ns || time_ns >= off_ns ||
        cpu_ns <= first->last_cpu_ns)
        return cpu_ns;
    const double part =
        (double)(time_ns - first->last_time_ns) / (double)(off_ns - first->last_time_ns);
    return first->last_cpu_ns + (uint64_t)(part * (double)(cpu_ns - first->last_cpu_ns));
}

static int last_account(struct record_session *session)
{
    const uint64_t last_ns = session->events.items[0].ledger.last_time_ns;
    const uint64_t end_ns = end_of(session);
    const uint64_t time_ns = end_ns > session->start_ns ? end_ns - session->start_ns : 0;
    const uint64_t until_ns = time_ns > last_ns ? time_ns : last_ns;
    const int result = account(session, until_ns, cpu_until_end(session, until_ns));
    set_duration(session, time_ns);
    return result;
}

/* The last account: with what the counters have not seen of processes' ends. What of
 * it was used during a delay is not known. */
int record_conclude(struct record_session *session, struct sprof_error *error)
{
    const uint64_t unseen_ns =
        session->options.delay_ns ? 0 : sampler_unseen_cpu_ns(session->sampler);
    int result = last_account(session);
    uint64_t unsampled_ns = 0;
    for (size_t i = 0; i < session->events.count; i++)
        record_ledger_spread(&session->events.items[i].ledger, unseen_ns);
    session->run->target_cpu_ns += unseen_ns;
    if (!result)
        result = record_describe_source(session);
    if (!result)
        result = conclude_governor(session);
    if (!result)
        result = record_book_unsampled(session, unseen_ns);
    if (!session->run->target_cpu_ns && session->options.all_cpus)
        session->run->target_cpu_ns = sampled_cpu_ns(session);
    if (!result)
        result = record_write_ledgers(session);
    if (!result)
        result = sampler_counters_each(session->sampler, put_counter, session);
    for (size_t i = 0; i < session->events.count; i++)
        unsampled_ns += session->events.items[i].ledger.unsampled_ns;
    if (!result)
        result = put_counter(session, "not_sampled.cpu_ns", unsampled_ns);
    if (!result)
        result = put_counter(session, "recorder.waited_ns", session->waited_ns);
    if (!result && !session->options.delay_ns && !session->was_paused)
        result = put_crowd(session);
    const double chance_ppm = 1e6 * session->options.chance;
    if (!result && chance_ppm > 0) /* samples are divided by it: never 0 */
        result = put_counter(session, STORE_LOOP_CHANCE, chance_ppm < 1 ? 1 : (uint64_t)chance_ppm);
    return result ? sprof_error_memory(error) : 0;
}
