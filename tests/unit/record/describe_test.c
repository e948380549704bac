/* What a run says of itself, without a sampler: its facts are given here. */
#include "record/session.h"
#include "tests/unit/image/fixture.h"

#include <sys/utsname.h>
#include <unistd.h>

const struct sampler_facts *__real_sampler_facts(const struct sampler *sampler);
const struct sampler_facts *__wrap_sampler_facts(const struct sampler *sampler);

static const struct sampler_event events[] = {
    {.name = "cpu-clock",
     .is_clock = true,
     .kernel_excluded = true,
     .period = 1003009,
     .due_ns = 1003009},
    {.name = "page-faults", .varying_period = true},
};
static const struct sampler_facts facts = {
    .events = events,
    .event_count = 2,
    .frequency_hz = 997,
    .source = "perf per CPU",
    .kernel_excluded = true,
    .kernel_excluded_why = "kernel.perf_event_paranoid is 2",
    .stack_bytes = 16384,
    .stack_bytes_wanted = 65528,
    .ring_bytes = 1 << 20,
    .cpus = 2,
};

const struct sampler_facts *__wrap_sampler_facts(const struct sampler *sampler)
{
    return sampler ? __real_sampler_facts(sampler) : &facts;
}

static void describe(struct record_session *session, const struct record_options *options)
{
    static struct store_run run;
    run = (struct store_run){0};
    *session = (struct record_session){.options = *options, .run = &run};
    CU_ASSERT_EQUAL_FATAL(record_describe(session, NULL), 0);
}

/* A command as a shell reads it back, word by word. */
static void test_a_shell_reads_the_command_back(void)
{
    char *const words[] = {"printf",    "<%s>\n", "plain-word_1.2/3:4,5@6%7+8=9",
                           "",          "a b",    "it's",
                           "''",        "$HOME",  "`id`",
                           "\"q\"",     "a;b|c&", "back\\slash",
                           "*?[x]",     "~",      "#no",
                           "new\nline", "!x",     "{a,b}",
                           "\xc3\xa9",  NULL};
    struct record_session session;
    const struct record_options options = {.mode = MODEL_MODE_FULL, .command = words};
    describe(&session, &options);
    FILE *shell = popen(session.run->command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(shell);
    char output[2048] = "";
    const size_t size = fread(output, 1, sizeof output - 1, shell);
    CU_ASSERT_EQUAL(pclose(shell), 0);
    output[size] = '\0';
    struct sprof_str expected = {0};
    for (size_t i = 2; words[i]; i++)
        sprof_str_appendf(&expected, "<%s>\n", words[i]);
    CU_ASSERT_STRING_EQUAL(output, expected.text);
    sprof_str_release(&expected);
    sprof_vec_release(&session.events);
    sprof_arena_release(&session.arena);
}

static void test_only_what_needs_it_is_quoted(void)
{
    char *const words[] = {"./a.out", "-O2", "two words", "it's", NULL};
    struct record_session session;
    const struct record_options options = {.mode = MODEL_MODE_FULL, .command = words};
    describe(&session, &options);
    CU_ASSERT_STRING_EQUAL(session.run->command, "./a.out -O2 'two words' 'it'\\''s'");
    CU_ASSERT_PTR_NULL(session.run->targets);
    sprof_vec_release(&session.events);
    sprof_arena_release(&session.arena);
}

static void test_targets(void)
{
    static const pid_t pids[] = {4242, 77};
    struct record_session session;
    const struct record_options processes = {.mode = MODEL_MODE_FULL, .pids = pids, .pid_count = 2};
    describe(&session, &processes);
    CU_ASSERT_STRING_EQUAL(session.run->targets, "4242,77");
    CU_ASSERT_PTR_NULL(session.run->command);
    sprof_vec_release(&session.events);
    sprof_arena_release(&session.arena);
    const struct record_options thread = {.mode = MODEL_MODE_FULL, .tid = 99};
    describe(&session, &thread);
    CU_ASSERT_STRING_EQUAL(session.run->targets, "thread 99");
    sprof_vec_release(&session.events);
    sprof_arena_release(&session.arena);
}

static void test_settings(void)
{
    static const struct model_kind_rule rules[] = {{MODEL_KIND_APP, "*/libmine*"},
                                                   {MODEL_KIND_SYSTEM, "old*"}};
    struct record_session session;
    const struct record_options options = {
        .mode = MODEL_MODE_APP, .rules = {rules, 2}, .sprof_version = "1.2.3"};
    describe(&session, &options);
    const struct store_run *run = session.run;
    CU_ASSERT_STRING_EQUAL(run->module_rules, "app */libmine*\nsystem old*\n");
    CU_ASSERT_STRING_EQUAL(run->source, "perf per CPU");
    CU_ASSERT_STRING_EQUAL(run->kernel_excluded, "kernel.perf_event_paranoid is 2");
    CU_ASSERT_STRING_EQUAL(run->sprof_version, "1.2.3");
    CU_ASSERT_EQUAL(run->stack_bytes, 16384);
    CU_ASSERT_EQUAL(run->stack_bytes_wanted, 65528);
    CU_ASSERT_EQUAL(run->frequency_hz, 997);
    CU_ASSERT_EQUAL(run->cpus, 2);
    CU_ASSERT_EQUAL_FATAL(session.events.count, 2);
    const struct record_event *clock = &session.events.items[0], *faults = clock + 1;
    CU_ASSERT_STRING_EQUAL(clock->row.name, "cpu-clock");
    CU_ASSERT_TRUE(clock->row.is_clock);
    CU_ASSERT_EQUAL(clock->ledger.period_ns, 1003009);
    CU_ASSERT_TRUE(clock->ledger.kernel_excluded);
    CU_ASSERT_STRING_EQUAL(faults->row.name, "page-faults");
    CU_ASSERT_TRUE(faults->row.varying && !faults->row.is_clock && !faults->ledger.period_ns);
    CU_ASSERT_STRING_EQUAL(session.event_names, "cpu-clock,page-faults");
    CU_ASSERT_PTR_EQUAL(record_clock(&session), clock);
    sprof_vec_release(&session.events);
    sprof_arena_release(&session.arena);
}

/* The start time is what /proc says, so that a live recorder can be told from a killed one. */
static void test_machine_and_recorder(void)
{
    struct record_session session;
    struct utsname machine;
    const struct record_options options = {.mode = MODEL_MODE_PC, .frame_app = true};
    describe(&session, &options);
    const struct store_run *run = session.run;
    CU_ASSERT_EQUAL(uname(&machine), 0);
    CU_ASSERT_STRING_EQUAL(run->host, machine.nodename);
    CU_ASSERT_STRING_EQUAL(run->kernel, machine.release);
    CU_ASSERT_EQUAL(run->recorder_pid, getpid());
    char command[128], number[32] = "";
    snprintf(command, sizeof command, "sed 's/.*) //' /proc/%d/stat | cut -d' ' -f20", getpid());
    FILE *shell = popen(command, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(fgets(number, sizeof number, shell));
    pclose(shell);
    CU_ASSERT_EQUAL(run->recorder_start, strtoull(number, NULL, 10));
    CU_ASSERT_EQUAL(strlen(run->boot_id), 36);
    sprof_vec_release(&session.events);
    sprof_arena_release(&session.arena);
}

void sprof_suite_record_describe(void);
void sprof_suite_record_describe(void)
{
    CU_pSuite suite = CU_add_suite("record/describe", NULL, NULL);
    CU_add_test(suite, "a shell reads the command back", test_a_shell_reads_the_command_back);
    CU_add_test(suite, "only what needs it is quoted", test_only_what_needs_it_is_quoted);
    CU_add_test(suite, "targets", test_targets);
    CU_add_test(suite, "settings", test_settings);
    CU_add_test(suite, "machine and recorder", test_machine_and_recorder);
}
