#include "fleet/fleet.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void test_what_a_url_says(void)
{
    struct fleet_target target;
    struct sprof_error error;
    CU_ASSERT_EQUAL_FATAL(
        fleet_target_parse(
            &target, "clickhouse+https://db:8443/fleet/?service=a%2Cb+c&last=1h&version=", &error),
        0);
    CU_ASSERT_EQUAL(target.kind, FLEET_CLICKHOUSE);
    CU_ASSERT_STRING_EQUAL(target.url, "https://db:8443");
    CU_ASSERT_STRING_EQUAL(target.database, "fleet");
    CU_ASSERT_EQUAL_FATAL(target.parameters.count, 3);
    CU_ASSERT_STRING_EQUAL(target.parameters.items[0].name, "service");
    CU_ASSERT_STRING_EQUAL(target.parameters.items[0].value, "a,b c");
    CU_ASSERT_STRING_EQUAL(target.parameters.items[2].value, "");
    fleet_target_release(&target);
    CU_ASSERT_EQUAL_FATAL(fleet_target_parse(&target, "clickhouse+http://[::1]:8123", &error), 0);
    CU_ASSERT_STRING_EQUAL(target.database, "sprof");
    CU_ASSERT_STRING_EQUAL(target.url, "http://[::1]:8123");
    fleet_target_release(&target);
    CU_ASSERT_EQUAL_FATAL(fleet_target_parse(&target, "pyroscope+https://host/below/", &error), 0);
    CU_ASSERT_EQUAL(target.kind, FLEET_PYROSCOPE);
    CU_ASSERT_STRING_EQUAL(target.url, "https://host/below");
    fleet_target_release(&target);
    CU_ASSERT_EQUAL_FATAL(fleet_target_parse(&target, "otlp+http://host:4318/", &error), 0);
    CU_ASSERT_EQUAL(target.kind, FLEET_OTLP);
    CU_ASSERT_STRING_EQUAL(target.url, "http://host:4318");
    fleet_target_release(&target);
}

static void test_what_is_no_url(void)
{
    static const char *const wrong[] = {
        "",
        "http://host",
        "clickhouse+ftp://host",
        "clickhouse+http://",
        "clickhouse+http:///database",
        "clickhouse+http://:8123",
        "clickhouse+http://me@host",
        "clickhouse+http://me:secret@host/x",
        "clickhouse+http://host/two/parts",
        "clickhouse+http://host/1st",
        "clickhouse+http://host/a;b",
        "clickhouse+http://host?=x",
        "clickhouse+http://host?a=%0",
        "clickhouse+http://host?a=%00",
        "clickhouse+http://host#x",
        "clickhouse+http://ho st",
        "clickhouse+http://host\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct fleet_target target;
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(fleet_target_parse(&target, wrong[i], &error), SPROF_EUSAGE);
        CU_ASSERT_PTR_NULL(strstr(error.message, "secret"));
        fleet_target_release(&target);
    }
    CU_ASSERT_TRUE(fleet_is_url("clickhouse+http://host"));
    CU_ASSERT_FALSE(fleet_is_url("clickhouse"));
    CU_ASSERT_FALSE(fleet_is_url("clickhouse+x.db"));
}

static void test_text_in_sql(void)
{
    struct sprof_str sql = {0};
    CU_ASSERT_EQUAL(fleet_clickhouse_quote(&sql, "it's \\ a\tname"), 0);
    CU_ASSERT_STRING_EQUAL(sql.text, "'it\\'s \\\\ a\\tname'");
    sprof_str_release(&sql);
}

static void test_percent_signs_are_undone(void)
{
    static const char *const bad[] = {"%", "a%4", "%4g", "%00", "%%41"};
    char good[] = "a%2Cb%3d+%c3%A4%25";
    CU_ASSERT_TRUE(fleet_unescape(good));
    CU_ASSERT_STRING_EQUAL(good, "a,b=+\xc3\xa4%");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[8];
        strcpy(text, bad[i]);
        CU_ASSERT_FALSE(fleet_unescape(text));
    }
}

void sprof_suite_fleet_target(void);
void sprof_suite_fleet_target(void)
{
    CU_pSuite suite = CU_add_suite("fleet/target", NULL, NULL);
    CU_add_test(suite, "what a URL says", test_what_a_url_says);
    CU_add_test(suite, "what is no URL", test_what_is_no_url);
    CU_add_test(suite, "text in SQL", test_text_in_sql);
    CU_add_test(suite, "percent signs are undone", test_percent_signs_are_undone);
}
