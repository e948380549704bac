/* Labels from -l and from OpenTelemetry's variables: which prevail, what is decoded, and what is
 * ignored. */
#include "cli/labels.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

static void count_warning(void *context, enum sprof_log_level level, const char *message)
{
    CU_ASSERT_EQUAL(level, SPROF_LOG_WARNING);
    CU_ASSERT_PTR_NOT_NULL(strstr(message, " is ignored: "));
    ++*(int *)context;
}

/* The labels, each followed by a "|"; NULL: a variable that is not set. */
static const char *labels_of(const char *given, const char *service, const char *attributes,
                             int *warnings)
{
    static char all[256];
    const struct sprof_log log = {.message = count_warning, .context = warnings};
    struct cli_labels labels = {.list = {0}};
    *warnings = 0;
    unsetenv("OTEL_SERVICE_NAME");
    unsetenv("OTEL_RESOURCE_ATTRIBUTES");
    if (service)
        setenv("OTEL_SERVICE_NAME", service, 1);
    if (attributes)
        setenv("OTEL_RESOURCE_ATTRIBUTES", attributes, 1);
    if (given)
        CU_ASSERT_EQUAL(cli_add_label(&labels, given, NULL), 0);
    CU_ASSERT_EQUAL(cli_add_otel_labels(&labels, &log, NULL), 0);
    *all = '\0';
    for (size_t i = 0; i < labels.list.count; i++) {
        strcat(all, labels.list.items[i]);
        strcat(all, "|");
    }
    cli_labels_release(&labels);
    unsetenv("OTEL_SERVICE_NAME");
    unsetenv("OTEL_RESOURCE_ATTRIBUTES");
    return all;
}

static void test_which_prevail(void)
{
    static const struct {
        const char *given, *service, *attributes, *labels;
    } cases[] = {
        {NULL, NULL, NULL, ""},
        {NULL, "", "", ""},
        {NULL, "a%2Cb", NULL, "service.name=a%2Cb|"},
        {NULL, NULL, "service.name=b,team=x", "team=x|service.name=b|"},
        {NULL, "a", "service.name=b,team=x", "service.name=a|team=x|"},
        {NULL, "", "service.name=b", "service.name=b|"},
        {"service.name=c", "a", "service.name=b,team=x", "service.name=c|team=x|"},
        {"service=c", "a", "service.name=b", "service.name=c|"},
        {"version=1=2", NULL, "service.version=3,version=3", "service.version=1=2|version=3|"},
        {"host=c", NULL, "service=a,version=3,host=b", "host.name=c|host=b|version=3|service=a|"},
        {"services=c", NULL, NULL, "services=c|"},
        {"service", NULL, NULL, "service|"},
        {"team=c", NULL, "team=x", "team=c|"},
        {NULL, NULL, "team=x,team=y", "team=y|"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int warnings;
        CU_ASSERT_STRING_EQUAL(
            labels_of(cases[i].given, cases[i].service, cases[i].attributes, &warnings),
            cases[i].labels);
        CU_ASSERT_EQUAL(warnings, 0);
    }
}

static void test_what_is_decoded(void)
{
    int warnings;
    CU_ASSERT_STRING_EQUAL(labels_of(NULL, NULL, " a%2eb = x%2Cy%3Dz+ , t=u=v,e=,", &warnings),
                           "t=u=v|a.b=x,y=z+|");
    CU_ASSERT_EQUAL(warnings, 0);
}

static void test_what_is_malformed_is_ignored_as_a_whole(void)
{
    static const char *const bad[] = {"team=x,b",     "team=x,=b",         "team=x,b=%4",
                                      "team=x,b=%zz", "team=x,b%3Dc=d",    "team=x,b=%0a",
                                      "team=x,b=%ff", "team=x,b=\xc3\x28", "team=x,b=%00"};
    int warnings;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CU_ASSERT_STRING_EQUAL(labels_of(NULL, "a", bad[i], &warnings), "service.name=a|");
        CU_ASSERT_EQUAL(warnings, 1);
    }
    CU_ASSERT_STRING_EQUAL(labels_of(NULL, "a\nb", "team=x", &warnings), "team=x|");
    CU_ASSERT_EQUAL(warnings, 1);
}

void sprof_suite_cli_labels(void);
void sprof_suite_cli_labels(void)
{
    CU_pSuite suite = CU_add_suite("cli/labels", NULL, NULL);
    CU_add_test(suite, "which prevail", test_which_prevail);
    CU_add_test(suite, "what is decoded", test_what_is_decoded);
    CU_add_test(suite, "what is malformed is ignored as a whole",
                test_what_is_malformed_is_ignored_as_a_whole);
}
