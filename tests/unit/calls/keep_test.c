/* Kept calls, their callers, requests and notes, from units as the agent writes them. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { OUTER, INNER, HANDLE, FUNCTIONS };
enum { LATE = 1, AT_ONCE = 2 }; /* rules: no call meets the first one here */

struct kept {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    struct calls_thread *thread;
    const struct store_batch *batch;
};

/* With a rule that the tracer decides, callers of calls that are not kept are read, too. */
static void make(struct kept *kept, bool is_late)
{
    static const char *const names[] = {"outer", "inner", "handle"};
    made_begin(&kept->made, &in_memory, FUNCTIONS);
    struct calls_program *session = &kept->made.session;
    for (size_t i = 0; i < FUNCTIONS; i++)
        kept->functions[i] = (struct plan_function){.name = names[i], .start = 0x100 * (i + 1)};
    made_file(&kept->made, "/app/program", 0, kept->functions, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&kept->made, (struct probing_probe){.function = &kept->functions[i],
                                                       .tier = PROBE_FULL,
                                                       .is_chosen = true});
    const struct calls_rule late = {.rule = {.late_count = is_late}, .text = (char *)"late"},
                            at_once = {.text = (char *)"at once"};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->all->kept.rules, late) ||
                              sprof_vec_push(&session->all->kept.rules, at_once),
                          0);
    counters_read_clocks(&session->times.start.ns, &session->times.start.ticks);
    session->run->start_monotonic_ns = session->times.start.ns - 1000000000;
    calls_take_time(session);
    CU_ASSERT_EQUAL_FATAL(calls_compare_clocks(session), 0);
    kept->thread = session->threads.of_slab[0];
    kept->batch = recording_batch(session->recording);
}

static void unmake(struct kept *kept)
{
    sprof_vec_release(&kept->made.trace.kept.rules);
    sprof_vec_release(&kept->made.session.kept.requests);
    made_end(&kept->made);
}

static uint64_t ticks_at(const struct kept *kept, uint64_t ticks)
{
    return kept->made.session.times.start.ticks + ticks;
}

static void begin(struct kept *kept, uint32_t function, uint32_t number, uint32_t caller,
                  uint64_t ticks)
{
    const struct probe_kept unit = {.header = probe_log_header(0, PROBE_LOG_BEGIN, 0, 0, function),
                                    .begin = ticks_at(kept, ticks),
                                    .number = number,
                                    .caller = caller};
    CU_ASSERT_EQUAL(calls_keep_take(&kept->made.session, kept->thread, &unit, 0), 0);
}

static void end(struct kept *kept, uint32_t function, uint32_t number, uint32_t caller,
                uint64_t from, uint64_t to, uint64_t rules)
{
    const struct probe_kept unit = {.header = probe_log_header(0, PROBE_LOG_END, 0, 0, function),
                                    .begin = ticks_at(kept, from),
                                    .end = ticks_at(kept, to),
                                    .total = (int64_t)(to - from),
                                    .self = 1,
                                    .number = number,
                                    .caller = caller,
                                    .rules = rules};
    CU_ASSERT_EQUAL(calls_keep_take(&kept->made.session, kept->thread, &unit, 0), 0);
}

static void remark_at(struct kept *kept, uint32_t function, uint64_t begin_ticks, uint64_t kind,
                      uint64_t value, uint64_t ticks)
{
    struct {
        struct probe_remark unit;
        char texts[PROBE_UNIT_BYTES];
    } remark = {{.time = ticks_at(kept, ticks),
                 .kind = kind,
                 .value = value,
                 .begin = ticks_at(kept, begin_ticks),
                 .function = function,
                 .key_bytes = 1},
                "k"};
    CU_ASSERT_EQUAL(
        calls_remark_take(&kept->made.session, kept->thread, &remark.unit, sizeof remark.texts), 0);
}

static void remark(struct kept *kept, uint32_t function, uint64_t begin_ticks, uint64_t kind,
                   uint64_t value)
{
    remark_at(kept, function, begin_ticks, kind, value, begin_ticks);
}

static void note_at(struct kept *kept, uint32_t function, uint64_t begin_ticks, uint64_t value,
                    uint64_t ticks)
{
    remark_at(kept, function, begin_ticks, PROBE_NOTE_NUMBER, value, ticks);
}

static void note(struct kept *kept, uint32_t function, uint64_t begin_ticks, uint64_t value)
{
    remark(kept, function, begin_ticks, PROBE_NOTE_NUMBER, value);
}

static void clear(struct kept *kept, uint64_t ticks)
{
    kept->made.session.times.cleared.ticks = ticks_at(kept, ticks);
    calls_keep_clear(&kept->made.session);
}

static const struct store_kept_call *last(const struct kept *kept)
{
    CU_ASSERT_FATAL(kept->batch->kept_calls.count > 0);
    return &kept->batch->kept_calls.items[kept->batch->kept_calls.count - 1];
}

/* Calls of which the tracer decides that they are not kept take no number for good. */
static void test_numbers(void)
{
    static struct kept kept;
    make(&kept, true);
    begin(&kept, OUTER, 1, 0, 10);
    for (uint32_t i = 2; i < 100; i++)
        end(&kept, INNER, i, 1, i * 100, i * 100 + 10, LATE);
    CU_ASSERT_EQUAL(kept.batch->kept_calls.count, 0);
    CU_ASSERT_EQUAL(kept.made.trace.kept.rows, 1);
    end(&kept, INNER, 100, 1, 20000, 20010, AT_ONCE);
    CU_ASSERT_EQUAL(last(&kept)->number, 2);
    CU_ASSERT_EQUAL(last(&kept)->caller, 1);
    end(&kept, OUTER, 1, 0, 10, 30000, 0);
    CU_ASSERT_EQUAL(last(&kept)->number, 1);
    end(&kept, OUTER, 101, 0, 30010, 30020, LATE);
    CU_ASSERT_EQUAL(kept.made.trace.kept.rows, 2);
    unmake(&kept);
}

/* A suspended coroutine's call has no caller where that one's row is cleared away, or it ended
 * before the clear. */
static void test_cleared_callers(void)
{
    static struct kept kept;
    make(&kept, false);
    begin(&kept, OUTER, 1, 0, 10);
    begin(&kept, INNER, 2, 1, 20);
    end(&kept, OUTER, 1, 0, 10, 30, AT_ONCE);
    begin(&kept, OUTER, 3, 0, 40);
    begin(&kept, INNER, 4, 3, 50);
    begin(&kept, OUTER, 5, 0, 55);
    begin(&kept, INNER, 6, 5, 56);
    clear(&kept, 100);
    end(&kept, OUTER, 3, 0, 40, 60, AT_ONCE);
    end(&kept, INNER, 2, 0, 20, 200, AT_ONCE);
    CU_ASSERT_EQUAL(last(&kept)->caller, 0);
    end(&kept, INNER, 4, 0, 50, 210, AT_ONCE);
    CU_ASSERT_EQUAL(last(&kept)->caller, 0);
    end(&kept, INNER, 6, 0, 56, 220, AT_ONCE);
    const uint32_t caller = last(&kept)->caller;
    end(&kept, OUTER, 5, 0, 55, 230, AT_ONCE);
    CU_ASSERT_NOT_EQUAL(caller, 0);
    CU_ASSERT_EQUAL(last(&kept)->number, caller);
    unmake(&kept);
}

/* Calls in a deep recursion belong to the request at its bottom, and are found in a few steps each.
 * The agent writes the callers innermost first. */
static void test_deep_request(void)
{
    enum { DEPTH = 10000 };
    static struct kept kept;
    make(&kept, false);
    struct calls_program *session = &kept.made.session;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->kept.requests, i == HANDLE), 0);
    for (uint32_t i = 1; i <= DEPTH; i++)
        begin(&kept, i == DEPTH ? HANDLE : INNER, i, i == DEPTH ? 0 : i + 1, 20000 - i);
    end(&kept, INNER, DEPTH + 1, 1, 20001, 20002, AT_ONCE);
    for (uint32_t i = 1; i <= DEPTH; i++)
        end(&kept, i == DEPTH ? HANDLE : INNER, i, i == DEPTH ? 0 : i + 1, 20000 - i, 20002 + i, 0);
    const uint64_t request = last(&kept)->number;
    size_t others = 0;
    for (size_t i = 0; i < kept.batch->kept_calls.count; i++)
        others += kept.batch->kept_calls.items[i].request != request;
    CU_ASSERT_EQUAL(kept.batch->kept_calls.count, DEPTH + 1);
    CU_ASSERT_EQUAL(others, 0);
    CU_ASSERT_EQUAL(kept.batch->request_parts.count, 1);
    /* calls outside belong to none */
    end(&kept, INNER, DEPTH + 2, 0, 90001, 90002, AT_ONCE);
    CU_ASSERT_EQUAL(last(&kept)->request, 0);
    unmake(&kept);
}

/* The number of notes of the last row, and the value of its first one. */
static size_t notes_of(const struct kept *kept, const char *value)
{
    const uint32_t number = last(kept)->number;
    size_t count = 0;
    for (size_t i = 0; i < kept->batch->call_values.count; i++) {
        const struct store_call_value *row = &kept->batch->call_values.items[i];
        if (row->call_number == number && !count++)
            CU_ASSERT_STRING_EQUAL(row->value, value);
    }
    return count;
}

/* The agent makes a clear the beginning of calls that are open. Notes from before are cleared, also
 * those that are read later; a call that was noted before it has its notes from after it. */
static void test_cleared_notes(void)
{
    static struct kept kept;
    make(&kept, false);
    note(&kept, HANDLE, 10, 1);
    note(&kept, INNER, 45, 99); /* it ends unkept */
    clear(&kept, 100);
    note(&kept, INNER, 46, 98);
    end(&kept, INNER, 1, 0, 100, 190, AT_ONCE); /* another one, which was open, too */
    CU_ASSERT_EQUAL(notes_of(&kept, ""), 0);
    note_at(&kept, HANDLE, 10, 7, 195);
    note_at(&kept, HANDLE, 100, 8, 196);
    end(&kept, HANDLE, 2, 0, 100, 200, AT_ONCE);
    CU_ASSERT_EQUAL(notes_of(&kept, "7"), 2);
    note_at(&kept, HANDLE, 300, 9, 305);
    end(&kept, HANDLE, 3, 0, 300, 310, AT_ONCE);
    CU_ASSERT_EQUAL(notes_of(&kept, "9"), 1);
    /* one that is not yet renewed has its own beginning */
    note_at(&kept, HANDLE, 400, 9, 401);
    clear(&kept, 500);
    note_at(&kept, HANDLE, 400, 10, 505);
    end(&kept, HANDLE, 4, 0, 400, 600, AT_ONCE);
    CU_ASSERT_EQUAL(notes_of(&kept, "10"), 1);
    unmake(&kept);
}

/* Notes of calls that were not kept make room for others; those of a call that is open stay. */
static void test_room_for_notes(void)
{
    static struct kept kept;
    make(&kept, false);
    note(&kept, OUTER, 10, 1);
    for (uint64_t i = 0; i < 3000; i++)
        note(&kept, i % 2 ? INNER : HANDLE, 20 + i, i);
    CU_ASSERT_EQUAL(kept.made.trace.kept.remarks_lost, 0);
    note(&kept, OUTER, 10, 2);
    end(&kept, OUTER, 1, 0, 10, 5000, AT_ONCE);
    CU_ASSERT_EQUAL(notes_of(&kept, "1"), 2);
    for (uint64_t i = 0; i < 1024 + 5; i++)
        note(&kept, OUTER, 6000, i);
    CU_ASSERT_EQUAL(kept.made.trace.kept.remarks_lost, 5);
    unmake(&kept);
}

/* Views add up how long threads worked, so no part lasts longer than the trace. */
static void test_overwritten_times(void)
{
    static struct kept kept;
    make(&kept, false);
    for (int i = 0; i < 3; i++) {
        remark(&kept, HANDLE, 10, PROBE_REQUEST, 5);
        remark(&kept, HANDLE, UINT64_C(1) << 62, PROBE_REQUEST_END, 0);
    }
    CU_ASSERT_FATAL(kept.batch->request_parts.count >= 6);
    for (size_t i = 0; i < kept.batch->request_parts.count; i++)
        CU_ASSERT_TRUE(kept.batch->request_parts.items[i].duration_ns < UINT64_C(1) << 60);
    unmake(&kept);
}

/* Beside --request the program's own requests, which may have the same numbers, are none. */
static void test_both_requests(void)
{
    static struct kept kept;
    make(&kept, false);
    remark(&kept, HANDLE, 10, PROBE_REQUEST, 5);
    CU_ASSERT_EQUAL(kept.batch->request_parts.count, 1);
    remark(&kept, HANDLE, 20, PROBE_REQUEST_END, 0);
    kept.made.session.options.kept.requests_of = &(struct rules_capture){.text = "^handle$"};
    const size_t before = kept.batch->request_parts.count;
    remark(&kept, HANDLE, 30, PROBE_REQUEST, 1);
    remark(&kept, HANDLE, 40, PROBE_REQUEST_END, 0);
    CU_ASSERT_EQUAL(kept.batch->request_parts.count, before);
    CU_ASSERT_TRUE(made_said(&kept.made, "which is not recorded"));
    remark(&kept, HANDLE, 50, PROBE_REQUEST, 1);
    CU_ASSERT_FALSE(made_said(&kept.made, "which is not recorded"));
    unmake(&kept);
}

/* Values are read by what was noted when they were written, whatever is noted since. */
static void test_replaced_values(void)
{
    static struct kept kept;
    struct {
        struct probe_kept unit;
        struct probe_kept_values values;
    } valued = {{.header = probe_log_header(0, PROBE_LOG_END, 0, PROBE_VALUES_UNITS, INNER),
                 .number = 1,
                 .rules = AT_ONCE},
                {.words = {1, 2, 3, 4, 5, 6}, .has_words = 1, .error = PROBE_NO_ERROR}};
    static const struct calls_noted before = {.function = INNER},
                                    now = {.function = INNER, .is_hidden = true},
                                    other = {.function = OUTER};
    const uint32_t places[] = {10, 0, 20, 30, 15, 40};
    const size_t rows[] = {6, 6, 6, 6, 6, 6};
    make(&kept, false);
    struct calls_values *values = &kept.made.session.values;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&values->noted, i == INNER ? &now : NULL), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&values->places, ((struct calls_noted_place){10, &before})) ||
                        sprof_vec_push(&values->places, ((struct calls_noted_place){20, &now})) ||
                        sprof_vec_push(&values->places, ((struct calls_noted_place){30, &other})),
                    0);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        valued.unit.place = places[i];
        CU_ASSERT_EQUAL(
            calls_keep_take(&kept.made.session, kept.thread, &valued.unit, PROBE_VALUES_UNITS), 0);
        CU_ASSERT_EQUAL(kept.batch->call_values.count, rows[i]);
    }
    CU_ASSERT_PTR_EQUAL(calls_values_noted(&kept.made.session.values, OUTER, 30), &other);
    calls_values_release(values);
    unmake(&kept);
}

/* Where the agent has no room for what a rule tests, that is said once, and not that no function
 * has it. */
static void test_full_values(void)
{
    static struct kept kept;
    make(&kept, false);
    struct calls_program *session = &kept.made.session;
    struct rules_keep *rule = &session->all->kept.rules.items[0].rule;
    rule->tests[0] =
        (struct rules_keep_test){.name = "arg1", .name_length = 4, .low = 3, .high = 3};
    rule->test_count = 1;
    session->options.kept.arguments = true;
    for (uint32_t i = 0; i < FUNCTIONS; i++)
        atomic_store(&session->process.shared->keep_of.masks[i], 1);
    session->values.used = PROBE_VALUE_ROOM - 1;
    CU_ASSERT_EQUAL(calls_values_begin(session, 0, NULL), 0);
    CU_ASSERT_EQUAL(session->all->kept.bound, 1);
    CU_ASSERT_PTR_NULL(strstr(kept.made.log.said.text, "no function has"));
    CU_ASSERT_PTR_NULL(calls_values_noted(&session->values, INNER, 0));
    CU_ASSERT_TRUE(made_said(&kept.made, "is used up"));
    session->values.used = 0;
    CU_ASSERT_EQUAL(calls_values_begin(session, 0, NULL), 0);
    const struct calls_noted *noted = calls_values_noted(&session->values, INNER, 0);
    const uint32_t place = session->process.shared->keep_of.values[INNER] & PROBE_VALUES_PLACE;
    CU_ASSERT_PTR_NOT_NULL(noted);
    CU_ASSERT_PTR_EQUAL(calls_values_noted(&session->values, INNER, place), noted);
    /* what the agent has goes on to be read by that */
    session->values.used = PROBE_VALUE_ROOM - 1;
    CU_ASSERT_EQUAL(calls_values_begin(session, 0, NULL), 0);
    CU_ASSERT_PTR_EQUAL(calls_values_noted(&session->values, INNER, 0), noted);
    CU_ASSERT_FALSE(made_said(&kept.made, "is used up"));
    calls_values_release(&session->values);
    unmake(&kept);
}

/* Whether the only rule rests from the start in a program that starts now. */
static bool rests_later(struct kept *kept)
{
    static struct made later;
    made_begin(&later, &in_memory, 1);
    later.session.all = &kept->made.trace;
    later.session.options.children = true;
    CU_ASSERT_EQUAL(calls_keep_begin(&later.session, 0, NULL), 0);
    const bool rests = atomic_load(&later.session.process.shared->keep.resting) & 1;
    later.session.all = &later.trace;
    made_end(&later);
    return rests;
}

static void ask(struct kept *kept)
{
    struct sprof_str answer = {0};
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL_FATAL(calls_keep_next(&kept->made.session, "^inner", &answer, &error), 0);
    sprof_str_release(&answer);
}

static void end_asked(struct kept *kept, uint32_t number, uint64_t begin)
{
    const uint64_t from = begin - ticks_at(kept, 0);
    end(kept, INNER, number, 0, from, from + 10, 1);
}

/* Calls answer the last question before they began, also where they are read after a later one. */
static void test_asked_again(void)
{
    static struct kept kept;
    make(&kept, false);
    struct calls_program *program = &kept.made.session;
    kept.made.trace.kept.rules.count = 0;
    ask(&kept);
    const uint64_t first = probe_ticks();
    CU_ASSERT_FALSE(rests_later(&kept));
    ask(&kept);
    end_asked(&kept, 1, first);
    CU_ASSERT_FALSE(rests_later(&kept));
    end_asked(&kept, 2, probe_ticks());
    CU_ASSERT_TRUE(rests_later(&kept));
    ask(&kept);
    CU_ASSERT_FALSE(rests_later(&kept));
    /* a call that is not read yet, or none: then that does not hold once the rings are read */
    atomic_fetch_or(&program->process.shared->keep.resting, UINT64_MAX);
    CU_ASSERT_TRUE(rests_later(&kept));
    CU_ASSERT_EQUAL(calls_collect_log(program), 0);
    CU_ASSERT_FALSE(rests_later(&kept));
    /* one without room is no answer either */
    ask(&kept);
    atomic_store(&program->process.shared->keep.rules[0].dropped, 1);
    calls_keep_read(program);
    CU_ASSERT_FALSE(rests_later(&kept));
    calls_keep_release(&kept.made.trace);
    unmake(&kept);
}

void sprof_suite_calls_keep(void);

void sprof_suite_calls_keep(void)
{
    CU_pSuite suite = CU_add_suite("calls/keep", NULL, NULL);
    CU_add_test(suite, "numbers of rows", test_numbers);
    CU_add_test(suite, "callers that are cleared away", test_cleared_callers);
    CU_add_test(suite, "a request far below", test_deep_request);
    CU_add_test(suite, "notes and a clear", test_cleared_notes);
    CU_add_test(suite, "requests whose times are overwritten", test_overwritten_times);
    CU_add_test(suite, "room for notes", test_room_for_notes);
    CU_add_test(suite, "two kinds of requests", test_both_requests);
    CU_add_test(suite, "values by an earlier layout", test_replaced_values);
    CU_add_test(suite, "values without room", test_full_values);
    CU_add_test(suite, "calls asked for again", test_asked_again);
}
