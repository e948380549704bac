/* What chosen functions call, found in plans of two files. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

static const struct probing_way backend = {.has_agent = true};

/* Of the program. */
enum { MAIN, WORK, LEAF, LONE, COLD, BY_SLOT, FUNCTIONS };
/* Of its library. */
enum { WRITE_OUT, FLUSH, LIBRARY_FUNCTIONS };
enum { PROGRAM, LIBRARY };
enum { BIAS = 0x10000, LIBRARY_BIAS = 0x900000, EACH = 0x100, NOWHERE = 0x8000 };

/* main calls work, and write_out through a slot that is not filled; work calls leaf; leaf has a
 * part, which calls lone. write_out calls flush. by_slot calls through a slot that is filled. */
struct callees {
    struct made made;
    struct plan_function functions[FUNCTIONS], of_library[LIBRARY_FUNCTIONS];
    struct plan_callee callees[6], of_write_out;
    uint64_t slot; /* its content */
};

static void name(struct plan_function *functions, size_t number, const char *text)
{
    functions[number] = (struct plan_function){.start = (number + 1) * EACH,
                                               .end = (number + 2) * EACH,
                                               .site = (number + 1) * EACH,
                                               .name = text,
                                               .linkage_name = text,
                                               .mechanism = PLAN_PROLOGUE};
}

static void calls(struct plan_function *function, uint32_t first, uint32_t count)
{
    function->first_callee = first;
    function->callees = count;
}

static void make(struct callees *callees)
{
    static const char *const names[] = {"main", "work", "leaf", "lone", "leaf.cold", "by_slot"};
    struct probing_program *session = &callees->made.session;
    made_begin(&callees->made, &backend, 16);
    for (size_t i = 0; i < FUNCTIONS; i++)
        name(callees->functions, i, names[i]);
    name(callees->of_library, WRITE_OUT, "write_out");
    name(callees->of_library, FLUSH, "flush");
    callees->functions[COLD].why = PLAN_PART;
    callees->functions[COLD].mechanism = PLAN_NOT;
    callees->functions[WORK].open_calls = 2;
    callees->slot = LIBRARY_BIAS + callees->of_library[FLUSH].start;
    const struct plan_callee all[] = {
        {.address = callees->functions[WORK].start},
        {.address = NOWHERE, .is_slot = true, .imported = "write_out@GLIBC_2.2.5"},
        {.address = callees->functions[LEAF].start},
        {.address = callees->functions[COLD].start, .is_tail = true},
        {.address = callees->functions[LONE].start},
        {.address = (uint64_t)(uintptr_t)&callees->slot - BIAS, .is_slot = true}};
    memcpy(callees->callees, all, sizeof all);
    callees->of_write_out = (struct plan_callee){.address = callees->of_library[FLUSH].start};
    calls(&callees->functions[MAIN], 0, 2);
    calls(&callees->functions[WORK], 2, 1);
    calls(&callees->functions[LEAF], 3, 1);
    calls(&callees->functions[COLD], 4, 1);
    calls(&callees->functions[BY_SLOT], 5, 1);
    calls(&callees->of_library[WRITE_OUT], 0, 1);
    made_file(&callees->made, "/app/program", BIAS, callees->functions, FUNCTIONS);
    session->files.items[PROGRAM].plan.callees = callees->callees;
    session->files.items[PROGRAM].plan.callee_count = 6;
    made_file(&callees->made, "/app/library.so", LIBRARY_BIAS, callees->of_library,
              LIBRARY_FUNCTIONS);
    session->files.items[LIBRARY].plan.callees = &callees->of_write_out;
    session->files.items[LIBRARY].plan.callee_count = 1;
}

/* The functions that were found, a letter each: "MwlocB" of the program, "WF" of the library. */
static const char *found(const struct probing_callees *callees)
{
    static const char letters[] = "MwlocB", of_library[] = "WF";
    static char text[FUNCTIONS + LIBRARY_FUNCTIONS + 1];
    size_t length = 0;
    for (size_t i = 0; i < FUNCTIONS; i++)
        if (probing_callees_wants(callees, PROGRAM, i))
            text[length++] = letters[i];
    for (size_t i = 0; i < LIBRARY_FUNCTIONS; i++)
        if (probing_callees_wants(callees, LIBRARY, i))
            text[length++] = of_library[i];
    text[length] = 0;
    return text;
}

static void test_depth(void)
{
    static const struct {
        const char *root, *found;
    } cases[] = {
        {"^main$:0", "M"},          {"^main$:1", "MwW"},
        {"^main$:2", "MwlWF"},      {"^main$:3", "MwlocWF"}, /* a part is as deep as its function */
        {"^main$", "MwlocWF"},      {"^main$:9999", "MwlocWF"},
        {"^leaf$:1", "loc"},        {"^by_slot$", "BF"}, /* by what the slot holds */
        {"^(work|flush)$:0", "wF"},
    };
    struct callees callees;
    make(&callees);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct probing_callees *out = NULL;
        CU_ASSERT_EQUAL_FATAL(
            probing_callees_find(&out, &callees.made.session, &cases[i].root, 1, true, NULL), 0);
        CU_ASSERT_STRING_EQUAL(found(out), cases[i].found);
        probing_callees_free(out);
    }
    made_end(&callees.made);
}

/* Two roots reach what both of them do; the deeper one decides. */
static void test_several_roots(void)
{
    const char *const roots[] = {"^main$:1", "^work$:1"};
    struct callees callees;
    struct probing_callees *out = NULL;
    make(&callees);
    CU_ASSERT_EQUAL(probing_callees_find(&out, &callees.made.session, roots, 2, true, NULL), 0);
    CU_ASSERT_STRING_EQUAL(found(out), "MwlW");
    probing_callees_free(out);
    made_end(&callees.made);
}

/* Functions of a file that was not chosen are found where chosen ones call them, and are no roots.
 */
static void test_file_not_chosen(void)
{
    const char *const inside = "^main$", *const outside = "^flush$";
    struct callees callees;
    struct probing_callees *out = NULL;
    struct sprof_error error = {0};
    make(&callees);
    callees.made.session.files.items[LIBRARY].is_chosen = false;
    CU_ASSERT_EQUAL(probing_callees_find(&out, &callees.made.session, &inside, 1, true, NULL), 0);
    CU_ASSERT_STRING_EQUAL(found(out), "Mwloc"); /* no name of that file is looked up */
    probing_callees_free(out);
    CU_ASSERT_EQUAL(probing_callees_find(&out, &callees.made.session, &outside, 1, true, &error),
                    SPROF_ENOTFOUND);
    probing_callees_free(out);
    made_end(&callees.made);
}

static void test_missing_root(void)
{
    const char *const wrong = "^laef$:2", *const bad = "(";
    struct callees callees;
    struct probing_callees *out = NULL;
    struct sprof_error error = {0};
    make(&callees);
    struct probing_program *session = &callees.made.session;
    CU_ASSERT_EQUAL(probing_callees_find(&out, session, &wrong, 1, true, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--children-of '^laef$:2' finds none of 7"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "near it: leaf"));
    probing_callees_free(out);
    CU_ASSERT_EQUAL(probing_callees_find(&out, session, &wrong, 1, false, &error), 0);
    CU_ASSERT_STRING_EQUAL(found(out), "");
    probing_callees_free(out);
    CU_ASSERT_EQUAL(probing_callees_find(&out, session, &bad, 1, true, &error), SPROF_EUSAGE);
    probing_callees_free(out);
    made_end(&callees.made);
}

/* What stands before the depth; two colons together are part of a name. */
static void test_expression(void)
{
    static const char *const cases[][2] = {
        {"main", "main"},   {"main:2", "main"}, {"a::b", "a::b"},       {"a::2", "a::2"},
        {"a::b:3", "a::b"}, {"main:", "main:"}, {"main:2x", "main:2x"}, {":1", ""},
    };
    struct callees callees;
    make(&callees);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_STRING_EQUAL(probing_callees_expression(&callees.made.session, cases[i][0]),
                               cases[i][1]);
    made_end(&callees.made);
}

static void test_open_calls(void)
{
    static const struct {
        const char *root, *said;
    } cases[] = {
        {"^work$:0", NULL}, /* its callees are not wanted */
        {"^work$", "2 indirect calls in 1 function lead where --children-of cannot see: work (2)"},
        {"^by_slot$", "1 indirect call in 1 function leads where"}, /* the slot has no name */
        {"^main$:1", NULL},
    };
    struct callees callees;
    make(&callees);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct probing_callees *out = NULL;
        CU_ASSERT_EQUAL(
            probing_callees_find(&out, &callees.made.session, &cases[i].root, 1, true, NULL), 0);
        probing_callees_report_open(out);
        CU_ASSERT_EQUAL(callees.made.log.said.length > 0, cases[i].said != NULL);
        CU_ASSERT(!cases[i].said || made_said(&callees.made, cases[i].said));
        probing_callees_free(out);
    }
    made_end(&callees.made);
}

/* A callee that has no probe is looked through, and its open calls count. */
static void test_callees_of_one(void)
{
    struct callees callees;
    struct probing_callees *out = NULL;
    bool open, foreign;
    make(&callees);
    struct probing_program *session = &callees.made.session;
    session->files.items[PROGRAM].count = 2;
    const struct probing_probe main = {.function = &callees.functions[MAIN], .is_chosen = true},
                               leaf = {.function = &callees.functions[LEAF], .is_spare = true};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, main), 0);
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&session->probes, leaf), 0);
    session->files.items[LIBRARY].first = 2;
    CU_ASSERT_EQUAL(probing_callees_of(&out, session, PROGRAM, MAIN, &open, &foreign), 0);
    CU_ASSERT_STRING_EQUAL(found(out), "MwlWF");
    CU_ASSERT_TRUE(open);
    CU_ASSERT_FALSE(foreign);
    probing_callees_free(out);
    callees.functions[WORK].open_calls = 0;
    callees.functions[WORK].foreign_calls = 1;
    CU_ASSERT_EQUAL(probing_callees_of(&out, session, PROGRAM, MAIN, &open, &foreign), 0);
    CU_ASSERT_FALSE(open);
    CU_ASSERT_TRUE(foreign);
    probing_callees_free(out);
    CU_ASSERT_EQUAL(probing_callees_of(&out, session, PROGRAM, LEAF, &open, &foreign), 0);
    CU_ASSERT_FALSE(open);
    CU_ASSERT_FALSE(foreign);
    probing_callees_free(out);
    made_end(&callees.made);
}

static void test_called_by_any(void)
{
    struct callees callees;
    struct probing_callees *out = NULL;
    make(&callees);
    CU_ASSERT_EQUAL(probing_callees_called(&out, &callees.made.session), 0);
    CU_ASSERT_STRING_EQUAL(found(out), "wlocWF");
    probing_callees_free(out);
    made_end(&callees.made);
}

void sprof_suite_probing_callees(void);

void sprof_suite_probing_callees(void)
{
    CU_pSuite suite = CU_add_suite("probing/callees", NULL, NULL);
    CU_add_test(suite, "depth", test_depth);
    CU_add_test(suite, "several roots", test_several_roots);
    CU_add_test(suite, "a file that was not chosen", test_file_not_chosen);
    CU_add_test(suite, "a root that is not there", test_missing_root);
    CU_add_test(suite, "expressions with a depth", test_expression);
    CU_add_test(suite, "open calls", test_open_calls);
    CU_add_test(suite, "callees of one function", test_callees_of_one);
    CU_add_test(suite, "what is called at all", test_called_by_any);
}
