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
        if (sprof_vec_push(&ledger->seconds, next))
            return NULL;
    }
    if (second < ledger->written)
        ledger->written = second;
    return &ledger->seconds.items[second];
}

int record_ledger_expect(struct record_ledger *ledger, uint64_t time_ns, uint64_t cpu_ns)
{
    struct store_ledger *second = record_ledger_second(ledger, time_ns);
    if (!second)
        return SPROF_ENOMEM;
    if (cpu_ns > ledger->last_cpu_ns) {
        second->expected_cpu_ns += cpu_ns - ledger->last_cpu_ns;
        ledger->last_cpu_ns = cpu_ns;
    }
    return 0;
}

void record_ledger_close(struct record_ledger *ledger, size_t from)
{
    for (size_t i = from; i < ledger->seconds.count; i++) {
        struct store_ledger *second = &ledger->seconds.items[i];
        if (!ledger->period_ns)
            continue;
        const double expected = (double)second->expected_cpu_ns / (double)ledger->period_ns;
        const double missing =
            expected - (double)second->delivered - (double)second->lost - (double)second->throttled;
        const bool by_chance = missing <= 3 * sqrt(expected);
        second->excluded = !by_chance && ledger->kernel_excluded ? (uint64_t)missing : 0;
        second->timer_overrun = !by_chance && !ledger->kernel_excluded ? (uint64_t)missing : 0;
        second->unexplained = by_chance ? (int64_t)llround(missing) : 0;
    }
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
