/* Books for each second what was expected and what came. */
#include "record/ledger.h"

#include <math.h>

static const uint64_t second_ns = UINT64_C(1000000000);

struct store_ledger *record_ledger_second(struct record_ledger *ledger, uint64_t time_ns)
{
    const size_t second = (size_t)(time_ns / second_ns);
    while (ledger->seconds.count <= second) {
        const struct store_ledger next = {.run_id = ledger->run_id,
                                          .event_id = ledger->event_id,
                                          .second = (uint32_t)ledger->seconds.count};
        if (sprof_vec_reserve(&ledger->sums, ledger->seconds.count + 1) ||
            sprof_vec_push(&ledger->seconds, next))
            return NULL;
        ledger->sums.items[ledger->sums.count++] = (struct record_ledger_sums){0};
    }
    if (second < ledger->written)
        ledger->written = second;
    return &ledger->seconds.items[second];
}

int record_ledger_deliver(struct record_ledger *ledger, uint64_t time_ns, uint64_t weight_ns,
                          int64_t late_ns)
{
    struct store_ledger *second = record_ledger_second(ledger, time_ns);
    if (!second)
        return SPROF_ENOMEM;
    struct record_ledger_sums *sums = &ledger->sums.items[second - ledger->seconds.items];
    second->delivered++;
    sums->weight_ns += weight_ns;
    sums->late_ns += late_ns;
    sums->squares += (double)weight_ns * (double)weight_ns;
    return 0;
}

/* Adds to the CPU time of a second, and to the samples that it gives. */
static void expect(struct record_ledger *ledger, struct store_ledger *second, uint64_t cpu_ns)
{
    second->expected_cpu_ns += cpu_ns;
    if (ledger->period_ns)
        ledger->sums.items[second - ledger->seconds.items].due +=
            (double)cpu_ns / (double)ledger->period_ns;
}

static void lose(struct record_ledger *ledger, struct store_ledger *second, uint64_t samples)
{
    (void)ledger;
    second->lost += samples;
}

/* Books an amount evenly on the seconds of a span. */
static int book(struct record_ledger *ledger, uint64_t from_ns, uint64_t until_ns, uint64_t amount,
                void (*add)(struct record_ledger *, struct store_ledger *, uint64_t))
{
    const double span_ns = (double)(until_ns - from_ns);
    uint64_t at_ns = from_ns, booked = 0;
    do {
        const uint64_t end_ns = (at_ns / second_ns + 1) * second_ns;
        const uint64_t next_ns = end_ns < until_ns ? end_ns : until_ns;
        const double share = next_ns == until_ns ? 1 : (double)(next_ns - from_ns) / span_ns;
        const uint64_t so_far = (uint64_t)((double)amount * share);
        struct store_ledger *second = record_ledger_second(ledger, at_ns);
        if (!second)
            return SPROF_ENOMEM;
        add(ledger, second, so_far - booked);
        booked = so_far;
        at_ns = next_ns;
    } while (at_ns < until_ns);
    return 0;
}

int record_ledger_lose(struct record_ledger *ledger, uint64_t since_ns, uint64_t time_ns,
                       uint64_t count)
{
    const uint64_t from_ns = since_ns < time_ns ? since_ns : time_ns;
    if (from_ns >= ledger->begins_ns)
        return book(ledger, from_ns, time_ns, count, lose);
    if (time_ns <= ledger->begins_ns)
        return 0;
    const double share = (double)(time_ns - ledger->begins_ns) / (double)(time_ns - from_ns);
    return book(ledger, ledger->begins_ns, time_ns, (uint64_t)((double)count * share), lose);
}

int record_ledger_expect(struct record_ledger *ledger, uint64_t time_ns, uint64_t cpu_ns)
{
    const uint64_t from_ns = ledger->last_time_ns < time_ns ? ledger->last_time_ns : time_ns;
    const uint64_t used_ns = cpu_ns > ledger->last_cpu_ns ? cpu_ns - ledger->last_cpu_ns : 0;
    ledger->last_time_ns = time_ns;
    ledger->last_cpu_ns += used_ns;
    return book(ledger, from_ns, time_ns, used_ns, expect);
}

void record_ledger_spread(struct record_ledger *ledger, uint64_t cpu_ns)
{
    double total_ns = 0, passed_ns = 0;
    uint64_t booked_ns = 0;
    for (size_t i = 0; i < ledger->seconds.count; i++)
        total_ns += (double)ledger->seconds.items[i].expected_cpu_ns;
    for (size_t i = 0; i < ledger->seconds.count && total_ns > 0; i++) {
        struct store_ledger *second = &ledger->seconds.items[i];
        passed_ns += (double)second->expected_cpu_ns;
        const uint64_t so_far_ns = (uint64_t)((double)cpu_ns * (passed_ns / total_ns));
        struct record_ledger_sums *sums = &ledger->sums.items[i];
        if (second->expected_cpu_ns)
            sums->due *= 1 + (double)(so_far_ns - booked_ns) / (double)second->expected_cpu_ns;
        second->expected_cpu_ns += so_far_ns - booked_ns;
        booked_ns = so_far_ns;
    }
    if (booked_ns)
        ledger->written = 0;
}

void record_ledger_skip(struct record_ledger *ledger, uint64_t time_ns, uint64_t cpu_ns)
{
    const uint64_t used_ns = cpu_ns > ledger->last_cpu_ns ? cpu_ns - ledger->last_cpu_ns : 0;
    ledger->skipped_cpu_ns += used_ns;
    ledger->last_cpu_ns += used_ns;
    ledger->last_time_ns = ledger->begins_ns = time_ns;
}

int record_ledger_clear(struct record_ledger *ledger, uint64_t time_ns)
{
    if (!record_ledger_second(ledger, time_ns))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < ledger->seconds.count; i++) {
        const struct store_ledger empty = {
            .run_id = ledger->run_id, .event_id = ledger->event_id, .second = (uint32_t)i};
        ledger->seconds.items[i] = empty;
        ledger->sums.items[i] = (struct record_ledger_sums){0};
    }
    ledger->written = 0;
    return 0;
}

int record_ledger_throttle(struct record_ledger *ledger, int cpu, bool on, uint64_t time_ns)
{
    uint64_t *since = sprof_map_get(&ledger->throttled_since, (uint64_t)(cpu + 1));
    if (on)
        return sprof_map_put(&ledger->throttled_since, (uint64_t)(cpu + 1), time_ns + 1);
    if (!since || !*since || !ledger->period_ns)
        return 0;
    struct store_ledger *second = record_ledger_second(ledger, time_ns);
    if (!second)
        return SPROF_ENOMEM;
    const uint64_t from_ns = *since - 1 > ledger->begins_ns ? *since - 1 : ledger->begins_ns;
    if (time_ns > from_ns)
        second->throttled += (time_ns - from_ns) / ledger->period_ns;
    *since = 0;
    return 0;
}

static void close_second(const struct record_ledger *ledger, struct store_ledger *second,
                         const struct record_ledger_sums *sums)
{
    const double expected_ns = (double)second->expected_cpu_ns;
    const double period_ns = sums->due > 0 ? expected_ns / sums->due : (double)ledger->period_ns;
    const double known = (double)second->lost + (double)second->throttled;
    const double fewer = sums->due - (double)second->delivered - known;
    /* Fewer samples that weigh more each are none the less. */
    const double missing = (expected_ns - (double)sums->weight_ns) / period_ns - known;
    /* Where samples weigh more, fewer of them leave more to chance. */
    const double squares = sums->squares / (period_ns * period_ns);
    const bool by_chance = missing <= 3 * sqrt(squares > sums->due ? squares : sums->due);
    const double late = fmin((double)sums->late_ns / period_ns, fewer);
    double overrun = late > 0 ? late : 0;
    if (!by_chance && !ledger->kernel_excluded)
        overrun += missing;
    second->excluded = !by_chance && ledger->kernel_excluded ? (uint64_t)missing : 0;
    second->timer_overrun = (uint64_t)overrun;
    second->unexplained = llround(fewer - (double)second->excluded - (double)second->timer_overrun);
}

void record_ledger_close(struct record_ledger *ledger, size_t from)
{
    for (size_t i = from; i < ledger->seconds.count && ledger->period_ns; i++)
        close_second(ledger, &ledger->seconds.items[i], &ledger->sums.items[i]);
}

uint64_t record_ledger_lost_ns(const struct record_ledger *ledger)
{
    double lost_ns = 0;
    for (size_t i = 0; i < ledger->seconds.count; i++) {
        const struct store_ledger *second = &ledger->seconds.items[i];
        const double due = ledger->sums.items[i].due;
        const double period_ns =
            due > 0 ? (double)second->expected_cpu_ns / due : (double)ledger->period_ns;
        lost_ns += (double)(second->lost + second->throttled) * period_ns;
    }
    return (uint64_t)lost_ns;
}

uint64_t record_ledger_missed_ns(const struct record_ledger *ledger, uint64_t cpu_ns)
{
    double seen_ns = 0, squares = 0, least_squares = 0;
    for (size_t i = 0; i < ledger->seconds.count && ledger->period_ns; i++) {
        const struct store_ledger *second = &ledger->seconds.items[i];
        const struct record_ledger_sums *sums = &ledger->sums.items[i];
        const double expected_ns = (double)second->expected_cpu_ns;
        const double period_ns =
            sums->due > 0 ? expected_ns / sums->due : (double)ledger->period_ns;
        seen_ns += (double)sums->weight_ns;
        squares += sums->squares;
        least_squares += expected_ns * period_ns;
    }
    const double missed_ns = (double)cpu_ns - seen_ns;
    const double lost_ns = (double)record_ledger_lost_ns(ledger);
    const double variance = squares > least_squares ? squares : least_squares;
    if (!ledger->period_ns)
        return 0;
    const bool by_chance = fabs(missed_ns - lost_ns) <= 3 * sqrt(variance);
    return (uint64_t)(by_chance ? lost_ns : fmax(missed_ns, 0));
}

int record_ledger_rows(struct record_ledger *ledger, struct store_batch *batch)
{
    record_ledger_close(ledger, ledger->written);
    for (size_t i = ledger->written; i < ledger->seconds.count; i++)
        if (sprof_vec_push(&batch->ledger, ledger->seconds.items[i]))
            return SPROF_ENOMEM;
    /* The newest second still grows, and records may come a little late. */
    ledger->written = ledger->seconds.count > 2 ? ledger->seconds.count - 2 : 0;
    return 0;
}

void record_ledger_release(struct record_ledger *ledger)
{
    sprof_vec_release(&ledger->seconds);
    sprof_vec_release(&ledger->sums);
    sprof_map_release(&ledger->throttled_since);
}
