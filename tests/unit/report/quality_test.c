#include "report/quality.h"
#include "tests/unit/report/datasets.h"

/* A dataset of 100 samples in one function. */
static struct report_dataset plain(void)
{
    struct report_dataset dataset = {.run_count = 1, .run_number = 1};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP);
    add_path(&dataset, 0, add_function(&dataset, app, "f"), 100);
    finish_dataset(&dataset);
    dataset.quality.samples = 100;
    return dataset;
}

/* Whether the notes on a dataset hold a text. Releases the dataset. */
static bool noted(struct report_dataset dataset, const char *text)
{
    struct quality_parts notes = {0};
    bool found = false;
    CU_ASSERT_EQUAL(report_quality_notes(&dataset, &notes), 0);
    for (size_t i = 0; i < notes.count; i++)
        found = found || strstr(notes.items[i], text);
    report_dataset_release(&dataset);
    return found;
}

static void test_nothing_to_note(void)
{
    struct report_dataset dataset = plain();
    struct quality_parts notes = {0};
    CU_ASSERT_EQUAL(report_quality_notes(&dataset, &notes), 0);
    CU_ASSERT_EQUAL(notes.count, 0);
    report_dataset_release(&dataset);
}

static void test_waiting(void)
{
    const uint64_t second = 1000000000;
    struct report_dataset dataset = plain();
    dataset.run.duration_ns = 10 * second;
    dataset.quality.target_cpu_ns = 49 * second / 10;
    CU_ASSERT_TRUE(noted(dataset, "on a CPU for 49 % of the time"));
    dataset = plain();
    dataset.run.duration_ns = 10 * second;
    dataset.quality.target_cpu_ns = 51 * second / 10;
    CU_ASSERT_FALSE(noted(dataset, "on a CPU"));
    /* CPU time of two runs is compared with how long both were. */
    dataset = plain();
    dataset.run.duration_ns = second;
    dataset.quality.target_cpu_ns = 2 * second;
    CU_ASSERT_EQUAL(
        sprof_vec_push(&dataset.runs, (struct store_run){.id = 1, .duration_ns = 9 * second}), 0);
    CU_ASSERT_EQUAL(
        sprof_vec_push(&dataset.runs, (struct store_run){.id = 2, .duration_ns = second}), 0);
    CU_ASSERT_TRUE(noted(dataset, "on a CPU for 20 % of the time"));
}

/* Callers make most of the unnamed frames, but the time is the library's. */
static void test_unnamed_time_comes_before_frames(void)
{
    struct report_dataset dataset = {.run_count = 1, .run_number = 1};
    struct quality_parts notes = {0};
    const uint32_t app = add_module(&dataset, "app", MODEL_KIND_APP),
                   deep = add_module(&dataset, "/nowhere/deep", MODEL_KIND_APP),
                   library = add_module(&dataset, "/nowhere/libpack.so", MODEL_KIND_APP);
    uint32_t path = add_path(&dataset, 0, add_function(&dataset, app, "main"), 0);
    dataset.functions.items[0].named = true;
    for (int i = 0; i < 8; i++)
        path = add_path(&dataset, path, add_function(&dataset, deep, "deep+0x10"), 0);
    add_path(&dataset, path, add_function(&dataset, library, "libpack.so+0x20"), 100);
    finish_dataset(&dataset);
    dataset.quality.samples = 100;
    dataset.quality.frames = 1000;
    dataset.quality.named_frames = 100;
    CU_ASSERT_EQUAL(report_quality_notes(&dataset, &notes), 0);
    CU_ASSERT_EQUAL_FATAL(notes.count, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(notes.items[0], "/nowhere/libpack.so has no symbols"));
    CU_ASSERT_PTR_NOT_NULL(strstr(notes.items[1], "/nowhere/deep has no symbols"));
    report_dataset_release(&dataset);
}

/* Where an interpreter's own functions are most, and nothing names those that it runs. */
static void test_interpreters(void)
{
    struct report_dataset dataset = {.run_count = 1, .run_number = 1};
    const uint32_t python = add_module(&dataset, "python3.11", MODEL_KIND_APP);
    const uint32_t app = add_module(&dataset, "app.so", MODEL_KIND_APP);
    add_path(&dataset, 0, add_function(&dataset, python, "_PyEval_EvalFrameDefault"), 40);
    add_path(&dataset, 0, add_function(&dataset, app, "f"), 60);
    dataset.modules.items[python - 1].path = "/usr/bin/python3.11";
    dataset.modules.items[app - 1].path = "/usr/lib/app.so";
    finish_dataset(&dataset);
    for (size_t i = 0; i < dataset.functions.count; i++)
        dataset.functions.items[i].named = true;
    CU_ASSERT_TRUE(noted(dataset, "functions of python3.11 are the interpreter's own; for the "
                                  "names of Python functions nothing helps in this version: it "
                                  "takes 3.12 or later, and then run `python3 -X perf"));
}

/* Most of it is not for every reader. */
static void test_brief_notes(void)
{
    struct report_dataset dataset = plain();
    struct quality_parts all = {0}, brief = {0};
    dataset.quality.tails_dropped = 3;
    dataset.chosen.is_part = true;
    CU_ASSERT_EQUAL(report_quality_notes(&dataset, &all), 0);
    CU_ASSERT_EQUAL(report_quality_brief_notes(&dataset, &brief), 0);
    CU_ASSERT_EQUAL(all.count, 2);
    CU_ASSERT_EQUAL(brief.count, 0);
    report_dataset_release(&dataset);
}

static void test_own_cost(void)
{
    const uint64_t second = 1000000000;
    struct report_dataset dataset = plain();
    dataset.quality.target_cpu_ns = 3 * second;
    dataset.quality.own_cpu_ns = second;
    dataset.quality.requested_hz = 997;
    CU_ASSERT_TRUE(noted(dataset, "own cost was 33.3 % of the target's CPU time: `sprof record "
                                  "--max-overhead 2%` limits it, -F 100 lowers it"));
    dataset = plain();
    dataset.quality.target_cpu_ns = second;
    dataset.quality.own_cpu_ns = second;
    CU_ASSERT_FALSE(noted(dataset, "own cost"));
}

static void test_outside(void)
{
    struct report_dataset dataset = plain();
    dataset.apart.outside = (struct model_cost){21, 21};
    CU_ASSERT_TRUE(noted(dataset, "21 % never enters the application: `--app-module GLOB`"));
    dataset = plain();
    dataset.apart.outside = (struct model_cost){20, 20};
    CU_ASSERT_FALSE(noted(dataset, "never enters"));
}

/* A recording per CPU, or per thread, at so many samples a second of the 997 that were asked for.
 */
static struct report_dataset from(const char *source, double reached_hz)
{
    struct report_dataset dataset = plain();
    dataset.run.source = source;
    dataset.run.stack_bytes = dataset.run.stack_bytes_wanted = 65528;
    dataset.quality.requested_hz = 997;
    dataset.quality.reached_hz = reached_hz;
    return dataset;
}

static void test_what_the_kernel_takes_away(void)
{
    static const char why[] = "perf per CPU, without BPF (this kernel does not take the programs)";
    struct report_dataset dataset = from(why, 997);
    CU_ASSERT_TRUE(noted(dataset, "without BPF (this kernel does not take the programs): samples "
                                  "have no exact weights, and stacks beyond 65528 bytes were read "
                                  "after their samples"));
    dataset = from(why, 997);
    dataset.run.kernel = "5.10.0-31-cloud-amd64";
    CU_ASSERT_TRUE(noted(dataset, "(this kernel does not take the programs; Linux 5.17 and later "
                                  "take them)"));
    dataset = from("perf per CPU, filtered in the kernel, without exact weights", 997);
    CU_ASSERT_TRUE(noted(dataset, "samples have no exact weights"));
    dataset = from("perf per CPU, filtered in the kernel, without deep stacks", 997);
    CU_ASSERT_TRUE(noted(dataset, "stacks beyond 65528 bytes were read after their samples"));
    CU_ASSERT_FALSE(noted(from("perf per thread, without BPF (not permitted)", 997), "BPF"));
    CU_ASSERT_FALSE(noted(from("perf per CPU, filtered in the kernel", 997), "kernel"));
}

static void test_late_timers(void)
{
    static const char late[] = "mostly where the timer fired late",
                      naps[] = "mostly of threads that wake for some microseconds";
    struct report_dataset dataset = from("perf per CPU, filtered in the kernel", 500);
    dataset.apart.not_sampled = (struct model_cost){0, 50};
    CU_ASSERT_TRUE(noted(dataset, naps));
    dataset = from("perf per CPU, filtered in the kernel, without exact weights", 500);
    dataset.apart.not_sampled = (struct model_cost){0, 50};
    CU_ASSERT_TRUE(noted(dataset, late));
    dataset = from("perf per CPU, without BPF (not permitted)", 900);
    dataset.apart.not_sampled = (struct model_cost){0, 50};
    CU_ASSERT_TRUE(noted(dataset, naps));
    CU_ASSERT_TRUE(noted(from("perf per thread", 497), "497 of 997 Hz: the timer fired late"));
    CU_ASSERT_FALSE(noted(from("perf per thread", 990), "the timer fired late"));
}

static void test_lowered_rate(void)
{
    CU_ASSERT_TRUE(noted(from("perf per CPU, at most the kernel's 750 Hz", 750),
                         "above the kernel's limit, 750 Hz, which was used"));
}

static void test_the_rest(void)
{
    struct report_dataset dataset = plain();
    dataset.run.kernel_excluded = "perf_event_paranoid is 2";
    CU_ASSERT_TRUE(noted(dataset, "kernel code is not sampled: perf_event_paranoid is 2"));
    dataset = plain();
    dataset.run_count = 2;
    dataset.run_number = 2;
    CU_ASSERT_TRUE(noted(dataset, "run 2 of 2; --run N chooses"));
    dataset = plain();
    dataset.run_count = 3;
    CU_ASSERT_EQUAL(sprof_vec_push(&dataset.runs, (struct store_run){.id = 1}), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&dataset.runs, (struct store_run){.id = 3}), 0);
    CU_ASSERT_TRUE(noted(dataset, "2 of 3 runs; --run N chooses one"));
    dataset = plain();
    dataset.run_count = 3;
    dataset.event = (struct store_event){.id = 1, .run_id = 3, .name = "calls"};
    CU_ASSERT_EQUAL(sprof_vec_push(&dataset.events, dataset.event), 0);
    CU_ASSERT_EQUAL(report_row_numbers_put(&dataset.numbers.events, 1, 1), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&dataset.runs, (struct store_run){.id = 1}), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&dataset.runs, (struct store_run){.id = 3}), 0);
    CU_ASSERT_TRUE(noted(dataset, "1 of 3 runs, others have no calls; --run N chooses one"));
    dataset = plain();
    dataset.compared = true;
    dataset.run_count = 2;
    dataset.run_number = 2;
    CU_ASSERT_TRUE(noted(dataset, "the quality figures are of the newest run of the second side, 2 "
                                  "of 2 in its file; FILE:RUN chooses another"));
    dataset = plain();
    dataset.run.stack_bytes_wanted = 65528;
    dataset.run.stack_bytes = 8192;
    CU_ASSERT_TRUE(noted(dataset,
                         "8192 bytes of each stack were copied, not 65528: there was no more "
                         "memory for rings; raise `ulimit -l`, or run `sudo sysctl "
                         "kernel.perf_event_mlock_kb=8196`"));
    dataset = plain();
    dataset.run.stack_bytes_wanted = 65528;
    dataset.run.stack_bytes = 64232; /* what fits into the rings of an ordinary user */
    CU_ASSERT_FALSE(noted(dataset, "of each stack were copied"));
    dataset = plain();
    dataset.quality.tails_dropped = 1;
    CU_ASSERT_TRUE(noted(dataset, "1 deep stack found no memory when sampled, and was read later"));
    dataset = plain();
    dataset.quality.tails_dropped = 27;
    CU_ASSERT_TRUE(noted(dataset, "27 deep stacks found no memory when sampled, and were read"));
    dataset = (struct report_dataset){.run_count = 1};
    CU_ASSERT_TRUE(noted(dataset, "nothing was sampled"));
}

/* From the first sample beyond one in a hundred on. */
static void test_lost(void)
{
    struct report_dataset dataset = plain();
    dataset.quality.samples = 990;
    dataset.quality.lost = 10;
    CU_ASSERT_FALSE(noted(dataset, "were lost"));
    dataset = plain();
    dataset.quality.samples = 989;
    dataset.quality.lost = 11;
    CU_ASSERT_TRUE(noted(dataset, "1.1 % of the samples were lost: record with a lower -F"));
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
    /* A share of what the target used, not of both together: 25 %. */
    quality.own_cpu_ns = 1000000000;
    quality.target_cpu_ns = 3000000000;
    CU_ASSERT_STRING_EQUAL(report_quality_own_cost(text, &quality), "33.3 %");
    /* Beside less than a tenth of a second, the time itself. */
    quality.own_cpu_ns = 14520000;
    quality.target_cpu_ns = 100000000;
    CU_ASSERT_STRING_EQUAL(report_quality_own_cost(text, &quality), "14.5 %");
    CU_ASSERT_TRUE(report_quality_is_costly(&quality));
    quality.own_cpu_ns = 10000000;
    CU_ASSERT_FALSE(report_quality_is_costly(&quality));
    quality.own_cpu_ns = 14520000;
    quality.target_cpu_ns = 99999999;
    CU_ASSERT_FALSE(report_quality_is_costly(&quality));
    CU_ASSERT_STRING_EQUAL(report_quality_own_cost(text, &quality), "14.5 ms");
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
    CU_add_test(suite, "unnamed time comes before frames", test_unnamed_time_comes_before_frames);
    CU_add_test(suite, "interpreters", test_interpreters);
    CU_add_test(suite, "brief notes", test_brief_notes);
    CU_add_test(suite, "own cost", test_own_cost);
    CU_add_test(suite, "nothing to note", test_nothing_to_note);
    CU_add_test(suite, "waiting", test_waiting);
    CU_add_test(suite, "outside", test_outside);
    CU_add_test(suite, "what the kernel takes away", test_what_the_kernel_takes_away);
    CU_add_test(suite, "late timers", test_late_timers);
    CU_add_test(suite, "lowered rate", test_lowered_rate);
    CU_add_test(suite, "the rest", test_the_rest);
    CU_add_test(suite, "lost", test_lost);
    CU_add_test(suite, "rate and own cost", test_rate_and_own_cost);
    CU_add_test(suite, "lines break between parts", test_lines_break_between_parts);
}
