/* Commands that switch probes by name, number and address, and what they refuse. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

static const struct probing_way backend = {.has_agent = true};

enum { ALPHA, BETA, GAMMA, DELTA, FUNCTIONS }; /* gamma is spare, delta has no probe */
enum { BIAS = 0x10000 };

struct ranges {
    struct made made;
    struct plan_function functions[FUNCTIONS];
    struct sprof_error error;
};

static void make(struct ranges *ranges)
{
    static const char *const names[] = {"alpha", "beta", "gamma", "delta"};
    made_begin(&ranges->made, &backend, FUNCTIONS);
    ranges->error = (struct sprof_error){0};
    for (size_t i = 0; i < FUNCTIONS; i++)
        ranges->functions[i] = (struct plan_function){.start = 0x100 * (i + 1),
                                                      .end = 0x100 * (i + 2),
                                                      .site = 0x100 * (i + 1),
                                                      .name = names[i],
                                                      .mechanism = PLAN_PROLOGUE};
    ranges->functions[DELTA].mechanism = PLAN_NOT;
    ranges->functions[DELTA].why = PLAN_TOO_SHORT;
    made_file(&ranges->made, "/app/program", BIAS, ranges->functions, FUNCTIONS);
    for (size_t i = 0; i < DELTA; i++)
        made_probe(&ranges->made, (struct probing_probe){.function = &ranges->functions[i],
                                                         .tier = PROBE_FULL,
                                                         .is_chosen = i != GAMMA,
                                                         .is_spare = i == GAMMA});
    CU_ASSERT_EQUAL_FATAL(probing_ranges_begin(&ranges->made.session, NULL), 0);
    probing_switch(&ranges->made.session);
}

static int change(struct ranges *ranges, const char *text)
{
    char cut[200];
    snprintf(cut, sizeof cut, "%s", text);
    return probing_change_ranges(&ranges->made.session, cut, &ranges->error);
}

/* The probes that are on, a letter each. */
static const char *on(const struct made *made)
{
    static const char letters[] = "abcd";
    static char text[FUNCTIONS + 1];
    size_t length = 0;
    for (size_t i = 0; i < made->session.probes.count; i++)
        if (made_tier(made, i) != PROBE_OFF)
            text[length++] = letters[i];
    text[length] = 0;
    return text;
}

static void test_sequence(void)
{
    static const struct {
        const char *change, *on;
    } steps[] = {
        {"-alpha", "b"},
        {"+alpha", "ab"},
        {"-alpha", "b"}, /* said again: it is the last one */
        {"-#2", "ab"},
        {"+#2 -beta", ""},
        {"-#1-4 +gamma", "c"},
        {"+#1,3-4", "ac"},
        {"-gamma -#2", "a"},
        {"-0x10100-0x10101", ""},
        {"+program!0x100-0x300", "ab"},
        {"+.", "abc"},
    };
    static struct ranges ranges;
    make(&ranges);
    CU_ASSERT_STRING_EQUAL(on(&ranges.made), "ab");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        CU_ASSERT_EQUAL(change(&ranges, steps[i].change), 0);
        CU_ASSERT_STRING_EQUAL(on(&ranges.made), steps[i].on);
    }
    made_end(&ranges.made);
}

/* A spare probe that a command adds is chosen, and stays so. */
static void test_spare(void)
{
    static struct ranges ranges;
    make(&ranges);
    const struct probing_probe *gamma = &ranges.made.session.probes.items[GAMMA];
    CU_ASSERT_EQUAL(change(&ranges, "+gamma"), 0);
    CU_ASSERT_TRUE(gamma->is_chosen && !gamma->is_spare);
    CU_ASSERT_EQUAL(change(&ranges, "-gamma"), 0);
    CU_ASSERT_TRUE(gamma->is_chosen && !gamma->is_on);
    made_end(&ranges.made);
}

static void test_numbers_stay(void)
{
    static struct ranges ranges;
    make(&ranges);
    const struct probing_program *session = &ranges.made.session;
    CU_ASSERT_EQUAL(change(&ranges, "-alpha -beta -alpha"), 0);
    CU_ASSERT_EQUAL_FATAL(session->ranges.count, 3);
    CU_ASSERT_EQUAL(session->ranges.items[0].number, 1);
    CU_ASSERT_STRING_EQUAL(session->ranges.items[0].text, "+.*");
    CU_ASSERT_EQUAL(session->ranges.items[0].sites, 2); /* the chosen ones */
    CU_ASSERT_EQUAL(session->ranges.items[1].number, 3);
    CU_ASSERT_EQUAL(session->ranges.items[2].number, 2);
    CU_ASSERT_EQUAL(probing_ranges_decide(session, ALPHA), '-');
    CU_ASSERT_EQUAL(probing_ranges_decide(session, GAMMA), 0);
    made_end(&ranges.made);
}

/* A mistake changes nothing, whatever was right before it. */
static void test_refused(void)
{
    static const struct {
        const char *change, *said;
    } cases[] = {
        {"alpha", "`alpha` is no change of probes"},
        {"+", "is no change of probes"},
        {"-#9", "there is no range #9: `sprof ctl list` shows 1"},
        {"-#0", "is no list of numbers"},
        {"-#1-", "is no list of numbers"},
        {"-#1;2", "is no list of numbers"},
        {"+#99999999999999999999999", "is no list of numbers"},
        {"-alpha +alhpa", "`alhpa` finds no function that has a probe; near it: alpha"},
        {"-alpha +delta", "a probe: delta has none\nnone can be placed there: "
                          "`sprof probes --refused -p 4711` says why"},
        {"-alpha +(", "("},
        {"-alpha +100-200", "addresses begin with 0x"},
        {"-alpha +program!alpha", "of one file only addresses can be chosen"},
        {"-alpha +0x10-0x20", "the nearest is alpha, at 0x10100 in the process, program!0x100"},
        {"-alpha +other!0x10-0x20", "there are no probes in a file `other`: there are in program"},
        {"-alpha +0x10-", "`0x10-` is no range of addresses"},
    };
    static struct ranges ranges;
    make(&ranges);
    ranges.made.session.options.pid = 4711;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CU_ASSERT_EQUAL(change(&ranges, cases[i].change), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(ranges.error.message, cases[i].said));
        CU_ASSERT_STRING_EQUAL(on(&ranges.made), "ab");
        CU_ASSERT_EQUAL(ranges.made.session.ranges.count, 1);
    }
    made_end(&ranges.made);
}

/* Why a function that was not chosen has no probe depends on how the program was entered. */
static void test_why_none(void)
{
    static const struct probing_way listens = {.only_embedded = true, .has_agent = true},
                                    by_kernel = {0};
    static struct ranges ranges;
    make(&ranges);
    struct probing_program *session = &ranges.made.session;
    const struct {
        const struct probing_way *backend;
        uint64_t rest_ns;
        bool has_all_spares;
        const char *said;
    } cases[] = {
        {&listens, 0, true, "a process that listens has only the probes in its files"},
        {&by_kernel, 0, true, "by uprobes, with --children"},
        {&backend, TRACE_NEVER, true, "with --rest off probes are placed when the trace begins"},
        {&backend, 0, false, "the program has too many functions"},
        {&backend, 0, true, "functions of modules that --module did not choose"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        session->way = cases[i].backend;
        session->options.rest_ns = cases[i].rest_ns;
        session->has_all_spares = cases[i].has_all_spares;
        CU_ASSERT_EQUAL(probing_refuse_empty_range(session, "nowhere", &ranges.error),
                        SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(ranges.error.message, cases[i].said));
    }
    session->way = &backend;
    made_end(&ranges.made);
}

static void test_modes(void)
{
    static struct ranges ranges;
    make(&ranges);
    struct probing_program *session = &ranges.made.session;
    session->paused = true;
    session->probes.items[BETA].tier = PROBE_LEAVE;
    probing_switch(session);
    CU_ASSERT_EQUAL(made_tier(&ranges.made, ALPHA), PROBE_OFF);
    CU_ASSERT_EQUAL(made_tier(&ranges.made, BETA), PROBE_LEAVE | PROBE_QUIET);
    session->paused = false;
    session->mode = TRACE_COVERAGE;
    atomic_store(&session->process.shared->hits[BETA].first, 1);
    probing_switch(session);
    CU_ASSERT_EQUAL(made_tier(&ranges.made, ALPHA), PROBE_COVER);
    CU_ASSERT_EQUAL(made_tier(&ranges.made, BETA), PROBE_LEAVE | PROBE_QUIET); /* it was called */
    session->mode = TRACE_STATS;
    session->probes.items[ALPHA].governed = PROBING_GOVERNED_COUNT;
    probing_switch(session);
    CU_ASSERT_EQUAL(made_tier(&ranges.made, ALPHA), PROBE_COUNT);
    CU_ASSERT_EQUAL(made_tier(&ranges.made, BETA), PROBE_LEAVE);
    made_end(&ranges.made);
}

/* A program that is executed later has the ranges of the others, for its own functions. */
static void test_adopted(void)
{
    static struct ranges ranges, later;
    make(&ranges);
    make(&later);
    CU_ASSERT_EQUAL(change(&ranges, "-alpha -beta +alpha"), 0);
    later.made.session.probes.count = 1; /* alpha alone */
    CU_ASSERT_EQUAL(probing_ranges_adopt(&later.made.session, &ranges.made.session), 0);
    probing_switch(&later.made.session);
    CU_ASSERT_STRING_EQUAL(on(&later.made), "a");
    CU_ASSERT_EQUAL_FATAL(later.made.session.ranges.count, 4);
    CU_ASSERT_EQUAL(later.made.session.ranges.items[2].number, 3);
    CU_ASSERT_EQUAL(later.made.session.ranges.items[1].sites, 1);
    CU_ASSERT_EQUAL(later.made.session.ranges.items[2].sites, 0);
    made_end(&later.made);
    made_end(&ranges.made);
}

/* With --children a range without functions is no mistake, and the answer says so. */
static void test_empty_for_later_programs(void)
{
    static struct ranges ranges;
    struct sprof_str answer = {0};
    make(&ranges);
    struct probing_program *session = &ranges.made.session;
    ranges.made.trace.may_grow = true;
    CU_ASSERT_EQUAL(change(&ranges, "+bata"), 0);
    CU_ASSERT_EQUAL(probing_ranges_append_empty(session, 0, &answer, &ranges.error), 0);
    CU_ASSERT_STRING_EQUAL(answer.text,
                           "\n`bata` finds no function that has a probe; near it: beta; it holds "
                           "for programs that are executed from now on");
    sprof_str_release(&answer);
    made_end(&ranges.made);
}

void sprof_suite_probing_ranges(void);

void sprof_suite_probing_ranges(void)
{
    CU_pSuite suite = CU_add_suite("probing/ranges", NULL, NULL);
    CU_add_test(suite, "a sequence of commands", test_sequence);
    CU_add_test(suite, "a spare probe", test_spare);
    CU_add_test(suite, "numbers stay", test_numbers_stay);
    CU_add_test(suite, "mistakes", test_refused);
    CU_add_test(suite, "why a function has no probe", test_why_none);
    CU_add_test(suite, "pauses and modes", test_modes);
    CU_add_test(suite, "a later program", test_adopted);
    CU_add_test(suite, "empty ranges of later programs", test_empty_for_later_programs);
}
