#include "cli/values.h"

#include "cli/commands.h"
#include "report/report.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <string.h>

static void test_durations(void)
{
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {
        {"10", 10000000000},  {"10s", 10000000000},  {"500ms", 500000000},
        {"2m", 120000000000}, {"1h", 3600000000000}, {"0.25s", 250000000},
        {"1.5", 1500000000},  {"20us", 20000},       {"7ns", 7},
    };
    static const char *const bad[] = {"",    "s",    "-1",   "10 s", "10x",   "0", "nan",
                                      "inf", "1e30", "0x10", "1e3s", "1.2.3", "."};
    uint64_t ns;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CU_ASSERT_EQUAL(cli_set_duration(&ns, good[i].text, NULL), 0);
        CU_ASSERT_EQUAL(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ns = 77;
        CU_ASSERT_EQUAL(cli_set_duration(&ns, bad[i], NULL), SPROF_EUSAGE);
        CU_ASSERT_EQUAL(ns, 77);
    }
}

static void test_sizes(void)
{
    size_t bytes;
    CU_ASSERT_EQUAL(cli_set_size(&bytes, "65536", NULL), 0);
    CU_ASSERT_EQUAL(bytes, 65536);
    CU_ASSERT_EQUAL(cli_set_size(&bytes, "64K", NULL), 0);
    CU_ASSERT_EQUAL(bytes, 65536);
    CU_ASSERT_EQUAL(cli_set_size(&bytes, "1MiB", NULL), 0);
    CU_ASSERT_EQUAL(bytes, 1048576);
    CU_ASSERT_EQUAL(cli_set_size(&bytes, "64X", NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(cli_set_size(&bytes, "-64", NULL), SPROF_EUSAGE);
}

static void test_words_and_what_else_there_is(void)
{
    struct cli_mode mode = {0};
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(cli_set_mode(&mode, "app", &error), 0);
    CU_ASSERT_TRUE(mode.given && mode.mode == MODEL_MODE_APP);
    CU_ASSERT_EQUAL(cli_set_mode(&mode, "whole", &error), SPROF_EUSAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "choose pc, full or app");
    bool drop = false;
    CU_ASSERT_EQUAL(cli_set_interior(&drop, "drop", &error), 0);
    CU_ASSERT_TRUE(drop);
    CU_ASSERT_EQUAL(cli_set_interior(&drop, "keep", &error), 0);
    CU_ASSERT_FALSE(drop);
    const struct report_format *format;
    CU_ASSERT_EQUAL(cli_set_table_format(&format, "json", &error), 0);
    CU_ASSERT_STRING_EQUAL(format->name, "json");
    CU_ASSERT_EQUAL(cli_set_sample_format(&format, "xml", &error), SPROF_EUSAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "choose one of text, csv, json");
    bool frame;
    CU_ASSERT_EQUAL(cli_set_frame(&frame, "pc", &error), SPROF_EUSAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "choose app");
}

/* Whatever is wrong with a value: the range is that of its option. */
static void test_errors_name_the_range(void)
{
    static const char *const percentages[] = {"0", "101%", "x", ""}, *const sizes[] = {"1K", "x"};
    struct sprof_error error = {0};
    double percent;
    uint64_t number;
    size_t bytes;
    for (size_t i = 0; i < sizeof percentages / sizeof *percentages; i++) {
        CU_ASSERT_EQUAL(cli_parse_percent(percentages[i], 1, 99, &percent, &error), SPROF_EUSAGE);
        CU_ASSERT_STRING_EQUAL(error.message, "not a percentage from 1 to 99");
        CU_ASSERT_EQUAL(cli_set_overhead(&percent, percentages[i], &error), SPROF_EUSAGE);
        CU_ASSERT_STRING_EQUAL(error.message, "not a percentage from 0.01 to 100");
    }
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        CU_ASSERT_EQUAL(cli_parse_size(sizes[i], 1 << 20, "1M", &bytes, &error), SPROF_EUSAGE);
        CU_ASSERT_STRING_EQUAL(error.message,
                               "not a size from 1M to 1024G: write bytes, 65536, or 64K");
    }
    CU_ASSERT_EQUAL(cli_set_size(&bytes, "1025G", &error), SPROF_EUSAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "not a size from 1 to 1024G: write bytes, 65536, or 64K");
    CU_ASSERT_EQUAL(cli_set_positive(&number, "0", &error), SPROF_EUSAGE);
    CU_ASSERT_STRING_EQUAL(error.message, "not a whole number from 1 on");
}

static void test_percentages(void)
{
    double percent;
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "2.5", NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(percent, 2.5, 0);
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "5%", NULL), 0);
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "101", NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "-1", NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "nan", NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "0x5", NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(cli_set_percent(&percent, "", NULL), SPROF_EUSAGE);
}

static void test_lists_add_up(void)
{
    struct cli_pids pids = {0};
    CU_ASSERT_EQUAL(cli_set_pids(&pids, "10,20", NULL), 0);
    CU_ASSERT_EQUAL(cli_set_pids(&pids, "30", NULL), 0);
    CU_ASSERT_EQUAL_FATAL(pids.list.count, 3);
    CU_ASSERT_EQUAL(pids.list.items[2], 30);
    CU_ASSERT_EQUAL(cli_set_pids(&pids, "1,,2", NULL), SPROF_EUSAGE);
    CU_ASSERT_EQUAL(cli_set_pids(&pids, "0", NULL), SPROF_EUSAGE);
    sprof_vec_release(&pids.list);

    struct cli_rules rules = {0};
    CU_ASSERT_EQUAL(cli_set_system_module(&rules, "lib*", NULL), 0);
    CU_ASSERT_EQUAL(cli_set_app_module(&rules, "libmine*", NULL), 0);
    CU_ASSERT_EQUAL(cli_set_app_module(&rules, "", NULL), SPROF_EUSAGE);
    const struct model_kind_rules both = cli_rules_of(&rules);
    CU_ASSERT_EQUAL_FATAL(both.count, 2);
    CU_ASSERT_EQUAL(both.items[0].kind, MODEL_KIND_SYSTEM);
    CU_ASSERT_STRING_EQUAL(both.items[1].glob, "libmine*");
    sprof_vec_release(&rules.list);
}

/* What help and completion offer as a format is what there is, in its order. */
static void test_options_name_the_formats(void)
{
    static const struct {
        int (*set)(void *, const char *, struct sprof_error *);
        enum report_kind kind;
    } setters[] = {{cli_set_table_format, REPORT_TABLE},
                   {cli_set_sample_format, REPORT_SAMPLES},
                   {cli_set_row_format, REPORT_ROWS},
                   {cli_set_profile_format, REPORT_PROFILE | REPORT_FLEET}};
    unsigned found = 0;
    for (size_t c = 0; c < cli_command_count; c++)
        for (const struct cli_option *option = cli_commands[c]->options; option->name; option++)
            for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
                struct sprof_str names = {0};
                if (option->set != setters[i].set)
                    continue;
                for (const struct report_format *format = report_formats(); format->name; format++)
                    if (format->kinds & setters[i].kind)
                        sprof_str_appendf(&names, "%s%s", names.length ? "|" : "", format->name);
                CU_ASSERT_STRING_EQUAL(option->argument, names.text);
                if (strcmp(option->argument, names.text) != 0)
                    printf("sprof %s: %s\n", cli_commands[c]->name, option->argument);
                sprof_str_release(&names);
                found |= 1u << i;
            }
    CU_ASSERT_EQUAL(found, 15);
}

void sprof_suite_cli_values(void);
void sprof_suite_cli_values(void)
{
    CU_pSuite suite = CU_add_suite("cli/values", NULL, NULL);
    CU_add_test(suite, "durations", test_durations);
    CU_add_test(suite, "sizes", test_sizes);
    CU_add_test(suite, "words", test_words_and_what_else_there_is);
    CU_add_test(suite, "percentages", test_percentages);
    CU_add_test(suite, "ranges", test_errors_name_the_range);
    CU_add_test(suite, "lists add up", test_lists_add_up);
    CU_add_test(suite, "options name the formats", test_options_name_the_formats);
}
