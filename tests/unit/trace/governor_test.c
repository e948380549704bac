/* The governor lowers and raises what probes do, by figures that the test writes. */
#include "tests/unit/trace/made.h"
#include "trace/governor.h"

static const struct probe_backend in_memory = {.source = "in memory", .has_agent = true};
static const struct probe_backend embedded = {
    .source = "in memory", .has_agent = true, .only_embedded = true};

enum { HOT, COLD, FUNCTIONS };
enum { CALM_LOOKS = 10, SITE = 0x40, SLOW_NS = 1000000 };
#define SECOND_NS UINT64_C(1000000000)

struct governed {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    uint64_t calls; /* of hot */
};

static void make(struct governed *governed, const struct probe_backend *backend)
{
    static const char *const names[] = {"hot", "cold"};
    made_begin(&governed->made, backend, FUNCTIONS);
    struct trace_session *session = &governed->made.session;
    governed->calls = 0;
    for (size_t i = 0; i < FUNCTIONS; i++)
        governed->functions[i] = (struct plan_function){
            .name = names[i], .start = SITE * (i + 1), .site = SITE * (i + 1)};
    made_file(&governed->made, "/app/program", 0, governed->functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&governed->made, (struct probing_probe){.function = &governed->functions[i],
                                                           .tier = PROBE_FULL,
                                                           .is_chosen = true,
                                                           .is_placed = true});
    session->options.max_overhead = 5;
    session->options.rest_ns = TRACE_NEVER;
    session->times.start.ticks = UINT64_MAX / 2; /* a tick is a nanosecond */
    session->process.shared->cost = (struct probe_cost){.whole = 100, .count = 10};
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&session->probing, NULL), 0);
    probing_switch(&session->probing);
    /* its CPU time is what the test says: it has ended */
    const struct calls_process process = {.pid = getpid(), .fd = -1, .is_over = true};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->processes.list, process), 0);
    session->times.start.ns = 0;
}

/* A second of CPU time has passed, with so many calls of hot, and one of cold. */
static void look(struct governed *governed, uint64_t calls)
{
    struct trace_session *session = &governed->made.session;
    struct probe_stat *hot = made_stat(&governed->made, HOT),
                      *cold = made_stat(&governed->made, COLD);
    const bool is_off = made_tier(&governed->made, HOT) == PROBE_OFF;
    const bool is_timed = made_tier(&governed->made, HOT) == PROBE_FULL;
    if (!is_off && is_timed) {
        hot->calls = hot->ended += calls;
        hot->self += (int64_t)calls * 20;
    } else if (!is_off) {
        hot->counted += calls;
    }
    cold->calls = cold->ended += 1;
    cold->self += SLOW_NS;
    session->processes.list.items[0].cpu_ns += SECOND_NS;
    session->governor.next_ns = session->governor.look_ns = session->governor.watched_ns = 0;
    session->governor.lately = 1;
    session->times.now_ns += SECOND_NS;
    CU_ASSERT_EQUAL(trace_govern(session), 0);
}

static size_t events(const struct governed *governed, const char *what)
{
    const struct store_batch *batch = recording_batch(governed->made.session.recording);
    size_t count = 0;
    for (size_t i = 0; i < batch->probe_events.count; i++)
        count += !strcmp(batch->probe_events.items[i].what, what) &&
                 !strcmp(batch->probe_events.items[i].cause, "governor");
    return count;
}

/* A timed call takes about ten times what a counted one does. */
static void test_counted(void)
{
    static struct governed governed;
    make(&governed, &in_memory);
    look(&governed, 1000);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_FULL);
    CU_ASSERT_EQUAL(governed.made.log.said.length, 0);
    look(&governed, 550000); /* 5.6 % of the time, where 5 are allowed */
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_COUNT);
    CU_ASSERT_EQUAL(made_tier(&governed.made, COLD), PROBE_FULL);
    CU_ASSERT_EQUAL(events(&governed, "counted"), 1);
    CU_ASSERT_TRUE(made_said(&governed.made, "more than --max-overhead: hot (counted only)"));
    look(&governed, 550000);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_COUNT); /* which holds the limit */
    made_end(&governed.made);
}

static void test_off(void)
{
    static struct governed governed;
    make(&governed, &in_memory);
    look(&governed, 9000000);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_OFF);
    CU_ASSERT_EQUAL(made_tier(&governed.made, COLD), PROBE_FULL);
    CU_ASSERT_EQUAL(events(&governed, "off"), 1);
    CU_ASSERT_TRUE(made_said(&governed.made, "hot (off)"));
    made_end(&governed.made);
}

/* The heap check needs all calls of allocators. */
static void test_allocator(void)
{
    static struct governed governed;
    make(&governed, &in_memory);
    governed.made.session.probes.items[HOT].operation = PROBE_HEAP_ALLOCATE;
    look(&governed, 9000000);
    CU_ASSERT_EQUAL(governed.made.session.probes.items[HOT].governed, PROBING_GOVERNED_COUNT);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_BYTES);
    made_end(&governed.made);
}

/* After ten calm looks the cheapest counted function is timed again, and not before. */
static void test_timed_again(void)
{
    static struct governed governed;
    make(&governed, &in_memory);
    look(&governed, 550000);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_COUNT);
    for (size_t i = 0; i < CALM_LOOKS - 1; i++)
        look(&governed, 10);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_COUNT);
    made_said(&governed.made, "");
    look(&governed, 10);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_FULL);
    CU_ASSERT_TRUE(made_said(&governed.made, "hot is timed again"));
    CU_ASSERT_EQUAL(events(&governed, "timed"), 1);
    made_end(&governed.made);
}

/* A function that is off is counted again only where its calls of then have room. */
static void test_counted_again(void)
{
    static struct governed governed;
    make(&governed, &in_memory);
    look(&governed, 9000000);
    for (size_t i = 0; i < 2 * CALM_LOOKS; i++)
        look(&governed, 0);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_OFF);
    governed.made.session.options.max_overhead = 60;
    for (size_t i = 0; i < CALM_LOOKS; i++)
        look(&governed, 0);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_COUNT);
    CU_ASSERT_TRUE(made_said(&governed.made, "1 function is counted again"));
    made_end(&governed.made);
}

/* Probes that cannot rest are taken out of the code. */
static void test_taken_out(void)
{
    static const uint8_t jump[PLAN_JUMP_BYTES] = {0xe9, 1, 2, 3, 4},
                         original[PLAN_JUMP_BYTES] = {0x3d, 5, 6, 7, 8};
    static struct governed governed;
    uint8_t there[PLAN_JUMP_BYTES];
    make(&governed, &embedded);
    struct trace_session *session = &governed.made.session;
    session->process.code_fd = memfd_create("code", MFD_CLOEXEC);
    memcpy(session->probes.items[HOT].jump, jump, sizeof jump);
    memcpy(governed.functions[HOT].original, original, sizeof original);
    CU_ASSERT_EQUAL(pwrite(session->process.code_fd, jump, sizeof jump, SITE), sizeof jump);
    look(&governed, 9000000);
    CU_ASSERT_FALSE(session->probes.items[HOT].is_placed);
    CU_ASSERT_TRUE(session->probes.items[COLD].is_placed);
    CU_ASSERT_EQUAL(pread(session->process.code_fd, there, sizeof there, SITE), sizeof there);
    CU_ASSERT_EQUAL(memcmp(there, original, sizeof there), 0);
    close(session->process.code_fd);
    made_end(&governed.made);
}

static void test_nothing_to_hold(void)
{
    static struct governed governed;
    make(&governed, &in_memory);
    struct trace_session *session = &governed.made.session;
    session->options.max_overhead = -1;
    look(&governed, 9000000);
    CU_ASSERT_EQUAL(made_tier(&governed.made, HOT), PROBE_FULL);
    CU_ASSERT_EQUAL(trace_govern_next_ns(session), UINT64_MAX);
    session->options.max_overhead = 5;
    session->mode = TRACE_COVERAGE;
    CU_ASSERT_EQUAL(trace_govern_next_ns(session), UINT64_MAX);
    session->mode = TRACE_STATS;
    CU_ASSERT_NOT_EQUAL(trace_govern_next_ns(session), UINT64_MAX);
    made_end(&governed.made);
}

void sprof_suite_trace_governor(void);

void sprof_suite_trace_governor(void)
{
    CU_pSuite suite = CU_add_suite("trace/governor", NULL, NULL);
    CU_add_test(suite, "a short function is only counted", test_counted);
    CU_add_test(suite, "its probe is off", test_off);
    CU_add_test(suite, "an allocator", test_allocator);
    CU_add_test(suite, "timed again", test_timed_again);
    CU_add_test(suite, "counted again", test_counted_again);
    CU_add_test(suite, "taken out of the code", test_taken_out);
    CU_add_test(suite, "nothing to hold", test_nothing_to_hold);
}
