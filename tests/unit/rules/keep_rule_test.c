/* Rules of --keep are read, and what is wrong with one is shown at its place. */
#include "rules/keep_rule.h"

#include <CUnit/CUnit.h>
#include <math.h>
#include <string.h>

/* A rule that does not parse: what the message says, and the column under which its caret stands.
 */
static void refused(const char *text, const char *wanted, int column)
{
    struct rules_keep rule;
    struct sprof_error error;
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, text, &error), SPROF_EUSAGE);
    const char *caret = strrchr(error.message, '\n');
    CU_ASSERT_PTR_NOT_NULL_FATAL(caret);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, wanted));
    CU_ASSERT_EQUAL(strlen(caret), 1 + 2 + (size_t)column + 1);
    CU_ASSERT_EQUAL(caret[strlen(caret) - 1], '^');
}

static void test_conditions(void)
{
    struct rules_keep rule;
    CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&rule, "over 20ms", NULL), 0);
    CU_ASSERT_TRUE(rule.has_over);
    CU_ASSERT_EQUAL(rule.over_ns, 20000000);
    CU_ASSERT_FALSE(rule.has_self);
    CU_ASSERT_PTR_NULL(rule.function);
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(
            &rule, "  self over 1.5us and throws and slowest 16 and every 7 and first 3 a second",
            NULL),
        0);
    CU_ASSERT_FALSE(rule.has_over);
    CU_ASSERT_TRUE(rule.has_self);
    CU_ASSERT_EQUAL(rule.self_ns, 1500);
    CU_ASSERT_TRUE(rule.throws);
    CU_ASSERT_EQUAL(rule.slowest, 16);
    CU_ASSERT_EQUAL(rule.every, 7);
    CU_ASSERT_EQUAL(rule.first, 3);
}

static void test_values(void)
{
    const struct {
        const char *text;
        int64_t low, high;
        double low_real, high_real;
        bool is_outside;
    } tests[] = {{"returns < 5", INT64_MIN, 4, -INFINITY, nextafter(5, 0), false},
                 {"returns <= 2.5", INT64_MIN, 2, -INFINITY, 2.5, false},
                 {"returns > -1", 0, INT64_MAX, nextafter(-1, 0), INFINITY, false},
                 {"returns >= 0x10", 16, INT64_MAX, 16, INFINITY, false},
                 {"returns = 7", 7, 7, 7, 7, false},
                 {"returns == 0.5", 1, 0, 0.5, 0.5, false},
                 {"returns=7", 7, 7, 7, 7, false},
                 {"returns <=-7", INT64_MIN, -7, -INFINITY, -7, false},
                 {"returns!=-3..4", -3, 4, -3, 4, true},
                 {"returns != -3..4", -3, 4, -3, 4, true},
                 {"returns null", 0, 0, 0, 0, false},
                 {"returns true", 0, 0, 0, 0, true},
                 {"returns != true", 0, 0, 0, 0, false},
                 {"returns 9007199254740993", 9007199254740993, 9007199254740993,
                  9007199254740992.0, 9007199254740992.0, false}};
    struct rules_keep rule;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&rule, tests[i].text, NULL), 0);
        CU_ASSERT_EQUAL_FATAL(rule.test_count, 1);
        CU_ASSERT_PTR_NULL(rule.tests[0].name);
        CU_ASSERT_EQUAL(rule.tests[0].low, tests[i].low);
        CU_ASSERT_EQUAL(rule.tests[0].high, tests[i].high);
        CU_ASSERT_EQUAL(rule.tests[0].low_real, tests[i].low_real);
        CU_ASSERT_EQUAL(rule.tests[0].high_real, tests[i].high_real);
        CU_ASSERT_EQUAL(rule.tests[0].is_outside, tests[i].is_outside);
    }
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, "over 1ms and size > 4096 and over = 1 : ^read", NULL),
                    0);
    CU_ASSERT_EQUAL(rule.test_count, 2);
    CU_ASSERT_EQUAL(rule.tests[0].name_length, 4);
    CU_ASSERT_EQUAL(memcmp(rule.tests[1].name, "over", 4), 0);
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, "q->size >=4096 and errno ==2 and n<5 : ^read", NULL),
                    0);
    CU_ASSERT_EQUAL(rule.late_count, 1);
    CU_ASSERT_EQUAL(rule.late[0].range.low, 4096);
    CU_ASSERT_EQUAL(rule.test_count, 2);
    CU_ASSERT_EQUAL(rule.tests[0].low, 2);
    CU_ASSERT_EQUAL(rule.tests[1].high, 4);
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, "call <lambda and throws <x", NULL), 0);
    CU_ASSERT_EQUAL(rule.test_count, 0);
    rules_keep_release(&rule);
    static const char *const wrong[] = {
        "n=>4",           "n=",
        "returns",        "returns <",
        "returns < null", "returns 4..3",
        "returns 1..",    "returns > 1e30",
        "returns x",      "n <> 4",
        "9n = 4",         "a = 1 and b = 1 and c = 1 and d = 1 and e = 1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(rules_keep_parse(&rule, wrong[i], NULL), SPROF_EUSAGE);
}

/* errno by name, a type in quotes, a load behind functions. */
static void test_errno_types_and_load(void)
{
    struct rules_keep rule;
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(&rule, "errno == ENOENT and returns < 0 and next 5", NULL), 0);
    CU_ASSERT_TRUE(rules_keep_is_errno(&rule.tests[0]));
    CU_ASSERT_FALSE(rules_keep_is_errno(&rule.tests[1]));
    CU_ASSERT_EQUAL(rule.tests[0].low, 2);
    CU_ASSERT_EQUAL(rule.tests[0].high, 2);
    CU_ASSERT_EQUAL(rule.next, 5);
    CU_ASSERT_FALSE(rule.waits);
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&rule, "next and throws : x", NULL), 0);
    CU_ASSERT_TRUE(rule.waits && rule.throws);
    CU_ASSERT_EQUAL(rule.next, 1);
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(&rule, "throws \"std::bad.*\" : ^a while cpu > 80 %", NULL), 0);
    CU_ASSERT_STRING_EQUAL(rule.expressions[RULES_KEEP_BY_THROWN], "std::bad.*");
    CU_ASSERT_STRING_EQUAL(rule.function, "^a");
    CU_ASSERT_EQUAL(rule.load, RULES_LOAD_CPU);
    CU_ASSERT_DOUBLE_EQUAL(rule.load_over, 0.8, 1e-9);
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&rule, "every 1 : a while p99 > 20ms", NULL), 0);
    CU_ASSERT_EQUAL(rule.load, RULES_LOAD_QUANTILE);
    CU_ASSERT_DOUBLE_EQUAL(rule.load_over, 2e7, 1);
    CU_ASSERT_DOUBLE_EQUAL(rule.quantile, 0.99, 1e-9);
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&rule, "over 1ms while rss > 1.5GiB", NULL), 0);
    CU_ASSERT_EQUAL(rule.load, RULES_LOAD_RSS);
    CU_ASSERT_DOUBLE_EQUAL(rule.load_over, 1.5 * (1 << 30), 1);
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(&rule, "throws Bad : \"a while b\" while calls/s > 10", NULL), 0);
    CU_ASSERT_STRING_EQUAL(rule.function, "a while b");
    CU_ASSERT_STRING_EQUAL(rule.expressions[RULES_KEEP_BY_THROWN], "Bad");
    CU_ASSERT_EQUAL(rule.load, RULES_LOAD_CALLS);
    rules_keep_release(&rule);
    static const char *const wrong[] = {"errno = ENOTHING",
                                        "errno = ",
                                        "next 0",
                                        "throws \"a",
                                        "throws \"\"",
                                        "over 1s while",
                                        "over 1s while cpu",
                                        "over 1s while cpu > 1",
                                        "every 1 : a while x > 1",
                                        "every 1 while p99 > 3",
                                        "every 1 while p > 3ms",
                                        "every 1 while p99 < 3ms",
                                        "every 1 while open > 3 %"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_ASSERT_EQUAL(rules_keep_parse(&rule, wrong[i], NULL), SPROF_EUSAGE);
}

/* Fields, texts, what changes, other calls and classes. */
static void test_late(void)
{
    struct rules_keep rule;
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(&rule,
                         "q->state >= 500 and exit.n = 3 and changed r.count and "
                         "path = \"/a \\\"b\\\"\" and id = 7 and returns != \"x\" : ^f",
                         NULL),
        SPROF_EUSAGE); /* five */
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, "a = 1 and b = 2 and c = 3 and d = 4 and errno", NULL),
                    SPROF_EUSAGE);
    CU_ASSERT_EQUAL(rule.test_count, 4);
    CU_ASSERT_EQUAL(rule.tests[0].low, 1);
    CU_ASSERT_EQUAL_FATAL(rules_keep_parse(&rule,
                                           "q->state >= 500 and exit.n = 3 and changed r.count and "
                                           "path = \"/a \\\"b: c\\\"\" and id = 7 : ^f",
                                           NULL),
                          0);
    CU_ASSERT_EQUAL(rule.test_count, 1);
    CU_ASSERT_EQUAL_FATAL(rule.late_count, 4);
    CU_ASSERT_TRUE(rules_keep_is_late(&rule));
    CU_ASSERT_EQUAL(rule.late[0].path.step_count, 1);
    CU_ASSERT_EQUAL(rule.late[0].range.low, 500);
    CU_ASSERT_FALSE(rule.late[0].at_exit);
    CU_ASSERT_TRUE(rule.late[1].at_exit);
    CU_ASSERT_EQUAL(rule.late[1].path.name_length, 1);
    CU_ASSERT_TRUE(rule.late[2].has_changed);
    CU_ASSERT_STRING_EQUAL(rule.late[3].text, "/a \"b: c\"");
    CU_ASSERT_STRING_EQUAL(rule.function, "^f");
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(&rule, "returns != \"no\" and a::b < 3 and errno : f", NULL), 0);
    CU_ASSERT_PTR_NULL(rule.late[0].path.name);
    CU_ASSERT_TRUE(rule.late[0].range.is_outside);
    CU_ASSERT_EQUAL(rule.late[1].path.name_length, 4);
    CU_ASSERT_EQUAL(rule.test_count, 1);
    CU_ASSERT_TRUE(rule.tests[0].is_outside && rules_keep_is_errno(&rule.tests[0]));
    rules_keep_release(&rule);
    CU_ASSERT_EQUAL_FATAL(
        rules_keep_parse(
            &rule, "below ^Server::run and call \"^a: b\" and class Query and errno EBADF", NULL),
        0);
    CU_ASSERT_STRING_EQUAL(rule.expressions[RULES_KEEP_BY_BELOW], "^Server::run");
    CU_ASSERT_STRING_EQUAL(rule.expressions[RULES_KEEP_BY_CALL], "^a: b");
    CU_ASSERT_STRING_EQUAL(rule.expressions[RULES_KEEP_BY_CLASS], "Query");
    CU_ASSERT_EQUAL(rule.tests[0].low, 9);
    CU_ASSERT_FALSE(rules_keep_is_late(&rule));
    rules_keep_release(&rule);
    static const struct {
        const char *text, *wanted;
        int column;
    } wrong[] = {{"below", "a regular expression", 5},
                 {"class and over 1s", "a regular expression", 6},
                 {"below a and below b", "each condition once", 12},
                 {"changed", "a value", 7},
                 {"changed 4", "a value", 8},
                 {"q->state", "a condition", 0},
                 {"q->state > \"x\"", "compared by = and !=", 11},
                 {"path = \"x", "the second quotation mark", 9},
                 {"path = \"\"", "a text of 1 to 255 bytes", 7},
                 {"q->state = ENOENT", "a number", 11},
                 {"returns = 0, id = 4 : ^f", "`and`", 11},
                 {"over 20ms; returns < 0", "`and`", 9},
                 {"throws E, over 1s : ^f", "`and`", 10}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i].text, wrong[i].wanted, wrong[i].column);
}

static void test_units(void)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } times[] = {{"over 3ns", 3},         {"over 3us", 3000}, {"over 3µs", 3000},
                 {"over 2s", 2000000000}, {"over 0ms", 0},    {"over 0.5ns", 1}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        struct rules_keep rule;
        CU_ASSERT_EQUAL(rules_keep_parse(&rule, times[i].text, NULL), 0);
        CU_ASSERT_EQUAL(rule.over_ns, times[i].ns);
    }
}

static void test_functions(void)
{
    static const struct {
        const char *text, *function;
    } rules[] = {{"throws:a", "a"},
                 {"throws : std::vector<int> *", "std::vector<int> *"},
                 {"throws : \"^a: b \"", "^a: b "},
                 {"every 2: \"", NULL},
                 {"throws :", NULL}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        struct rules_keep rule;
        const int result = rules_keep_parse(&rule, rules[i].text, NULL);
        CU_ASSERT_EQUAL(result, rules[i].function ? 0 : SPROF_EUSAGE);
        if (result)
            continue;
        CU_ASSERT_STRING_EQUAL(rule.function, rules[i].function);
        rules_keep_release(&rule);
    }
}

/* The caret stands below the place. */
static void test_places(void)
{
    static const struct {
        const char *text, *wanted;
        int column;
    } wrong[] = {{"", "a condition", 0},
                 {"over", "a time", 4},
                 {"over 20", "a time", 5},
                 {"over 1e400s", "a time", 5},
                 {"over -1ms", "a time", 5},
                 {"over > 20ms", "`over 20ms`", 7},
                 {"size > 20ms", "a range", 7},
                 {"self 1ms", "`over T`", 5},
                 {"throws every 2", "`and`", 13},
                 {"throws and", "a condition", 10},
                 {"every 0", "a number", 6},
                 {"every 99999999999", "a number", 6},
                 {"slowest 17", "from 1 to 16", 8},
                 {"slowest", "from 1 to 16", 7},
                 {"slowest 2 and slowest 3", "each condition once", 14},
                 {"first 5 second", "`a second`", 8},
                 {"first 5 a day", "`second`", 10},
                 {"over 1µs and over 2s", "each condition once", 13},
                 {"throws : \"a", "the second quotation mark", 11},
                 {"slow", "a condition", 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refused(wrong[i].text, wrong[i].wanted, wrong[i].column);
}

/* Only what is near the place is shown, and nothing that a terminal would act on. */
static void test_long(void)
{
    char text[4096 + 8];
    struct rules_keep rule;
    struct sprof_error error;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, text, &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "4096"));
    memcpy(text, "throws and ", 11);
    memset(text + 11, ' ', 3000);
    text[3011] = '\033';
    text[3012] = '\0';
    CU_ASSERT_EQUAL(rules_keep_parse(&rule, text, &error), SPROF_EUSAGE);
    CU_ASSERT_TRUE(strlen(error.message) < 400);
    CU_ASSERT_PTR_NULL(strchr(error.message, '\033'));
}

void sprof_suite_rules_keep_rule(void);

void sprof_suite_rules_keep_rule(void)
{
    CU_pSuite suite = CU_add_suite("rules/keep_rule", NULL, NULL);
    CU_add_test(suite, "conditions", test_conditions);
    CU_add_test(suite, "values", test_values);
    CU_add_test(suite, "errno, types and load", test_errno_types_and_load);
    CU_add_test(suite, "fields, texts and callers", test_late);
    CU_add_test(suite, "units", test_units);
    CU_add_test(suite, "functions", test_functions);
    CU_add_test(suite, "places", test_places);
    CU_add_test(suite, "long", test_long);
}
