/* Measures probes' cost by rows of calls of an empty function with and without a thunk. The
 * shortest row counts, as interruptions are not the probe's cost. */
#include "agent/probe/table.h"

enum { ROWS = 128, CALLS = 64 };
enum { RING_UNITS = 1024 }; /* for a row and the margin */

/* Never read. */
static struct {
    struct probe_ring ring;
    uint8_t rest[PROBE_RING_HEADER - sizeof(struct probe_ring)];
    uint8_t units[(RING_UNITS + 1) * PROBE_UNIT_BYTES];
} unread __attribute__((aligned(PROBE_RING_HEADER)));

static uint64_t time_of_calls(void (*function)(void), uint32_t below)
{
    probe_called = function;
    unread.ring.tail = unread.ring.head;
    const uint64_t begin = probe_ticks();
    for (int i = 0; i < CALLS; i++) {
        *(volatile uint32_t *)&probe_below = below;
        (*(void (*volatile *)(void)) & probe_called)();
    }
    return probe_ticks() - begin;
}

static void keep_shorter(int64_t *shortest, int64_t ticks)
{
    if (ticks < *shortest)
        *shortest = ticks;
}

/* With `below` nested calls each. `inside`: as the thunk measured, or NULL. */
static int64_t measure(void (*thunk)(void), uint32_t below, const struct probe_stat *stat,
                       int64_t *inside)
{
    int64_t through = INT64_MAX, plain = INT64_MAX;
    int64_t said = INT64_MAX;
    for (int i = 0; i < ROWS; i++) {
        keep_shorter(&plain, (int64_t)time_of_calls(probe_nothing, below));
        const int64_t before = stat->total;
        keep_shorter(&through, (int64_t)time_of_calls(thunk, below));
        keep_shorter(&said, stat->total - before);
    }
    if (inside)
        *inside = said;
    return through - plain;
}

static uint32_t one_of(int64_t ticks, int64_t calls)
{
    const int64_t one = (ticks + calls / 2) / calls;
    return one > 0 && one < 1 << 20 ? (uint32_t)one : 0;
}

/* Probes cost some ns more around nested calls, where less overlaps; the mean counts. */
void probe_calibrate(void)
{
    struct probe_shared *shared = probe_inside.shared;
    const uint32_t number = probe_inside.function_count;
    void (*thunk)(void) = (void (*)(void))(
        uintptr_t)(probe_thunks + (uint64_t)number * ARCH_THUNK_BYTES + ARCH_THUNK_ENTRY);
    int64_t inside = 0;
    struct probe_cost cost = {0};
    const struct probe_stat *stat = probe_stat_of(number);
    if (!stat)
        return;
    struct thread *thread = probe_own_thread();
    struct probe_ring *ring = thread->ring;
    const uint64_t ring_mask = thread->ring_mask;
    thread->ring_mask = RING_UNITS - 1;
    thread->ring = &unread.ring;
    shared->tiers[number] = PROBE_COUNT;
    cost.count = one_of(measure(thunk, 0, stat, NULL), CALLS);
    shared->tiers[number] = PROBE_FULL;
    const int64_t alone = measure(thunk, 0, stat, &inside);
    const int64_t pairs = measure(thunk, 1, stat, NULL);
    cost.whole = one_of(alone + pairs / 2, 2 * CALLS);
    cost.inside = one_of(inside, CALLS);
    shared->tiers[number] = PROBE_OFF;
    thread->ring = ring;
    thread->ring_mask = ring_mask;
    if (cost.inside <= cost.whole)
        shared->cost = cost;
}
