/* The life of a recording, fed by hand with records of this very process. */
#include "recording/recording.h"

#include "recording/build.h"
#include "target/target.h"
#include "tests/unit/recording/handmade.h"
#include "tests/unit/recording/this_process.h"

#include <stdatomic.h>
#include <unistd.h>

enum { SLICE = 65528, START_NS = 1000, SAMPLE_NS = START_NS + 500 };

struct scene {
    struct handmade made; /* only its places are used */
    struct recording_options options;
    struct recording *recording;
    uint32_t event;
    unsigned sampled; /* calls of count_sample … */
    struct recording_sampled last;
    int sampled_result; /* … and its answer */
};

static int count_sample(void *context, const struct recording_sampled *sampled)
{
    struct scene *scene = context;
    scene->sampled++;
    scene->last = *sampled;
    return scene->sampled_result;
}

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){.options = {.view = {.mode = MODEL_MODE_FULL}}};
    fixture_open(&scene->made.fixture);
    strcpy(scene->made.path, fixture_path(&scene->made.fixture, "sprof.db"));
    scene->options.output = scene->made.path;
    scene->options.sampled = count_sample;
    scene->options.context = scene;
}

static void scene_start(struct scene *scene, uint64_t delay_ns)
{
    const struct store_event event = {.name = "by hand", .period = 1};
    CU_ASSERT_EQUAL_FATAL(recording_open(&scene->recording, &scene->options, NULL), 0);
    recording_run(scene->recording)->sprof_version = "0";
    recording_run(scene->recording)->source = "by hand";
    CU_ASSERT_EQUAL(recording_add_event(scene->recording, &event, &scene->event), 0);
    CU_ASSERT_EQUAL(recording_start(scene->recording, START_NS, delay_ns, NULL), 0);
}

/* Everything that /proc tells of this process. */
static void feed_process(struct scene *scene)
{
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_process(&snapshot, getpid(), START_NS), 0);
    for (const struct model_record *record; (record = target_snapshot_next(&snapshot));)
        CU_ASSERT_EQUAL(recording_event(scene->recording, record), 0);
    target_snapshot_release(&snapshot);
}

static __attribute__((noinline)) int feed_sample(struct scene *scene, uint64_t time_ns)
{
    struct this_sample taken = this_process_sample(SLICE);
    const struct model_record record = {.type = MODEL_RECORD_SAMPLE,
                                        .time_ns = time_ns,
                                        .pid = getpid(),
                                        .tid = getpid(),
                                        .sample = taken.sample};
    const int result = recording_sample(scene->recording, &record, scene->event);
    free(taken.memory);
    return result;
}

static void scene_finish(struct scene *scene, bool no_symbolize)
{
    const struct recording_end end = {.no_symbolize = no_symbolize};
    CU_ASSERT_EQUAL(recording_finish(scene->recording, &end, NULL), 0);
    recording_free(scene->recording);
}

static void test_a_sample_waits_for_its_tables(void)
{
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    feed_process(&scene);
    CU_ASSERT_EQUAL(feed_sample(&scene, SAMPLE_NS), 0);
    CU_ASSERT_EQUAL(scene.sampled, 0);
    CU_ASSERT_TRUE(recording_waiting_bytes(scene.recording) > 0);
    CU_ASSERT_EQUAL(recording_settle(scene.recording, 0), 0);
    CU_ASSERT_EQUAL(recording_waiting_bytes(scene.recording), 0);
    CU_ASSERT_EQUAL(scene.sampled, 1);
    CU_ASSERT_EQUAL(scene.last.time_ns, SAMPLE_NS - START_NS);
    CU_ASSERT_EQUAL(scene.last.tid, getpid());
    CU_ASSERT_TRUE(scene.last.has_extent);
    scene_finish(&scene, false);
    ASSERT_HANDMADE(&scene.made, "SELECT state, source FROM v_run", "complete|by hand");
    ASSERT_HANDMADE(&scene.made,
                    "SELECT time_ns, event, end_reason, path LIKE '%feed_sample%' FROM v_sample",
                    "500|by hand|root|1");
    ASSERT_HANDMADE(&scene.made, "SELECT value FROM counter WHERE name = 'samples.waited'", "1");
    ASSERT_HANDMADE(&scene.made, "SELECT value >= 1 FROM counter WHERE name = 'unwind.walks'", "1");
    ASSERT_HANDMADE(&scene.made, "PRAGMA foreign_key_check", "");
    fixture_close(&scene.made.fixture);
}

static void test_flushed_rows_are_there_at_once(void)
{
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    feed_process(&scene);
    CU_ASSERT_EQUAL(recording_flush(scene.recording, NULL), 0);
    CU_ASSERT_EQUAL(recording_close(scene.recording, NULL), 0);
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "recording");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM process", "1");
    ASSERT_HANDMADE(&scene.made, "SELECT name FROM event", "by hand");
    recording_free(scene.recording);
    fixture_close(&scene.made.fixture);
}

static void test_samples_before_the_first_are_dropped(void)
{
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, SAMPLE_NS + 1 - START_NS);
    feed_process(&scene);
    CU_ASSERT_EQUAL(feed_sample(&scene, SAMPLE_NS), 0);
    CU_ASSERT_EQUAL(recording_settle(scene.recording, 0), 0);
    CU_ASSERT_EQUAL(scene.sampled, 0);
    scene_finish(&scene, true);
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "recorded");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM sample", "0");
    ASSERT_HANDMADE(&scene.made, "SELECT value FROM counter WHERE name = 'samples.delayed'", "1");
    fixture_close(&scene.made.fixture);
}

static void test_the_listener_may_refuse(void)
{
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    feed_process(&scene);
    scene.sampled_result = SPROF_ENOMEM;
    const int first = feed_sample(&scene, SAMPLE_NS);
    CU_ASSERT_TRUE(first == SPROF_ENOMEM || recording_settle(scene.recording, 0) == SPROF_ENOMEM);
    recording_free(scene.recording);
    fixture_close(&scene.made.fixture);
}

/* Stacks that nobody walked, of two events. */
static void test_given_stacks(void)
{
    const struct store_event calls = {.name = "calls", .period = 1};
    struct store_sample row = {.weight = 3, .count = 3, .cpu = -1, .user_stack = true};
    const struct sprof_file_id prog = {.path = "/opt/prog"};
    struct recording_names names = {0};
    uint32_t second, node = 0;
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    const struct model_thread *thread = recording_thread(scene.recording, 7, 7, "thread", START_NS);
    CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
    static const struct recording_level levels[] = {
        {.name = "outer"}, {.name = "inlined", .file = "a.c", .line = 7}, {.name = "inner"}};
    for (size_t i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(sprof_vec_push(&names.levels, levels[i]), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&names.addresses, (struct recording_named){1, 0}), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&names.addresses, (struct recording_named){3, 0x1234}), 0);
    CU_ASSERT_EQUAL(recording_add_event(scene.recording, &calls, &second), 0);
    CU_ASSERT_EQUAL(recording_child(scene.recording, 0, &prog, false, 1, &node), 0);
    CU_ASSERT_EQUAL(recording_child(scene.recording, node, &prog, false, 2, &node), 0);
    row.thread_id = thread->id;
    row.node_id = node;
    row.event_id = scene.event;
    CU_ASSERT_EQUAL(recording_add_sample(scene.recording, &row), 0);
    row.event_id = second;
    row.weight = 5;
    CU_ASSERT_EQUAL(recording_add_sample(scene.recording, &row), 0);
    const struct recording_end end = {.names = &names};
    CU_ASSERT_EQUAL(recording_finish(scene.recording, &end, NULL), 0);
    recording_free(scene.recording);
    sprof_vec_release(&names.levels);
    sprof_vec_release(&names.addresses);
    ASSERT_HANDMADE(&scene.made,
                    "SELECT event, function, exclusive_weight, inclusive_weight FROM v_function"
                    " ORDER BY event, function",
                    "by hand|inlined|3|3 by hand|inner|0|3 by hand|outer|0|3"
                    " calls|inlined|5|5 calls|inner|0|5 calls|outer|0|5");
    ASSERT_HANDMADE(&scene.made, "SELECT file, line, file_offset FROM frame WHERE file IS NOT NULL",
                    "a.c|7|4660");
    fixture_close(&scene.made.fixture);
}

static void test_an_abandoned_recording_was_never_there(void)
{
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    feed_process(&scene);
    scene_finish(&scene, true);
    scene_start(&scene, 0);
    CU_ASSERT_TRUE(file_exists(fixture_path(&scene.made.fixture, "sprof.db.old.1")));
    recording_abandon(scene.recording);
    recording_free(scene.recording);
    CU_ASSERT_FALSE(file_exists(fixture_path(&scene.made.fixture, "sprof.db.old.1")));
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM run", "1");
    fixture_close(&scene.made.fixture);
}

static void test_created_when_the_input_is_good(void)
{
    struct scene scene;
    scene_open(&scene);
    scene.options.output = NULL;
    CU_ASSERT_EQUAL_FATAL(recording_open(&scene.recording, &scene.options, NULL), 0);
    recording_run(scene.recording)->sprof_version = "0";
    recording_run(scene.recording)->source = "by hand";
    feed_process(&scene);
    CU_ASSERT_FALSE(file_exists(scene.made.path));
    CU_ASSERT_EQUAL(recording_create(scene.recording, scene.made.path, NULL), 0);
    CU_ASSERT_EQUAL(recording_start(scene.recording, START_NS, 0, NULL), 0);
    scene_finish(&scene, true);
    ASSERT_HANDMADE(&scene.made, "SELECT count(*) FROM process", "1");
    fixture_close(&scene.made.fixture);
}

static void test_modes_are_kept_apart(void)
{
    struct scene scene;
    scene_open(&scene);
    scene.options.view = (struct model_view){.mode = MODEL_MODE_APP, .drop_interior = true};
    scene_start(&scene, 0);
    scene_finish(&scene, true);
    ASSERT_HANDMADE(&scene.made, "SELECT mode, frame IS NULL, app_interior FROM v_run",
                    "app|1|drop");
    scene.options.append = true;
    scene.options.view = (struct model_view){.mode = MODEL_MODE_PC, .frame_app = true};
    scene_start(&scene, 0);
    scene_finish(&scene, true);
    ASSERT_HANDMADE(&scene.made, "SELECT run_id, mode, frame FROM v_run", "1|app|- 2|pc|app");
    ASSERT_HANDMADE(&scene.made, "SELECT run_id, mode, frame FROM v_phase", "1|app|- 2|pc|app");
    fixture_close(&scene.made.fixture);
}

/* No mapping was told of: the sample waits until /proc has answered, and is whole then. */
static void test_unknown_code_is_asked_for(void)
{
    const struct model_record comm = {.type = MODEL_RECORD_COMM,
                                      .time_ns = START_NS,
                                      .pid = getpid(),
                                      .tid = getpid(),
                                      .comm = {"unit_recording", true}};
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    CU_ASSERT_EQUAL(recording_event(scene.recording, &comm), 0);
    CU_ASSERT_EQUAL(feed_sample(&scene, SAMPLE_NS), 0);
    CU_ASSERT_EQUAL(scene.sampled, 0);
    CU_ASSERT_EQUAL(recording_settle(scene.recording, 0), 0);
    CU_ASSERT_EQUAL(scene.sampled, 1);
    scene_finish(&scene, false);
    ASSERT_HANDMADE(&scene.made, "SELECT end_reason, path LIKE '%feed_sample%' FROM v_sample",
                    "root|1");
    ASSERT_HANDMADE(&scene.made, "SELECT command LIKE '%unit_recording%' FROM process", "1");
    fixture_close(&scene.made.fixture);
}

/* All but libc, which called the program: left out, or no longer than a page, as code that a
 * run-time compiler has added to since. */
static void feed_process_but_libc(struct scene *scene, bool a_page_of_it)
{
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_process(&snapshot, getpid(), START_NS), 0);
    for (const struct model_record *record; (record = target_snapshot_next(&snapshot));) {
        struct model_record copy = *record;
        if (record->type == MODEL_RECORD_MMAP && strstr(record->mapping.file.path, "/libc.so")) {
            copy.mapping.size = 4096;
            if (!a_page_of_it)
                continue;
        }
        CU_ASSERT_EQUAL(recording_event(scene->recording, &copy), 0);
    }
    target_snapshot_release(&snapshot);
}

static void test_callers_in_unknown_code_are_asked_for(void)
{
    for (int part = 0; part < 2; part++) {
        struct scene scene;
        scene_open(&scene);
        scene_start(&scene, 0);
        feed_process_but_libc(&scene, part);
        CU_ASSERT_EQUAL(feed_sample(&scene, SAMPLE_NS), 0);
        CU_ASSERT_EQUAL(scene.sampled, 0);
        CU_ASSERT_EQUAL(recording_settle(scene.recording, 0), 0);
        CU_ASSERT_EQUAL(scene.sampled, 1);
        scene_finish(&scene, false);
        ASSERT_HANDMADE(&scene.made,
                        "SELECT end_reason, path LIKE '%main%feed_sample%' FROM v_sample",
                        "root|1");
        fixture_close(&scene.made.fixture);
    }
}

/* A fork has its parent's arguments; what it executes has its own, which nobody knows any more
 * where it has ended meanwhile. */
static void test_arguments_are_inherited_until_exec(void)
{
    enum { FORKED = 0x3ffffffd, GONE };
    const pid_t self = getpid();
    const struct model_record records[] = {
        {.type = MODEL_RECORD_COMM,
         .time_ns = START_NS,
         .pid = self,
         .tid = self,
         .comm = {"unit_recording", true}},
        {.type = MODEL_RECORD_FORK,
         .time_ns = START_NS + 1,
         .pid = FORKED,
         .tid = FORKED,
         .fork = {self, self}},
        {.type = MODEL_RECORD_FORK,
         .time_ns = START_NS + 2,
         .pid = GONE,
         .tid = GONE,
         .fork = {FORKED, FORKED}},
        {.type = MODEL_RECORD_COMM,
         .time_ns = START_NS + 3,
         .pid = GONE,
         .tid = GONE,
         .comm = {"true", true}},
    };
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        CU_ASSERT_EQUAL(recording_event(scene.recording, &records[i]), 0);
    CU_ASSERT_EQUAL(recording_settle(scene.recording, 0), 0);
    scene_finish(&scene, true);
    ASSERT_HANDMADE(&scene.made,
                    "SELECT name, command LIKE '%unit_recording%', command IS NULL FROM process"
                    " ORDER BY id",
                    "unit_recording|1|0 unit_recording|1|0 true|-|1");
    char users[160];
    snprintf(users, sizeof users, "%u|%u 4294967295|4294967295", getuid(), getgid());
    ASSERT_HANDMADE(&scene.made, "SELECT uid, gid FROM sampled_user ORDER BY uid", users);
    snprintf(users, sizeof users, "%u|3|1", getuid()); /* what has ended belongs with its parent */
    ASSERT_HANDMADE(&scene.made,
                    "SELECT min(uid), count(*), count(DISTINCT format('%s %s', cgroup, container))"
                    " FROM process_origin",
                    users);
    fixture_close(&scene.made.fixture);
}

/* A builder that hangs as long as a test wants: as on a file whose server does not answer. */
static atomic_bool hangs;
static atomic_int hanging;
int __real_recording_open_image(struct image **image, const struct image_request *request,
                                struct sprof_error *error);
int __wrap_recording_open_image(struct image **image, const struct image_request *request,
                                struct sprof_error *error);
int __wrap_recording_open_image(struct image **image, const struct image_request *request,
                                struct sprof_error *error)
{
    hanging++;
    while (hangs)
        usleep(1000);
    hanging--;
    return __real_recording_open_image(image, request, error);
}

/* The sample that waits becomes a row all the same, and the owner's thread waits for nothing. */
static void test_a_hurry_does_not_wait_for_the_builder(void)
{
    static struct recording *kept; /* what the builder that hung keeps */
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    kept = scene.recording;
    feed_process(&scene);
    hangs = true;
    CU_ASSERT_EQUAL(feed_sample(&scene, SAMPLE_NS), 0);
    while (!hanging)
        usleep(1000);
    CU_ASSERT_FALSE(recording_hurried(scene.recording));
    CU_ASSERT_TRUE(recording_hurry(scene.recording));
    CU_ASSERT_TRUE(recording_hurried(kept));
    CU_ASSERT_EQUAL(recording_settle(scene.recording, 0), 0);
    CU_ASSERT_EQUAL(scene.sampled, 1);
    scene_finish(&scene, false);
    hangs = false;
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "recorded");
    ASSERT_HANDMADE(&scene.made, "SELECT count(*), sum(user_stack) FROM sample", "1|1");
    const struct recording_derive_options later = {.no_cache = true};
    CU_ASSERT_EQUAL(recording_derive(scene.made.path, &later, NULL), 0);
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "complete");
    while (hanging)
        usleep(1000);
    fixture_close(&scene.made.fixture);
}

static void test_a_hurry_may_come_too_late(void)
{
    struct scene scene;
    scene_open(&scene);
    scene_start(&scene, 0);
    feed_process(&scene);
    const struct recording_end end = {0};
    CU_ASSERT_EQUAL(recording_finish(scene.recording, &end, NULL), 0);
    CU_ASSERT_FALSE(recording_hurry(scene.recording));
    recording_free(scene.recording);
    ASSERT_HANDMADE(&scene.made, "SELECT state FROM v_run", "complete");
    fixture_close(&scene.made.fixture);
}

static void test_a_walk_alone(void)
{
    struct scene scene;
    struct recording_walked walked;
    scene_open(&scene);
    scene.options.output = NULL;
    CU_ASSERT_EQUAL_FATAL(recording_open(&scene.recording, &scene.options, NULL), 0);
    feed_process(&scene);
    struct this_sample taken = this_process_sample(SLICE);
    struct model_record record = {.type = MODEL_RECORD_SAMPLE,
                                  .time_ns = SAMPLE_NS,
                                  .pid = getpid(),
                                  .tid = getpid(),
                                  .sample = taken.sample};
    CU_ASSERT_EQUAL(recording_walk_only(scene.recording, &record, &walked), 0);
    CU_ASSERT_EQUAL(walked.end, MODEL_END_ROOT);
    CU_ASSERT_TRUE_FATAL(walked.count > 3);
    CU_ASSERT_STRING_EQUAL(walked.frames[0].module->name, "unit_recording");
    const struct recording_frame *root = &walked.frames[walked.count - 1];
    CU_ASSERT_PTR_NOT_NULL_FATAL(root->module);
    CU_ASSERT_STRING_EQUAL(root->module->name, "unit_recording"); /* its start code */
    CU_ASSERT_EQUAL(scene.sampled, 0);
    record.sample.register_count = 3;
    CU_ASSERT_EQUAL(recording_walk_only(scene.recording, &record, &walked), SPROF_EFORMAT);
    free(taken.memory);
    recording_free(scene.recording);
    fixture_close(&scene.made.fixture);
}

void sprof_suite_recording_recording(void);
void sprof_suite_recording_recording(void)
{
    CU_pSuite suite = CU_add_suite("recording/recording", NULL, NULL);
    CU_add_test(suite, "a sample waits for its tables", test_a_sample_waits_for_its_tables);
    CU_add_test(suite, "flushed rows are there at once", test_flushed_rows_are_there_at_once);
    CU_add_test(suite, "samples before the first are dropped",
                test_samples_before_the_first_are_dropped);
    CU_add_test(suite, "the listener may refuse", test_the_listener_may_refuse);
    CU_add_test(suite, "given stacks", test_given_stacks);
    CU_add_test(suite, "an abandoned recording was never there",
                test_an_abandoned_recording_was_never_there);
    CU_add_test(suite, "created when the input is good", test_created_when_the_input_is_good);
    CU_add_test(suite, "modes are kept apart", test_modes_are_kept_apart);
    CU_add_test(suite, "unknown code is asked for", test_unknown_code_is_asked_for);
    CU_add_test(suite, "callers in unknown code are asked for",
                test_callers_in_unknown_code_are_asked_for);
    CU_add_test(suite, "arguments are inherited until exec",
                test_arguments_are_inherited_until_exec);
    CU_add_test(suite, "a hurry does not wait for the builder",
                test_a_hurry_does_not_wait_for_the_builder);
    CU_add_test(suite, "a hurry may come too late", test_a_hurry_may_come_too_late);
    CU_add_test(suite, "a walk alone", test_a_walk_alone);
}
