/* What was in force when, as rows. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"

static const struct made_way in_memory = {.has_agent = true};

enum { ONE, TWO, FUNCTIONS };

struct history {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    struct plan_callee callees[2];
};

/* two calls one and itself. */
static void make(struct history *history)
{
    static const char *const names[] = {"one", "two"};
    made_begin(&history->made, &in_memory, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        history->functions[i] = (struct plan_function){.name = names[i],
                                                       .start = 0x100 * (i + 1),
                                                       .site = 0x100 * (i + 1) + 4,
                                                       .mechanism = PLAN_FENTRY};
    history->callees[0] = (struct plan_callee){.address = 0x100};
    history->callees[1] = (struct plan_callee){.address = 0x200};
    history->functions[TWO].callees = 2;
    made_file(&history->made, "/app/program", 0, history->functions, FUNCTIONS);
    history->made.session.files.items[0].plan.callees = history->callees;
    history->made.session.files.items[0].plan.callee_count = 2;
    for (size_t i = 0; i < FUNCTIONS; i++)
        made_probe(&history->made, (struct probing_probe){.function = &history->functions[i],
                                                          .tier = PROBE_FULL,
                                                          .is_chosen = true,
                                                          .is_placed = true,
                                                          .is_on = true});
}

/* The last event, as "WHAT CAUSE"; empty: there is no new one. */
static const char *look(struct history *history)
{
    static char text[64];
    const struct store_batch *batch = recording_batch(history->made.session.recording);
    const size_t before = batch->probe_events.count;
    CU_ASSERT_EQUAL(calls_history_serve(&history->made.session), 0);
    *text = 0;
    if (batch->probe_events.count > before) {
        const struct store_probe_event *event =
            &batch->probe_events.items[batch->probe_events.count - 1];
        snprintf(text, sizeof text, "%s %s", event->what, event->cause);
    }
    return text;
}

static void test_one_probe(void)
{
    static struct history history;
    make(&history);
    struct probing_probe *probe = &history.made.session.probes.items[ONE];
    CU_ASSERT_STRING_EQUAL(look(&history), "in start");
    CU_ASSERT_STRING_EQUAL(look(&history), "");
    probe->is_on = false;
    CU_ASSERT_STRING_EQUAL(look(&history), "off command");
    probe->rests = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "rests rest");
    probe->rests = false;
    probe->is_on = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "in command");
    probe->rests = true;
    probe->governed = PROBING_GOVERNED_OFF;
    CU_ASSERT_STRING_EQUAL(look(&history), "rests governor");
    probe->is_placed = false;
    CU_ASSERT_STRING_EQUAL(look(&history), "out governor");
    probe->governed = PROBING_GOVERNED_NOT;
    probe->rests = false;
    probe->is_placed = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "in command");
    probe->is_restored = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "out end");
    made_end(&history.made);
}

static void test_loaded_later(void)
{
    static struct history history;
    make(&history);
    struct calls_program *session = &history.made.session;
    session->probes.items[TWO].is_placed = false;
    CU_ASSERT_STRING_EQUAL(look(&history), "in start");
    session->files.items[0].is_loaded = true;
    session->probes.items[TWO].is_placed = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "in load");
    session->probes.items[TWO].is_placed = false;
    CU_ASSERT_STRING_EQUAL(look(&history), "out load");
    made_end(&history.made);
}

/* Of a function that was called for the first time the probe leaves. */
static void test_coverage(void)
{
    static struct history history;
    make(&history);
    struct calls_program *session = &history.made.session;
    session->mode = TRACE_COVERAGE;
    look(&history);
    session->probes.items[ONE].is_restored = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "out coverage");
    made_end(&history.made);
}

/* Spare probes have no history until a command adds them. */
static void test_spare(void)
{
    static struct history history;
    make(&history);
    struct calls_program *session = &history.made.session;
    session->probes.items[TWO].is_chosen = false;
    look(&history);
    CU_ASSERT_EQUAL(recording_batch(session->recording)->probes.count, 1);
    session->probes.items[TWO].is_chosen = true;
    CU_ASSERT_STRING_EQUAL(look(&history), "in command");
    CU_ASSERT_EQUAL(recording_batch(session->recording)->probes.count, 2);
    made_end(&history.made);
}

/* The row of a probe has its place, and how many other functions call it directly. */
static void test_described(void)
{
    static struct history history;
    make(&history);
    const struct store_batch *batch = recording_batch(history.made.session.recording);
    look(&history);
    CU_ASSERT_EQUAL_FATAL(batch->probes.count, 2);
    CU_ASSERT_STRING_EQUAL(batch->probes.items[ONE].mechanism, plan_mechanism_text(PLAN_FENTRY));
    CU_ASSERT_EQUAL(batch->probes.items[ONE].address, 0x104);
    CU_ASSERT_EQUAL(batch->probes.items[ONE].callers, 1);
    CU_ASSERT_EQUAL(batch->probes.items[TWO].callers, 0); /* it calls itself alone */
    CU_ASSERT_EQUAL(calls_history_describe(&history.made.session, ONE), 0);
    CU_ASSERT_EQUAL(batch->probes.count, 2);
    made_end(&history.made);
}

/* Another process that executes the same file begins no history of its own. */
static void test_second_process(void)
{
    static struct history history;
    make(&history);
    struct calls_program *session = &history.made.session;
    look(&history);
    const size_t events = recording_batch(session->recording)->probe_events.count;
    session->history.count = 0;
    session->history.is_begun = false;
    CU_ASSERT_STRING_EQUAL(look(&history), "");
    CU_ASSERT_EQUAL(recording_batch(session->recording)->probe_events.count, events);
    made_end(&history.made);
}

static void test_ranges(void)
{
    static struct history history;
    make(&history);
    struct calls_program *session = &history.made.session;
    const struct store_batch *batch = recording_batch(session->recording);
    char change[] = "-one", again[] = "-#2";
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&session->probing, NULL), 0);
    CU_ASSERT_EQUAL(calls_history_ranges(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->selections.count, 1);
    CU_ASSERT_STRING_EQUAL(batch->selections.items[0].cause, "start");
    CU_ASSERT_EQUAL(batch->selections.items[0].functions, 2);
    CU_ASSERT_EQUAL(batch->selections.items[0].end_ns, 0);
    CU_ASSERT_EQUAL(probing_change_ranges(&session->probing, change, NULL), 0);
    CU_ASSERT_EQUAL(calls_history_ranges(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->selections.count, 2);
    CU_ASSERT_STRING_EQUAL(batch->selections.items[1].cause, "command");
    CU_ASSERT_STRING_EQUAL(batch->selections.items[1].text, "-one");
    CU_ASSERT_EQUAL(probing_change_ranges(&session->probing, again, NULL), 0);
    CU_ASSERT_EQUAL(calls_history_ranges(session), 0);
    CU_ASSERT_EQUAL_FATAL(batch->selections.count, 3);
    CU_ASSERT(batch->selections.items[2].end_ns >= batch->selections.items[2].start_ns);
    CU_ASSERT_EQUAL(batch->selections.items[2].number, 2);
    CU_ASSERT_EQUAL(calls_history_ranges(session), 0);
    CU_ASSERT_EQUAL(batch->selections.count, 3);
    made_end(&history.made);
}

void sprof_suite_calls_history(void);

void sprof_suite_calls_history(void)
{
    CU_pSuite suite = CU_add_suite("calls/history", NULL, NULL);
    CU_add_test(suite, "one probe", test_one_probe);
    CU_add_test(suite, "a library that comes and goes", test_loaded_later);
    CU_add_test(suite, "coverage", test_coverage);
    CU_add_test(suite, "a spare probe", test_spare);
    CU_add_test(suite, "the row of a probe", test_described);
    CU_add_test(suite, "a second process", test_second_process);
    CU_add_test(suite, "ranges", test_ranges);
}
