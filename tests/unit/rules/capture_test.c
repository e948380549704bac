/* What --capture takes, and what it says of what it does not. */
#include "rules/capture.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_parts(void)
{
    struct rules_capture capture;
    CU_ASSERT_EQUAL_FATAL(
        rules_capture_parse(&capture, "^ns::f : entry r->headers.host, *ns::n", NULL), 0);
    CU_ASSERT_STRING_EQUAL(capture.function, "^ns::f");
    CU_ASSERT_TRUE(capture.at_entry);
    CU_ASSERT_EQUAL_FATAL(capture.path_count, 2);
    CU_ASSERT_EQUAL(capture.paths[0].step_count, 2);
    CU_ASSERT_EQUAL(capture.paths[0].name_length, 1);
    CU_ASSERT_EQUAL(capture.paths[0].length, strlen("r->headers.host"));
    CU_ASSERT_EQUAL(strncmp(capture.paths[0].steps[1].name, "host", 4), 0);
    CU_ASSERT_TRUE(capture.paths[1].is_followed);
    CU_ASSERT_EQUAL(capture.paths[1].name_length, strlen("ns::n"));
    rules_capture_release(&capture);
    CU_ASSERT_EQUAL_FATAL(rules_capture_parse(&capture, "entry", NULL), 0); /* a variable */
    CU_ASSERT_PTR_NULL(capture.function);
    CU_ASSERT_FALSE(capture.at_entry);
    rules_capture_release(&capture);
    CU_ASSERT_EQUAL_FATAL(rules_capture_parse(&capture, "\"a: b\": exit ::x.y", NULL), 0);
    CU_ASSERT_STRING_EQUAL(capture.function, "a: b");
    CU_ASSERT_EQUAL(capture.paths[0].name_length, 3);
    rules_capture_release(&capture);
}

/* "RE", or "RE: EXPR" with one value. */
static void test_requests(void)
{
    struct rules_capture request;
    struct sprof_error error;
    CU_ASSERT_EQUAL_FATAL(rules_request_parse(&request, "^ns::(?:get|put)$", &error), 0);
    CU_ASSERT_STRING_EQUAL(request.function, "^ns::(?:get|put)$");
    CU_ASSERT_EQUAL(request.path_count, 0);
    rules_capture_release(&request);
    CU_ASSERT_EQUAL_FATAL(rules_request_parse(&request, "(?:on|at)_: entry c->id", &error), 0);
    CU_ASSERT_STRING_EQUAL(request.function, "(?:on|at)_");
    CU_ASSERT_TRUE(request.at_entry && request.path_count == 1);
    rules_capture_release(&request);
    static const char *const texts[][2] = {
        {"^h_[[:digit:]]+$", "^h_[[:digit:]]+$"},
        {"\"^h_[[:digit:]]+$\"", "^h_[[:digit:]]+$"},
        {"(?i:on_event)", "(?i:on_event)"},
        {"(?i-s:on_event): c->id", "(?i-s:on_event)"},
        {"^[^]:[:alpha:]\\]:]+ : c->id", "^[^]:[:alpha:]\\]:]+"},
        {"operator\\[\\]: c->id", "operator\\[\\]"},
        {"a[: c->id", "a["},
        {"(?<name>a): c->id", "(?<name>a)"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        CU_ASSERT_EQUAL_FATAL(rules_request_parse(&request, texts[i][0], &error), 0);
        CU_ASSERT_STRING_EQUAL(request.function, texts[i][1]);
        CU_ASSERT_EQUAL(request.path_count, strstr(texts[i][0], "c->id") != NULL);
        rules_capture_release(&request);
    }
    CU_ASSERT_EQUAL(rules_request_parse(&request, "\"\"", &error), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(rules_request_parse(&request, "^on_: a, b", &error), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "one value names it"));
}

static void test_refused(void)
{
    static const char *const wrong[] = {"",
                                        ":",
                                        " : x",
                                        "f:",
                                        "f: ,",
                                        "f: x,",
                                        "f: 7",
                                        "f: x y",
                                        "f: x->",
                                        "f: x.",
                                        "f: *",
                                        "f: x::",
                                        "f: .",
                                        "f: (x)",
                                        "\"\": x",
                                        "f: x[1]",
                                        "a,b,",
                                        "f: ->x",
                                        "x.a.b.c.d.e.f.g.h.i",
                                        "a,b,c,d,e,f,g,h,i"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct rules_capture capture;
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(rules_capture_parse(&capture, wrong[i], &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strchr(error.message, '^'));
    }
}

void sprof_suite_rules_capture(void);

void sprof_suite_rules_capture(void)
{
    CU_pSuite suite = CU_add_suite("rules/capture", NULL, NULL);
    CU_add_test(suite, "parts", test_parts);
    CU_add_test(suite, "requests", test_requests);
    CU_add_test(suite, "refused", test_refused);
}
