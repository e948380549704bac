/* What a user reads of ranges that hold no function. */
#include "probing/empty_range.h"
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

static const struct probing_way agent = {.has_agent = true}, kernel = {.has_agent = false},
                                listens = {.has_agent = true, .only_embedded = true};

enum { PARSE, PARSE_LINE, LEFT_OUT, SHORT, FUNCTIONS };
enum { BIAS = 0x400000, EACH = 0x100 };

static struct made made;
static struct plan_function functions[FUNCTIONS];
static struct sprof_error error;

/* parse and parse_line have probes, left_out could have one, and too_short none. */
static void begin(const struct probing_way *way)
{
    static const char *const names[] = {"parse", "parse_line", "left_out", "too_short"};
    made_begin(&made, way, FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        functions[i] = (struct plan_function){.name = names[i],
                                              .linkage_name = names[i],
                                              .start = (i + 1) * EACH,
                                              .end = (i + 1) * EACH + 0x40,
                                              .mechanism = i == SHORT ? PLAN_NOT : PLAN_PROLOGUE};
    functions[SHORT].why = PLAN_TOO_SHORT;
    made_file(&made, "/app/program", BIAS, functions, FUNCTIONS);
    for (size_t i = PARSE; i <= PARSE_LINE; i++)
        made_probe(&made, (struct probing_probe){
                              .function = &functions[i], .tier = PROBE_FULL, .is_chosen = true});
    made.session.has_all_spares = true;
    made.session.options.pid = 42;
    error = (struct sprof_error){0};
}

/* Whether the refusal holds all of this. */
static bool says(const char *text, const char *part, const char *other)
{
    CU_ASSERT_EQUAL(probing_refuse_empty_range(&made.session, text, &error), SPROF_EUSAGE);
    const bool is = strstr(error.message, part) && strstr(error.message, other);
    if (!is)
        printf("\n    %s", error.message);
    return is;
}

static void test_names(void)
{
    begin(&agent);
    CU_ASSERT_TRUE(says("pasre_line", "`pasre_line` finds no function that has a probe", ""));
    CU_ASSERT_TRUE(says("parse_lime", "; near it: parse_line", ""));
    CU_ASSERT_TRUE(says("^lefd_out$", "; near it: left_out (without a probe)", ""));
    CU_ASSERT_TRUE(says("left_out", ": left_out has none", "modules that --module"));
    CU_ASSERT_TRUE(says("too_short", ": too_short has none",
                        "none can be placed there: `sprof probes --refused -p 42` says why"));
    CU_ASSERT_TRUE(says("_out$|short", ": 2 functions have none, such as left_out", "modules that"));
    CU_ASSERT_TRUE(says("children:left_out:3", "`left_out` finds no", ": left_out has"));
    CU_ASSERT_EQUAL(probing_refuse_empty_range(&made.session, "([", &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NULL(strstr(error.message, "finds no function")); /* it is no expression */
    made_end(&made);
}

/* Of modules that were not chosen, nothing is known. */
static void test_other_modules(void)
{
    begin(&agent);
    made.session.files.items[0].is_chosen = false;
    CU_ASSERT_TRUE(says("left_out", "`left_out` finds no function that has a probe\n", ""));
    made_end(&made);
}

/* Texts that were to be something else. */
static void test_meanings(void)
{
    static const char with_remains[] = {0, '!', 0};
    begin(&agent);
    CU_ASSERT_TRUE(says("4000-40ff", "addresses begin with 0x", ""));
    CU_ASSERT_TRUE(says("program!pasre", "only addresses can be chosen, +FILE!0xA-0xB", ""));
    CU_ASSERT_TRUE(says("foo +bar", "each change begins with + or -", ""));
    CU_ASSERT_FALSE(strstr(error.message, "addresses begin"));
    CU_ASSERT_TRUE(says(with_remains, "`` finds no function", ""));
    CU_ASSERT_PTR_NULL(strstr(error.message, "of one file only"));
    made_end(&made);
}

/* Why no function of a trace can be added. */
static void test_reasons(void)
{
    begin(&listens);
    CU_ASSERT_TRUE(says("left_out", "a process that listens has only the probes in its files", ""));
    made_end(&made);
    begin(&kernel);
    CU_ASSERT_TRUE(says("left_out", "by uprobes, with --children and with --all-points", ""));
    made_end(&made);
    begin(&agent);
    made.session.options.rest_ns = TRACE_NEVER;
    CU_ASSERT_TRUE(says("left_out", "with --rest off probes are placed", ""));
    made.session.options.rest_ns = 0;
    made.session.has_all_spares = false;
    CU_ASSERT_TRUE(says("left_out", "too many functions for all to be prepared", ""));
    made.session.options.children = true;
    CU_ASSERT_TRUE(says("left_out", "by uprobes, with --children", ""));
    made_end(&made);
}

static void test_addresses(void)
{
    begin(&agent);
    CU_ASSERT_TRUE(says("0x400110-0x400120", "covers the entry of no function",
                        "the nearest is parse, at 0x400100 in the process, program!0x100"));
    CU_ASSERT_TRUE(says("0x4001f0-0x4001f8", "the nearest is parse_line, at 0x400200", ""));
    CU_ASSERT_TRUE(says("program!0x1f0-0x1f1", "the nearest is parse_line", "program!0x200"));
    CU_ASSERT_TRUE(says("0x0-0x1", "the nearest is parse,", ""));
    CU_ASSERT_TRUE(says("0xfffffffffffffffe-0xffffffffffffffff", "nearest is parse_line", ""));
    CU_ASSERT_TRUE(says("lib.so!0x10-0x20", "no probes in a file `lib.so`", "are in program"));
    CU_ASSERT_TRUE(says("0x20-0x10", "is empty: its end must be behind", ""));
    CU_ASSERT_TRUE(says("0x20", "is no range of addresses", ""));
    for (size_t i = 0; i < made.session.probes.count; i++)
        made.session.probes.items[i].is_chosen = false;
    CU_ASSERT_TRUE(says("program!0x10-0x20", "no probes in a file `program`", ""));
    made_end(&made);
}

/* With --children a range may wait for later programs. */
static void test_later_programs(void)
{
    static const uint8_t none[FUNCTIONS];
    const struct probing_range ranges[] = {
        {.number = 1, .text = "+.*", .sites = 2, .since_ns = 5},
        {.number = 2, .text = "-left_out", .holds = (uint8_t *)(uintptr_t)none, .since_ns = 9},
        {.number = 3, .text = "+parse_lime", .holds = (uint8_t *)(uintptr_t)none, .since_ns = 3}};
    struct sprof_str answer = {0};
    begin(&agent);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&made.session.ranges, ranges[i]), 0);
    CU_ASSERT_EQUAL(probing_ranges_append_empty(&made.session, 10, &answer, &error), 0);
    CU_ASSERT_PTR_NULL(answer.text); /* all of them are older */
    CU_ASSERT_EQUAL(probing_ranges_append_empty(&made.session, 4, &answer, &error), 0);
    CU_ASSERT_STRING_EQUAL(answer.text,
                           "\n`left_out` finds no function that has a probe: left_out has none; it "
                           "holds for programs that are executed from now on");
    sprof_str_release(&answer);
    CU_ASSERT_EQUAL(probing_ranges_append_empty(&made.session, 0, &answer, &error), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer.text, "\n`parse_lime` finds"));
    CU_ASSERT_PTR_NOT_NULL(strstr(answer.text, "; near it: parse_line; it holds for"));
    sprof_str_release(&answer);
    made_end(&made);
}

void sprof_suite_probing_empty_range(void);
void sprof_suite_probing_empty_range(void)
{
    CU_pSuite suite = CU_add_suite("probing/empty_range", NULL, NULL);
    CU_add_test(suite, "names", test_names);
    CU_add_test(suite, "other modules", test_other_modules);
    CU_add_test(suite, "meanings", test_meanings);
    CU_add_test(suite, "reasons", test_reasons);
    CU_add_test(suite, "addresses", test_addresses);
    CU_add_test(suite, "later programs", test_later_programs);
}
