/* Whole recordings of tiny commands. Where perf events are refused, each test says that it is
 * skipped. */
#include "import/import.h"
#include "record/record.h"
#include "recording/recording.h"

#include "tests/unit/recording/handmade.h"

#include "sampler/sampler.h"
#include "tests/unit/skip.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const true_command[] = {"/bin/true", NULL};

struct scene {
    struct handmade made;        /* only its places are used */
    char path[128], *command[2]; /* of a command that cannot be executed */
    struct record_options options;
    struct record_result result;
    struct sprof_error error;
};

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    fixture_open(&scene->made.fixture);
    strcpy(scene->made.path, fixture_path(&scene->made.fixture, "sprof.db"));
    scene->options = (struct record_options){.mode = MODEL_MODE_FULL,
                                             .output = scene->made.path,
                                             .command = true_command,
                                             .sprof_version = "0.1.0"};
}

static int record(struct scene *scene)
{
    struct record_session *session;
    int result = record_open(&session, &scene->options, &scene->error);
    if (result)
        return result;
    result = record_run(session, &scene->result, &scene->error);
    record_free(session);
    return result;
}

/* Whether a recording could be made at all; where not, the test is over. */
static bool permitted(struct scene *scene, int result)
{
    if (result != SPROF_EPERMISSION)
        return true;
    sprof_test_skip("%s", scene->error.message);
    fixture_close(&scene->made.fixture);
    return false;
}

/* A recording that is there before: quicker than a real one. */
static void import(const struct scene *scene)
{
    struct fixture fixture = scene->made.fixture;
    fixture_write(&fixture, "in.folded", "a;b 1\n", 6);
    const struct import_options options = {.input = fixture_path(&fixture, "in.folded"),
                                           .output = scene->made.path,
                                           .sprof_version = "0.1.0"};
    struct import_result result;
    CU_ASSERT_EQUAL(import_file(&options, &result, NULL), 0);
}

static void test_a_command(void)
{
    struct scene scene;
    scene_open(&scene);
    if (!permitted(&scene, record(&scene)))
        return;
    CU_ASSERT_STRING_EQUAL(scene.error.message, "");
    CU_ASSERT_TRUE(scene.result.has_wait_status && scene.result.wait_status == 0);
    CU_ASSERT_FALSE(scene.result.interrupted);
    ASSERT_HANDMADE(
        &scene.made,
        "SELECT run_id, state, command, wait_status, duration_ns > 0, target_cpu_ns > 0,"
        " own_cpu_ns > 0 FROM v_run",
        "1|complete|/bin/true|0|1|1|1");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM process WHERE name = 'true'", "1");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) > 10 FROM counter", "1");
    CU_ASSERT_FALSE(file_exists(fixture_path(&scene.made.fixture, "sprof.db-wal")));
    fixture_close(&scene.made.fixture);
}

static void test_not_symbolized(void)
{
    struct scene scene;
    scene_open(&scene);
    import(&scene);
    scene.options.no_symbolize = true;
    scene.options.command =
        (char *[]){"/bin/sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done", NULL};
    if (!permitted(&scene, record(&scene)))
        return;
    char samples[24];
    snprintf(samples, sizeof samples, "%llu", (unsigned long long)scene.result.samples);
    CU_ASSERT_TRUE(scene.result.samples > 0);
    ASSERT_HANDMADE(&scene.made, "SELECT samples FROM v_quality", samples);
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "recorded");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM function", "0");
    const struct recording_derive_options finish = {0};
    CU_ASSERT_EQUAL(recording_derive(scene.made.path, &finish, &scene.error), 0);
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "complete");
    CU_ASSERT_TRUE(file_exists(fixture_path(&scene.made.fixture, "sprof.db.old.1")));
    fixture_close(&scene.made.fixture);
}

/* A sampler that fails is no sampler that has nothing more: what is missing then was not lost in
 * the rings, and nobody would know. */
static bool next_fails;
static useconds_t next_takes_us; /* once */
int __real_sampler_next(struct sampler *sampler, const struct model_record **record);
int __wrap_sampler_next(struct sampler *sampler, const struct model_record **record);
int __wrap_sampler_next(struct sampler *sampler, const struct model_record **record)
{
    const int result = __real_sampler_next(sampler, record);
    if (next_takes_us) {
        usleep(next_takes_us);
        next_takes_us = 0;
    }
    return result == 1 && next_fails ? SPROF_ENOMEM : result;
}

/* Rings take long to be emptied where the machine is loaded. */
static useconds_t drain_takes_us;
void __real_sampler_stop(struct sampler *sampler);
void __wrap_sampler_stop(struct sampler *sampler);
void __wrap_sampler_stop(struct sampler *sampler)
{
    __real_sampler_stop(sampler);
    next_takes_us = drain_takes_us;
    drain_takes_us = 0;
}

static void test_a_failing_sampler(void)
{
    struct scene scene;
    scene_open(&scene);
    next_fails = true;
    const int result = record(&scene);
    next_fails = false;
    if (!permitted(&scene, result))
        return;
    CU_ASSERT_EQUAL(result, SPROF_ENOMEM);
    CU_ASSERT_STRING_NOT_EQUAL(scene.error.message, "");
    fixture_close(&scene.made.fixture);
}

/* The elapsed time is that of sampling: what comes after the end of it has no samples. */
static void test_a_long_drain(void)
{
    static const useconds_t drain_us = 1500000;
    static const struct {
        uint64_t duration_ns;
        bool all_cpus;
        const char *seconds;
    } ways[] = {{0, false, "0.2"}, {200000000, false, "5"}, {0, true, "0.2"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct scene scene;
        scene_open(&scene);
        scene.options.command = (char *[]){"/bin/sleep", (char *)ways[i].seconds, NULL};
        scene.options.duration_ns = ways[i].duration_ns;
        scene.options.ends_command = true;
        scene.options.all_cpus = ways[i].all_cpus;
        drain_takes_us = drain_us;
        const uint64_t begin_ns = sprof_clock_monotonic_ns();
        const int result = record(&scene);
        const uint64_t all_us = (sprof_clock_monotonic_ns() - begin_ns) / 1000;
        drain_takes_us = next_takes_us = 0;
        if (!permitted(&scene, result))
            return;
        CU_ASSERT_EQUAL(result, 0);
        char wanted[96];
        snprintf(wanted, sizeof wanted,
                 "SELECT duration_ns >= 190000000, duration_ns / 1000 + %u < %llu FROM v_run",
                 drain_us, (unsigned long long)all_us);
        ASSERT_HANDMADE(&scene.made, wanted, "1|1");
        fixture_close(&scene.made.fixture);
    }
}

/* == Appending == */

static void test_appended_runs(void)
{
    struct scene scene;
    scene_open(&scene);
    if (!permitted(&scene, record(&scene)))
        return;
    scene.options.append = true;
    CU_ASSERT_EQUAL(record(&scene), 0);
    CU_ASSERT_EQUAL(scene.result.run_id, 2);
    ASSERT_HANDMADE(&scene.made, "SELECT run_id, state FROM v_run ORDER BY run_id",
                    "1|complete 2|complete");
    ASSERT_HANDMADE(&scene.made, "SELECT run_id FROM event ORDER BY id", "1 2");
    ASSERT_HANDMADE(&scene.made, "PRAGMA foreign_key_check", "");
    CU_ASSERT_FALSE(file_exists(fixture_path(&scene.made.fixture, "sprof.db.old.1")));
    fixture_close(&scene.made.fixture);
}

static void test_appending_in_another_mode(void)
{
    struct scene scene;
    scene_open(&scene);
    if (!permitted(&scene, record(&scene)))
        return;
    scene.options.append = true;
    scene.options.mode = MODEL_MODE_PC;
    CU_ASSERT_EQUAL(record(&scene), 0);
    ASSERT_HANDMADE(&scene.made, "SELECT mode, state FROM v_run", "full|complete pc|complete");
    ASSERT_HANDMADE(&scene.made, "SELECT run_id, mode FROM v_phase", "1|full 2|pc");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM v_call_tree WHERE run_id = 2 AND depth > 1",
                    "0");
    fixture_close(&scene.made.fixture);
}

static void test_appending_to_an_import(void)
{
    struct scene scene;
    scene_open(&scene);
    import(&scene);
    scene.options.append = true;
    const int result = record(&scene);
    if (!permitted(&scene, result))
        return;
    CU_ASSERT_EQUAL(result, SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.error.message, "imported"));
    ASSERT_HANDMADE(&scene.made, "SELECT name FROM function ORDER BY name", "a b");
    fixture_close(&scene.made.fixture);
}

/* == Nothing is left behind == */

static void use_broken_script(struct scene *scene)
{
    static const char script[] = "#!/nonexistent/interpreter\n";
    fixture_write(&scene->made.fixture, "script", script, sizeof script - 1);
    fixture_run(&scene->made.fixture, "chmod +x script");
    strcpy(scene->path, fixture_path(&scene->made.fixture, "script"));
    scene->command[0] = scene->path;
    scene->options.command = scene->command;
}

static void test_the_former_recording_stays(void)
{
    struct scene scene;
    scene_open(&scene);
    import(&scene);
    use_broken_script(&scene);
    const int result = record(&scene);
    if (!permitted(&scene, result))
        return;
    CU_ASSERT_EQUAL(result, SPROF_ENOCOMMAND);
    CU_ASSERT_STRING_NOT_EQUAL(scene.error.message, "");
    ASSERT_HANDMADE(&scene.made, "SELECT source FROM run", "import");
    CU_ASSERT_FALSE(file_exists(fixture_path(&scene.made.fixture, "sprof.db.old.1")));
    fixture_close(&scene.made.fixture);
}

/* A .old from before is not taken for the former recording. */
static void test_an_older_one_is_not_put_back(void)
{
    struct scene scene;
    scene_open(&scene);
    import(&scene);
    fixture_run(&scene.made.fixture, "mv sprof.db sprof.db.old.1");
    use_broken_script(&scene);
    const int result = record(&scene);
    if (!permitted(&scene, result))
        return;
    CU_ASSERT_EQUAL(result, SPROF_ENOCOMMAND);
    CU_ASSERT_TRUE(file_exists(fixture_path(&scene.made.fixture, "sprof.db.old.1")));
    CU_ASSERT_FALSE(file_exists(scene.made.path));
    fixture_close(&scene.made.fixture);
}

/* == Attached == */

/* A process that uses one CPU until spin_end. */
static __attribute__((noinline)) pid_t spin_begin(void)
{
    const pid_t child = fork();
    if (child)
        return child;
    alarm(100);
    for (;;)
        ;
}

static void spin_end(pid_t child)
{
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool record_spinning(struct scene *scene)
{
    const pid_t child = spin_begin();
    scene->options.command = NULL;
    scene->options.pids = &child;
    scene->options.pid_count = 1;
    const int result = record(scene);
    CU_ASSERT_EQUAL(kill(child, 0), 0);
    spin_end(child);
    if (!permitted(scene, result))
        return false;
    CU_ASSERT_EQUAL(result, 0);
    CU_ASSERT_STRING_EQUAL(scene->error.message, "");
    CU_ASSERT_FALSE(scene->result.has_wait_status);
    return true;
}

/* A machine may let a process wait for as long as the recording takes: then it is recorded anew. */
static bool record_until_seen(struct scene *scene)
{
    bool seen = false;
    for (int i = 0; i < 20 && !seen; i++) {
        if (!record_spinning(scene))
            return false;
        const char *enough = "SELECT count(*) > 10 FROM sample";
        seen = strcmp(handmade_query(&scene->made, enough), "1") == 0;
    }
    return true;
}

static void test_attached_for_a_while(void)
{
    struct scene scene;
    scene_open(&scene);
    scene.options.duration_ns = 1000000000;
    if (!record_until_seen(&scene))
        return;
    ASSERT_HANDMADE(&scene.made, "SELECT samples > 10, whole_stacks = user_stacks FROM v_quality",
                    "1|1");
    ASSERT_HANDMADE(&scene.made,
                    "SELECT function FROM v_function ORDER BY exclusive_samples DESC LIMIT 1",
                    "spin_begin");
    ASSERT_HANDMADE(&scene.made, "SELECT command LIKE '%unit_record%' FROM process", "1");
    fixture_close(&scene.made.fixture);
}

/* Nobody expects samples of the time before the first one was wanted. */
static void test_delayed(void)
{
    struct scene scene;
    scene_open(&scene);
    scene.options.delay_ns = 800000000;
    scene.options.duration_ns = 1000000000;
    if (!record_until_seen(&scene))
        return;
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) > 10, min(time_ns) >= 800000000 FROM sample",
                    "1|1");
    /* The ledger's seconds begin with the run, its duration after the delay. */
    ASSERT_HANDMADE(&scene.made,
                    "SELECT target_cpu_ns BETWEEN 1 AND 400000000 + duration_ns,"
                    " duration_ns >= 1000000000 AND (duration_ns + 800000000) / 1000000000 ="
                    " (SELECT max(second) FROM ledger) FROM run",
                    "1|1");
    /* (A row of time that was not sampled counts no samples.) */
    ASSERT_HANDMADE(&scene.made,
                    "SELECT sum(expected_cpu_ns) = (SELECT target_cpu_ns FROM run),"
                    " sum(delivered) = (SELECT sum(count) FROM sample)"
                    " FROM ledger",
                    "1|1");
    fixture_close(&scene.made.fixture);
}

void sprof_suite_record_session(void);
void sprof_suite_record_session(void)
{
    CU_pSuite suite = CU_add_suite("record/session", NULL, NULL);
    CU_add_test(suite, "a command", test_a_command);
    CU_add_test(suite, "not symbolized", test_not_symbolized);
    CU_add_test(suite, "a failing sampler", test_a_failing_sampler);
    CU_add_test(suite, "a long drain", test_a_long_drain);
    CU_add_test(suite, "appended runs", test_appended_runs);
    CU_add_test(suite, "appending in another mode", test_appending_in_another_mode);
    CU_add_test(suite, "appending to an import", test_appending_to_an_import);
    CU_add_test(suite, "the former recording stays", test_the_former_recording_stays);
    CU_add_test(suite, "an older one is not put back", test_an_older_one_is_not_put_back);
    CU_add_test(suite, "attached for a while", test_attached_for_a_while);
    CU_add_test(suite, "delayed", test_delayed);
}
