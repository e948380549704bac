#include "report/quality.h"
#include "tests/unit/report/profiles.h"

/* A profile of 100 samples in one function. */
static struct profile plain(void)
{
    struct profile profile = {.run_count = 1, .run_number = 1};
    const uint32_t app = add_module(&profile, "app", MODEL_KIND_APP);
    add_path(&profile, 0, add_function(&profile, app, "f"), 100);
    finish_profile(&profile);
    profile.quality.samples = 100;
    return profile;
}

/* Whether the notes on a profile hold a text. Releases the profile. */
static bool noted(struct profile profile, const char *text)
{
    struct quality_parts notes = {0};
    bool found = false;
    CU_ASSERT_EQUAL(report_quality_notes(&profile, &notes), 0);
    for (size_t i = 0; i < notes.count; i++)
        found = found || strstr(notes.items[i], text);
    profile_release(&profile);
    return found;
}

static void test_nothing_to_note(void)
{
    struct profile profile = plain();
    struct quality_parts notes = {0};
    CU_ASSERT_EQUAL(report_quality_notes(&profile, &notes), 0);
    CU_ASSERT_EQUAL(notes.count, 0);
    profile_release(&profile);
}

static void test_waiting(void)
{
    const uint64_t second = 1000000000;
    struct profile profile = plain();
    profile.run.duration_ns = 10 * second;
    profile.quality.target_cpu_ns = 29 * second / 10;
    CU_ASSERT_TRUE(noted(profile, "on a CPU for 29 % of the time"));
    profile = plain();
    profile.run.duration_ns = 10 * second;
    profile.quality.target_cpu_ns = 31 * second / 10;
    CU_ASSERT_FALSE(noted(profile, "on a CPU"));
}

static void test_outside(void)
{
    struct profile profile = plain();
    profile.outside = (struct model_cost){21, 21};
    CU_ASSERT_TRUE(noted(profile, "21 % never enters the application: `--app-module GLOB`"));
    profile = plain();
    profile.outside = (struct model_cost){20, 20};
    CU_ASSERT_FALSE(noted(profile, "never enters"));
}

static void test_the_rest(void)
{
    struct profile profile = plain();
    profile.run.kernel_excluded = "perf_event_paranoid is 2";
    CU_ASSERT_TRUE(noted(profile, "kernel code is not sampled: perf_event_paranoid is 2"));
    profile = plain();
    profile.run_count = 2;
    profile.run_number = 2;
    CU_ASSERT_TRUE(noted(profile, "run 2 of 2; --run N chooses"));
    profile = plain();
    profile.run.stack_bytes_wanted = 65528;
    profile.run.stack_bytes = 8192;
    CU_ASSERT_TRUE(noted(profile, "8192 bytes of each stack were copied, not 65528"));
    profile = (struct profile){.run_count = 1};
    CU_ASSERT_TRUE(noted(profile, "nothing was sampled"));
}

static void test_rate_and_own_cost(void)
{
    char text[NUMBER_BYTES];
    struct store_quality quality = {.samples = 3612,
                                    .requested_hz = 997,
                                    .reached_hz = 995.04,
                                    .own_cpu_ns = 14520000,
                                    .target_cpu_ns = 3630000000};
    CU_ASSERT_STRING_EQUAL(report_quality_rate(text, &quality), "995 of 997 Hz");
    CU_ASSERT_STRING_EQUAL(report_quality_own_cost(text, &quality), "0.4 %");
    quality.samples = 3;
    quality.target_cpu_ns = 700000;
    CU_ASSERT_STRING_EQUAL(report_quality_rate(text, &quality), "997 Hz asked");
    CU_ASSERT_STRING_EQUAL(report_quality_own_cost(text, &quality), "14.5 ms");
    quality.requested_hz = 0;
    CU_ASSERT_STRING_EQUAL(report_quality_rate(text, &quality), "");
}

static void test_lines_break_between_parts(void)
{
    char text[200];
    FILE *out = fmemopen(text, sizeof text, "w");
    const struct quality_parts parts = {{"aaaa", "bbbb", "cccc"}, 3};
    report_quality_write_parts(out, &parts, "> ", 13);
    fclose(out);
    same_text(text, "> aaaa · bbbb\n> cccc\n");
}

void sprof_suite_report_quality(void);
void sprof_suite_report_quality(void)
{
    CU_pSuite suite = CU_add_suite("report/quality", NULL, NULL);
    CU_add_test(suite, "nothing to note", test_nothing_to_note);
    CU_add_test(suite, "waiting", test_waiting);
    CU_add_test(suite, "outside", test_outside);
    CU_add_test(suite, "the rest", test_the_rest);
    CU_add_test(suite, "rate and own cost", test_rate_and_own_cost);
    CU_add_test(suite, "lines break between parts", test_lines_break_between_parts);
}
