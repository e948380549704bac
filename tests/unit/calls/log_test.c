/* Calls of a log, taken out of a ring that the test fills as the agent does. */
#include "calls/calls.h"
#include "calls/keep.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { OUTER, INNER, NOT_CHOSEN, FUNCTIONS };

struct logged {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    struct counters_ring ring;
    uint64_t head;
};

static void make(struct logged *logged)
{
    static const char *const names[] = {"outer", "inner", "not chosen"};
    made_begin(&logged->made, &in_memory, FUNCTIONS);
    struct calls_program *session = &logged->made.session;
    for (size_t i = 0; i < FUNCTIONS; i++)
        logged->functions[i] = (struct plan_function){.name = names[i], .start = 0x100 * (i + 1)};
    made_file(&logged->made, "/app/program", 0, logged->functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&logged->made, (struct probing_probe){.function = &logged->functions[i],
                                                         .tier = PROBE_FULL,
                                                         .is_chosen = i != NOT_CHOSEN});
    session->mode = session->options.mode = TRACE_LOG;
    session->log.has_rings = true;
    counters_read_clocks(&session->times.start.ns, &session->times.start.ticks);
    session->run->start_monotonic_ns = session->times.start.ns - 1000000000;
    calls_take_time(session);
    calls_log_begin(session);
    const struct counters_pages pages = calls_pages(session);
    logged->ring = counters_ring_of(&pages, 0);
    logged->head = 0;
}

static uint64_t ticks_at(const struct logged *logged, uint64_t ticks)
{
    return logged->made.session.times.start.ticks + ticks;
}

static uint64_t *unit(struct logged *logged)
{
    return counters_ring_unit(&logged->ring, logged->head);
}

static void begin(struct logged *logged, uint32_t function, uint32_t depth, uint64_t ticks)
{
    uint64_t *words = unit(logged);
    const uint64_t arguments[] = {7, 8, 9, 10, 11, 12};
    words[1] = ticks_at(logged, ticks);
    memcpy(words + 2, arguments, sizeof arguments);
    words[0] = probe_log_header(logged->head, PROBE_LOG_BEGIN, 0, depth, function);
    logged->head += 2;
    logged->ring.ring->head = logged->head;
}

static void end(struct logged *logged, uint32_t function, uint32_t depth, uint64_t ticks,
                uint64_t length, enum probe_exit exit)
{
    uint64_t *words = unit(logged);
    words[1] = ticks_at(logged, ticks);
    words[2] = length;
    words[3] = length / 2;
    words[0] = probe_log_header(logged->head, PROBE_LOG_END, exit, depth, function);
    logged->head++;
    logged->ring.ring->head = logged->head;
}

static void take(struct logged *logged)
{
    struct calls_program *session = &logged->made.session;
    CU_ASSERT_EQUAL(calls_log_read(session, session->threads.of_slab[0], 0), 0);
}

/* Ends the log, and reads its only block. Returns how many calls it has. */
static uint32_t calls_of(struct logged *logged, bool is_last, struct store_call calls[8])
{
    struct calls_program *session = &logged->made.session;
    const struct store_batch *batch = recording_batch(session->recording);
    struct store_call_unpacker unpacker;
    uint32_t count = 0;
    CU_ASSERT_EQUAL(calls_log_end(session, session->threads.of_slab[0], 0, is_last), 0);
    if (!batch->call_blocks.count)
        return 0;
    CU_ASSERT_EQUAL_FATAL(batch->call_blocks.count, 1);
    const struct store_call_block *block = &batch->call_blocks.items[0];
    store_call_unpack_begin(&unpacker, block->bytes, block->calls);
    while (count < 8 && !store_call_unpack(&unpacker, &calls[count]))
        count++;
    CU_ASSERT_EQUAL(count, block->calls);
    CU_ASSERT_EQUAL(session->log.logged, count);
    return count;
}

/* Calls are rows in the order of their ends; each lies within its caller. */
static void test_nested(void)
{
    static struct logged logged;
    struct store_call calls[8];
    make(&logged);
    begin(&logged, OUTER, 1, 1000);
    begin(&logged, INNER, 2, 2000);
    take(&logged);
    end(&logged, INNER, 2, 2000, 500, PROBE_EXIT_RETURN);
    end(&logged, OUTER, 1, 1000, 4000, PROBE_EXIT_EXCEPTION);
    take(&logged);
    CU_ASSERT_EQUAL(logged.made.session.threads.of_slab[0]->open.count, 0);
    CU_ASSERT_EQUAL_FATAL(calls_of(&logged, true, calls), 2);
    CU_ASSERT_EQUAL(calls[0].depth, 2);
    CU_ASSERT_EQUAL(calls[0].exit, STORE_EXIT_RETURN);
    CU_ASSERT_EQUAL(calls[0].words[0], 7);
    CU_ASSERT_EQUAL(calls[0].words[5], 12);
    CU_ASSERT_EQUAL(calls[1].depth, 1);
    CU_ASSERT_EQUAL(calls[1].exit, STORE_EXIT_EXCEPTION);
    CU_ASSERT(calls[1].start_ns <= calls[0].start_ns &&
              calls[0].start_ns + calls[0].duration_ns <= calls[1].start_ns + calls[1].duration_ns);
    CU_ASSERT(calls[0].self_ns <= calls[0].duration_ns);
    CU_ASSERT_EQUAL(recording_batch(logged.made.session.recording)->call_functions.count, 2);
    made_end(&logged.made);
}

/* The mark of a call whose coroutine was suspended is no part of its time. */
static void test_apart(void)
{
    static struct logged logged;
    struct store_call calls[8];
    make(&logged);
    begin(&logged, OUTER, 1, 1000);
    end(&logged, OUTER, 1, 1000, 40000, PROBE_EXIT_RETURN);
    counters_ring_unit(&logged.ring, logged.head - 1)[3] |= PROBE_LOG_APART;
    CU_ASSERT_EQUAL_FATAL(calls_of(&logged, true, calls), 1);
    CU_ASSERT(calls[0].self_ns < calls[0].duration_ns);
    CU_ASSERT_FALSE(calls[0].has_states);
    made_end(&logged.made);
}

/* Calls that are open at the end have rows without a duration, and say what ended them. */
static void test_open(void)
{
    for (int is_last = 0; is_last < 2; is_last++) {
        static struct logged logged;
        struct store_call calls[8];
        make(&logged);
        begin(&logged, OUTER, 1, 1000);
        CU_ASSERT_EQUAL_FATAL(calls_of(&logged, is_last, calls), 1);
        CU_ASSERT_EQUAL(calls[0].duration_ns, 0);
        CU_ASSERT_EQUAL(calls[0].exit, is_last ? STORE_EXIT_OPEN : STORE_EXIT_THREAD_END);
        made_end(&logged.made);
    }
}

/* Coroutines end in another order than they began; functions that are not chosen, and ends without
 * a beginning, are none. */
static void test_other_order(void)
{
    static struct logged logged;
    struct store_call calls[8];
    make(&logged);
    end(&logged, OUTER, 1, 10, 20, PROBE_EXIT_RETURN);
    begin(&logged, OUTER, 1, 1000);
    begin(&logged, NOT_CHOSEN, 2, 1500);
    begin(&logged, INNER, 2, 2000);
    end(&logged, OUTER, 1, 1000, 3000, PROBE_EXIT_RETURN);
    end(&logged, NOT_CHOSEN, 2, 1500, 3000, PROBE_EXIT_RETURN);
    end(&logged, INNER, 2, 2000, 5000, PROBE_EXIT_LEFT);
    take(&logged);
    CU_ASSERT_EQUAL_FATAL(calls_of(&logged, true, calls), 2);
    CU_ASSERT_EQUAL(calls[0].depth, 1);
    CU_ASSERT_EQUAL(calls[1].depth, 2);
    CU_ASSERT_EQUAL(calls[1].exit, STORE_EXIT_LEFT);
    made_end(&logged.made);
}

/* A unit that a signal's handler has left unfilled is skipped after a second, and not before. */
static void test_unfilled(void)
{
    static struct logged logged;
    struct store_call calls[8];
    make(&logged);
    struct calls_program *session = &logged.made.session;
    logged.head++; /* taken, and never written */
    begin(&logged, OUTER, 1, 1000);
    end(&logged, OUTER, 1, 1000, 10, PROBE_EXIT_RETURN);
    take(&logged);
    CU_ASSERT_EQUAL(session->log.logged, 0);
    session->times.now_ns += 2000000000;
    take(&logged);
    CU_ASSERT_EQUAL(session->log.logged, 1);
    CU_ASSERT_EQUAL(calls_of(&logged, true, calls), 1);
    made_end(&logged.made);
}

/* A clear drops what has ended, and calls that are open begin then. */
static void test_clear(void)
{
    static struct logged logged;
    struct store_call calls[8];
    make(&logged);
    struct calls_program *session = &logged.made.session;
    begin(&logged, OUTER, 1, 1000);
    begin(&logged, INNER, 2, 2000);
    end(&logged, INNER, 2, 2000, 10, PROBE_EXIT_RETURN);
    take(&logged);
    session->times.cleared.ticks = ticks_at(&logged, 5000);
    calls_log_clear(session, session->times.now_ns);
    CU_ASSERT_EQUAL(session->log.logged, 0);
    end(&logged, OUTER, 1, 5000, 100, PROBE_EXIT_RETURN);
    take(&logged);
    CU_ASSERT_EQUAL_FATAL(calls_of(&logged, true, calls), 1);
    CU_ASSERT_EQUAL(calls[0].depth, 1);
    CU_ASSERT(calls[0].start_ns >= session->times.now_ns - session->run->start_monotonic_ns);
    made_end(&logged.made);
}

/* Open calls of one function have other starts each behind a clear, by which kept calls have their
 * rows in the log. */
static void test_clear_recursion(void)
{
    enum { DEPTH = 4, NOT_LOGGED = 2 };
    static struct logged logged;
    struct store_call calls[8];
    make(&logged);
    struct calls_program *session = &logged.made.session;
    struct calls_thread *thread = session->threads.of_slab[0];
    const struct store_batch *batch = recording_batch(session->recording);
    for (uint32_t i = 1; i <= DEPTH; i++)
        if (i != NOT_LOGGED)
            begin(&logged, OUTER, i, 1000 * i);
    take(&logged);
    session->times.cleared.ticks = ticks_at(&logged, 5000);
    calls_log_clear(session, session->times.now_ns);
    for (uint32_t i = DEPTH; i; i--) {
        const struct probe_kept kept = {
            .header = probe_log_header(0, PROBE_LOG_END, 0, 0, OUTER),
            .begin = ticks_at(&logged, 1000 * i),
            .end = ticks_at(&logged, 6000),
            .total = 1000,
            .number = DEPTH - i + 1,
            .depth = i == NOT_LOGGED ? 0 : (uint16_t)i,
        };
        CU_ASSERT_EQUAL(calls_keep_take(session, thread, &kept, 0), 0);
        if (i != NOT_LOGGED)
            end(&logged, OUTER, i, 5000, 1000, PROBE_EXIT_RETURN);
        take(&logged);
    }
    CU_ASSERT_EQUAL_FATAL(calls_of(&logged, true, calls), DEPTH - 1);
    CU_ASSERT_EQUAL_FATAL(batch->kept_calls.count, DEPTH);
    for (uint32_t i = 0; i + 1 < DEPTH; i++) {
        CU_ASSERT_EQUAL(calls[i].start_ns, batch->kept_calls.items[i + (i == 2)].start_ns);
        CU_ASSERT(!i || calls[i].start_ns < calls[i - 1].start_ns);
    }
    made_end(&logged.made);
}

/* Calls without room are a row by function and second, which grows within its second. */
static void test_not_logged(void)
{
    static struct logged logged;
    make(&logged);
    struct calls_program *session = &logged.made.session;
    const struct store_batch *batch = recording_batch(session->recording);
    session->times.now_ns = session->run->start_monotonic_ns + UINT64_C(5200000000);
    session->probes.items[INNER].sums.unlogged = 3;
    CU_ASSERT_EQUAL(calls_log_serve(session), 0);
    session->probes.items[INNER].sums.unlogged = 7;
    CU_ASSERT_EQUAL(calls_log_serve(session), 0);
    session->times.now_ns += 1000000000;
    session->probes.items[INNER].sums.unlogged = 8;
    CU_ASSERT_EQUAL(calls_log_serve(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->probe_ledger.count, 3);
    CU_ASSERT_EQUAL(batch->probe_ledger.items[0].not_logged, 3);
    CU_ASSERT_EQUAL(batch->probe_ledger.items[1].not_logged, 7);
    CU_ASSERT_EQUAL(batch->probe_ledger.items[1].second, 5);
    CU_ASSERT_EQUAL(batch->probe_ledger.items[2].not_logged, 1);
    CU_ASSERT_EQUAL(batch->probe_ledger.items[2].second, 6);
    made_end(&logged.made);
}

/* Beyond --max-size of the recording calls have no rows of their own any more. */
static void test_full(void)
{
    static struct logged logged;
    char path[] = "/tmp/sprof-log-XXXXXX";
    const int fd = mkstemp(path);
    CU_ASSERT_FATAL(fd >= 0);
    make(&logged);
    struct calls_program *session = &logged.made.session;
    session->options.output = path;
    session->options.max_size = 4096;
    CU_ASSERT_FALSE(calls_log_wants_flush(session));
    CU_ASSERT(atomic_load(&session->process.shared->log.reach) > 0);
    CU_ASSERT_EQUAL(ftruncate(fd, 5000), 0);
    CU_ASSERT_FALSE(calls_log_wants_flush(session)); /* it was looked at just now */
    CU_ASSERT(atomic_load(&session->process.shared->log.reach) > 0);
    session->times.now_ns += 1000000000;
    CU_ASSERT_FALSE(calls_log_wants_flush(session));
    CU_ASSERT_EQUAL(atomic_load(&session->process.shared->log.reach), 0);
    CU_ASSERT_TRUE(made_said(&logged.made, "has reached its largest size"));
    made_end(&logged.made);
    close(fd);
    unlink(path);
}

static void test_depth(void)
{
    static struct logged logged;
    make(&logged);
    struct calls_program *session = &logged.made.session;
    CU_ASSERT_EQUAL(atomic_load(&session->process.shared->log.reach), PROBE_LOG_DEPTH_MAX);
    session->options.depth = 3;
    calls_log_begin(session);
    CU_ASSERT_EQUAL(atomic_load(&session->process.shared->log.depth), 3);
    CU_ASSERT_EQUAL(atomic_load(&session->process.shared->log.reach), 3);
    made_end(&logged.made);
}

void sprof_suite_calls_log(void);

void sprof_suite_calls_log(void)
{
    CU_pSuite suite = CU_add_suite("calls/log", NULL, NULL);
    CU_add_test(suite, "nested calls", test_nested);
    CU_add_test(suite, "a suspended call", test_apart);
    CU_add_test(suite, "open calls", test_open);
    CU_add_test(suite, "another order", test_other_order);
    CU_add_test(suite, "a unit that is not filled", test_unfilled);
    CU_add_test(suite, "a clear", test_clear);
    CU_add_test(suite, "a clear in a recursion", test_clear_recursion);
    CU_add_test(suite, "calls without room", test_not_logged);
    CU_add_test(suite, "a recording that is full", test_full);
    CU_add_test(suite, "depth", test_depth);
}
