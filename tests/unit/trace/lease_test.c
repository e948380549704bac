/* Leases of probes, and the loader's thread that waits. The test stands for the agent. */
#include "tests/unit/trace/made.h"
#include "trace/loader.h"

#include <poll.h>

static const struct probe_backend in_memory = {
    .source = "in memory", .has_agent = true, .needs_lease = true};
static const struct probe_backend listens = {.source = "listens", .has_agent = true};

static void make(struct made *made, const struct probe_backend *backend)
{
    made_begin(made, backend, 1);
    counters_read_clocks(&made->trace.clock.opened_ns, &made->trace.clock.opened_ticks);
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&made->session.probing, NULL), 0);
    usleep(1000); /* so both clocks have gone on */
    trace_lease_make(&made->session);
}

static void test_begin(void)
{
    struct made made;
    make(&made, &in_memory);
    const struct probe_shared *shared = made.session.process.shared;
    CU_ASSERT_EQUAL(atomic_load(&shared->lease), UINT64_MAX); /* it has no end yet */
    CU_ASSERT(atomic_load(&shared->renewal.ticks) > 0);
    trace_lease_set_deadline(&made.session, 0);
    CU_ASSERT(atomic_load(&shared->lease) < UINT64_MAX);
    CU_ASSERT_EQUAL(atomic_load(&shared->renewal.deadline), 0);
    CU_ASSERT_TRUE(made.session.has_lease);
    made_end(&made);
}

static void test_without_lease(void)
{
    struct made made;
    make(&made, &listens);
    CU_ASSERT_EQUAL(atomic_load(&made.session.process.shared->renewal.ticks), 0);
    made_end(&made);
}

/* The lease never lasts beyond the deadline, and a deadline in the past ends it at once. */
static void test_deadline(void)
{
    struct made made;
    make(&made, &in_memory);
    const struct probe_shared *shared = made.session.process.shared;
    const uint64_t now = probe_ticks();
    trace_lease_set_deadline(&made.session, sprof_clock_monotonic_ns() + UINT64_C(10000000000));
    const uint64_t soon = atomic_load(&shared->renewal.deadline);
    CU_ASSERT(soon > now);
    CU_ASSERT((atomic_load(&shared->lease) & ~PROBE_LEASE_EXTENDED) <= soon);
    trace_lease_set_deadline(&made.session, sprof_clock_monotonic_ns() + UINT64_C(100000000000));
    const uint64_t late = atomic_load(&shared->renewal.deadline);
    CU_ASSERT(late > soon);
    CU_ASSERT((atomic_load(&shared->lease) & ~PROBE_LEASE_EXTENDED) < late);
    trace_lease_set_deadline(&made.session, 1);
    CU_ASSERT(atomic_load(&shared->renewal.deadline) < late);
    made_end(&made);
}

/* A lease that ended against the plan is reported as a gap, and begins again. */
static void test_ended(void)
{
    struct made made;
    make(&made, &in_memory);
    struct probe_shared *shared = made.session.process.shared;
    trace_lease_set_deadline(&made.session, 0);
    CU_ASSERT_EQUAL(trace_lease_serve(&made.session, NULL), 0);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    atomic_store(&shared->lease_over, probe_ticks() - 1);
    atomic_store(&shared->lease, UINT64_MAX);
    CU_ASSERT_EQUAL(trace_lease_serve(&made.session, NULL), 0);
    CU_ASSERT_TRUE(made_said(&made, "sprof stood still"));
    CU_ASSERT_EQUAL(atomic_load(&shared->lease_over), 0);
    CU_ASSERT(atomic_load(&shared->lease) < UINT64_MAX);
    CU_ASSERT_EQUAL(trace_lease_serve(&made.session, NULL), 0);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    made_end(&made);
}

/* The deadline is no fault: probes are to be off from then on. */
static void test_ended_at_deadline(void)
{
    struct made made;
    make(&made, &in_memory);
    struct probe_shared *shared = made.session.process.shared;
    trace_lease_set_deadline(&made.session, sprof_clock_monotonic_ns() + UINT64_C(100000000000));
    atomic_store(&shared->lease_over, atomic_load(&shared->renewal.deadline));
    CU_ASSERT_EQUAL(trace_lease_serve(&made.session, NULL), 0);
    CU_ASSERT_EQUAL(made.log.said.length, 0);
    CU_ASSERT_EQUAL(made.trace.off_ns, 1);
    made_end(&made);
}

/* The loader's thread asks; its event wakes sprof, which serves it, and lets it go on. */
static void test_loader(void)
{
    static struct probe_loading shared;
    struct trace_loader loader = {.event_fd = -1};
    CU_ASSERT_EQUAL(trace_loader_fd(&loader), -1);
    CU_ASSERT_EQUAL(trace_loader_take(&loader), 0);
    CU_ASSERT_EQUAL_FATAL(trace_loader_begin(&loader, &shared, NULL), 0);
    CU_ASSERT_EQUAL(shared.tracer, (uint32_t)getpid());
    CU_ASSERT_EQUAL(trace_loader_take(&loader), 0);
    atomic_store(&shared.state, PROBE_LOADING_ASKED);
    struct pollfd event = {.fd = trace_loader_fd(&loader), .events = POLLIN};
    CU_ASSERT_EQUAL(poll(&event, 1, 60000), 1);
    CU_ASSERT_EQUAL(trace_loader_take(&loader), 1);
    CU_ASSERT_TRUE(loader.is_serving);
    trace_loader_done(&loader);
    CU_ASSERT_EQUAL(atomic_load(&shared.state), PROBE_LOADING_DONE);
    CU_ASSERT_FALSE(loader.is_serving);
    for (int i = 0; i < 20000 && !atomic_load(&shared.beat); i++)
        usleep(1000);
    CU_ASSERT(atomic_load(&shared.beat) > 0); /* the agent sees that sprof lives */
    trace_loader_release(&loader);
    CU_ASSERT_EQUAL(atomic_load(&shared.state), PROBE_LOADING_CLOSED);
    CU_ASSERT_EQUAL(trace_loader_fd(&loader), -1);
    trace_loader_release(&loader); /* twice is once */
}

void sprof_suite_trace_lease(void);

void sprof_suite_trace_lease(void)
{
    CU_pSuite suite = CU_add_suite("trace/lease", NULL, NULL);
    CU_add_test(suite, "its beginning", test_begin);
    CU_add_test(suite, "a listening process", test_without_lease);
    CU_add_test(suite, "a deadline", test_deadline);
    CU_add_test(suite, "a lease that ended", test_ended);
    CU_add_test(suite, "a deadline that has come", test_ended_at_deadline);
    CU_add_test(suite, "the loader's thread", test_loader);
}
