#include "sampler/perf/perf_source.h"

#include <CUnit/CUnit.h>
#include <unistd.h>

enum {
    CPUS = 2,
    COUNTERS = 3, /* rings of counters, behind the first ones of the CPUs */
    LARGER = CPUS + COUNTERS,
    LARGEST = LARGER + CPUS + 1, /* behind a ring of a counter */
};

/* An event of which the kernel says again and again that it lost so many records. */
static int event_that_lost(uint64_t lost)
{
    enum { TIMES_READ = 16 };
    const uint64_t value_and_lost[2] = {0, lost};
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
    for (int i = 0; i < TIMES_READ; i++)
        CU_ASSERT_EQUAL(write(ends[1], value_and_lost, sizeof value_and_lost),
                        (ssize_t)sizeof value_and_lost);
    close(ends[1]);
    return ends[0];
}

/* Events on CPUs that have lost 100 and 7 samples, and rings that were enlarged twice. */
static void open_source(struct perf_source *source)
{
    const size_t larger[] = {LARGER, LARGEST};
    const uint64_t lost[CPUS] = {100, 7};
    *source = (struct perf_source){
        .scope = SAMPLER_SCOPE_CPU, .rings.of_cpus = CPUS, .rings.of_events = LARGEST};
    for (size_t i = 0; i < sizeof larger / sizeof *larger; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(&source->rings.larger, larger[i]), 0);
    for (int cpu = 0; cpu < CPUS; cpu++) {
        CU_ASSERT_EQUAL(sprof_vec_push(&source->cpus, cpu), 0);
        CU_ASSERT_EQUAL(sprof_vec_push(&source->events, event_that_lost(lost[cpu])), 0);
    }
    const struct perf_event event = {.is_clock = true};
    CU_ASSERT_EQUAL(sprof_vec_push(&source->config.events, event), 0);
    CU_ASSERT_EQUAL(perf_losses_open(source), 0);
}

/* One more event, which has lost so many on each CPU. */
static void add_event(struct perf_source *source, uint64_t lost)
{
    const struct perf_event event = {.name = "page-faults"};
    CU_ASSERT_EQUAL(sprof_vec_push(&source->config.events, event), 0);
    for (int cpu = 0; cpu < CPUS; cpu++)
        CU_ASSERT_EQUAL(sprof_vec_push(&source->events, event_that_lost(lost)), 0);
    CU_ASSERT_EQUAL(perf_losses_open(source), 0);
}

static void close_source(struct perf_source *source)
{
    for (size_t i = 0; i < source->events.count; i++)
        close(source->events.items[i]);
    perf_config_release(&source->config);
    sprof_vec_release(&source->following.items);
    sprof_vec_release(&source->events);
    sprof_vec_release(&source->cpus);
    sprof_vec_release(&source->losses.events);
    sprof_vec_release(&source->rings.larger);
}

/* What a ring's record that tells of `count` lost says in the end: how many samples it were. */
static uint64_t told(struct perf_source *source, size_t ring, uint64_t count)
{
    struct model_record record = {.type = MODEL_RECORD_LOST, .lost.count = count};
    CU_ASSERT_EQUAL(perf_losses_tell(source, ring, &record), 0);
    return record.lost.count;
}

static void test_each_set_of_rings_is_of_the_cpus(void)
{
    const size_t sets[] = {0, LARGER, LARGEST};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct perf_source source;
        open_source(&source);
        CU_ASSERT_EQUAL(told(&source, sets[i] + 1, 10), 7);
        CU_ASSERT_EQUAL(source.losses.events.items[1].told, 7);
        CU_ASSERT_EQUAL(source.losses.events.items[0].told, 0);
        CU_ASSERT_EQUAL(told(&source, sets[i], 60), 60);
        CU_ASSERT_EQUAL(told(&source, sets[i], 60), 40);
        CU_ASSERT_EQUAL(source.losses.events.items[0].told, 100);
        CU_ASSERT_EQUAL(source.counts.lost_others, 3 + 20);
        close_source(&source);
    }
}

/* In the rings of counters nothing is a sample. */
static void test_rings_of_counters_lose_no_samples(void)
{
    struct perf_source source;
    open_source(&source);
    for (size_t ring = CPUS; ring < LARGER; ring++)
        CU_ASSERT_EQUAL(told(&source, ring, 5), 0);
    CU_ASSERT_EQUAL(told(&source, LARGEST - 1, 5), 0);
    CU_ASSERT_EQUAL(told(&source, LARGEST + CPUS, 5), 0);
    CU_ASSERT_EQUAL(source.counts.lost_others, 5 * (COUNTERS + 2));
    CU_ASSERT_EQUAL(source.losses.events.items[0].told + source.losses.events.items[1].told, 0);
    close_source(&source);
}

/* What a closed event had lost stays the CPU's. */
static void test_closed_events_count(void)
{
    struct perf_source source;
    open_source(&source);
    const int closed = event_that_lost(50);
    perf_losses_close_event(&source, 1, closed);
    close(closed);
    CU_ASSERT_EQUAL(told(&source, 1, 60), 57);
    CU_ASSERT_EQUAL(told(&source, LARGER, 100), 100);
    close_source(&source);
}

/* A ring reports all that it lost: each event gets a record of its own part. */
static void test_losses_are_those_of_their_events(void)
{
    struct perf_source source;
    open_source(&source);
    add_event(&source, 20);
    struct model_record record = {.type = MODEL_RECORD_LOST, .time_ns = 5, .lost.count = 125};
    CU_ASSERT_EQUAL(perf_losses_tell(&source, 0, &record), 0);
    CU_ASSERT_EQUAL(record.event, 0);
    CU_ASSERT_EQUAL(record.lost.count, 100);
    CU_ASSERT_EQUAL_FATAL(source.following.items.count, 1);
    CU_ASSERT_EQUAL(source.following.items.items[0].event, 1);
    CU_ASSERT_EQUAL(source.following.items.items[0].time_ns, 5);
    CU_ASSERT_EQUAL(source.following.items.items[0].lost.count, 20);
    CU_ASSERT_EQUAL(source.counts.lost_others, 5);
    uint64_t lost[2] = {0};
    source.rings.of_cpus = 0; /* whose owners have lost nothing */
    perf_losses_at_the_end(&source, lost);
    CU_ASSERT_EQUAL(lost[0], 7);
    CU_ASSERT_EQUAL(lost[1], 20);
    close_source(&source);
}

void sprof_suite_sampler_losses(void);
void sprof_suite_sampler_losses(void)
{
    CU_pSuite suite = CU_add_suite("sampler/losses", NULL, NULL);
    CU_add_test(suite, "each set of rings is of the CPUs", test_each_set_of_rings_is_of_the_cpus);
    CU_add_test(suite, "rings of counters lose no samples", test_rings_of_counters_lose_no_samples);
    CU_add_test(suite, "closed events count", test_closed_events_count);
    CU_add_test(suite, "losses are those of their events", test_losses_are_those_of_their_events);
}
