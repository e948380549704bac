/* A sample of this process, kept as one whose stack was cut, and unwound again. */
#include "arch/arch.h"
#include "record/record.h"
#include "tests/unit/recording/handmade.h"
#include "tests/unit/recording/this_process.h"
#include "unwind/unwind.h"

enum { PARENT = 1, CHILD = 2, SLICE = 65528 };

struct scene {
    struct handmade made;
    struct model_process_table process_table;
    struct this_sample taken;
};

#define ADD(vec, ...) CU_ASSERT_EQUAL_FATAL(sprof_vec_push(vec, __VA_ARGS__), 0)

/* The mappings of this process, as those of the recording's first one. */
static void add_mappings(struct scene *scene)
{
    struct store_batch *batch = &scene->made.batch;
    this_process_fill(&scene->process_table);
    for (size_t i = 0; i < scene->process_table.modules.count; i++) {
        const struct model_module *module = scene->process_table.modules.items[i];
        ADD(&batch->modules, (struct store_module){.id = module->id,
                                                   .path = module->identity.path,
                                                   .name = module->name,
                                                   .kind = module->kind});
    }
    for (size_t i = 0; i < scene->process_table.mappings.rows.count; i++) {
        const struct model_mapping *mapping = scene->process_table.mappings.rows.items[i];
        ADD(&batch->mappings, (struct store_mapping){.id = mapping->id,
                                                     .process_id = PARENT,
                                                     .module_id = mapping->module,
                                                     .start = mapping->start,
                                                     .end = mapping->end,
                                                     .file_offset = mapping->file_offset,
                                                     .start_ns = 1000});
    }
}

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    struct handmade *made = &scene->made;
    fixture_open(&made->fixture);
    snprintf(made->path, sizeof made->path, "%s/sprof.db", made->fixture.directory);
    made->run = example_run();
    made->run.state = STORE_COMPLETE;
    made->event = (struct store_event){.id = 1, .run_id = 1, .name = "cpu-clock", .is_clock = true};
    ADD(&made->batch.processes, (struct store_process){.id = PARENT, .run_id = 1, .pid = 1 << 29});
    ADD(&made->batch.processes,
        (struct store_process){
            .id = CHILD, .run_id = 1, .parent_id = PARENT, .pid = (1 << 29) + 1, .start_ns = 2000});
    for (uint32_t i = PARENT; i <= CHILD; i++)
        ADD(&made->batch.threads, (struct store_thread){.id = i, .process_id = i, .tid = 1});
    add_mappings(scene);
    scene->taken = this_process_sample(SLICE);
}

static void add_failed(struct scene *scene, uint32_t thread, uint64_t time_ns)
{
    const struct model_sample *sample = &scene->taken.sample;
    ADD(&scene->made.batch.failed,
        (struct store_failed){.run_id = 1,
                              .thread_id = thread,
                              .time_ns = time_ns,
                              .end_reason = MODEL_END_TRUNCATED,
                              .registers = {(const uint8_t *)sample->registers,
                                            sample->register_count * sizeof *sample->registers},
                              .stack = {sample->stack, sample->stack_size}});
}

static void scene_close(struct scene *scene)
{
    free(scene->taken.memory);
    model_process_table_release(&scene->process_table);
    handmade_close(&scene->made);
}

/* What was reported: "was now" of each, and the innermost and outermost frame of the last. */
struct reported {
    struct sprof_str ends;
    char innermost[128], outermost[128];
    size_t frames;
    int answer;
};

static int take(void *context, const struct record_replay *row)
{
    struct reported *reported = context;
    sprof_str_appendf(&reported->ends, "%s %s\n", row->was, row->now);
    CU_ASSERT_TRUE(row->id > 0);
    reported->frames = row->frames;
    if (row->frames) {
        snprintf(reported->innermost, sizeof reported->innermost, "%s", row->stack[0]);
        snprintf(reported->outermost, sizeof reported->outermost, "%s",
                 row->stack[row->frames - 1]);
    }
    return reported->answer;
}

static void test_a_whole_stack(void)
{
    struct scene scene;
    struct reported reported = {0};
    struct sprof_error error = {0};
    scene_open(&scene);
    add_failed(&scene, PARENT, 3000);
    handmade_write(&scene.made);
    CU_ASSERT_EQUAL(record_replay_failed(scene.made.path, take, &reported, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    assert_text(reported.ends.text, "truncated root\n");
    CU_ASSERT_TRUE(reported.frames >= 6);
    CU_ASSERT_PTR_NOT_NULL(strstr(reported.innermost, "cfi    unit_record+0x"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reported.outermost, "cfi    unit_record+0x"));
    sprof_str_release(&reported.ends);
    scene_close(&scene);
}

/* A forked process has its parent's mappings, which are no rows of its own. */
static void test_a_forked_process(void)
{
    struct scene scene;
    struct reported reported = {0};
    scene_open(&scene);
    add_failed(&scene, CHILD, 3000);
    handmade_write(&scene.made);
    CU_ASSERT_EQUAL(record_replay_failed(scene.made.path, take, &reported, NULL), 0);
    assert_text(reported.ends.text, "truncated root\n");
    sprof_str_release(&reported.ends);
    scene_close(&scene);
}

static void test_before_the_mappings(void)
{
    struct scene scene;
    struct reported reported = {0};
    scene_open(&scene);
    /* What optimized code leaves in the frame pointer may happen to lead to the end of a chain. */
    scene.taken.sample.registers[ARCH_FP] = 0;
    add_failed(&scene, PARENT, 500);
    handmade_write(&scene.made);
    CU_ASSERT_EQUAL(record_replay_failed(scene.made.path, take, &reported, NULL), 0);
    CU_ASSERT_PTR_NULL(strstr(reported.ends.text, "root"));
    CU_ASSERT_PTR_NOT_NULL(strstr(reported.innermost, "[unknown]+0x"));
    sprof_str_release(&reported.ends);
    scene_close(&scene);
}

static void test_the_reader_may_stop(void)
{
    struct scene scene;
    struct reported reported = {.answer = 7};
    scene_open(&scene);
    add_failed(&scene, PARENT, 3000);
    add_failed(&scene, PARENT, 3001);
    handmade_write(&scene.made);
    CU_ASSERT_EQUAL(record_replay_failed(scene.made.path, take, &reported, NULL), 7);
    assert_text(reported.ends.text, "truncated root\n");
    sprof_str_release(&reported.ends);
    scene_close(&scene);
}

static void test_nothing_kept(void)
{
    struct scene scene;
    struct reported reported = {0};
    scene_open(&scene);
    handmade_write(&scene.made);
    CU_ASSERT_EQUAL(record_replay_failed(scene.made.path, take, &reported, NULL), 0);
    CU_ASSERT_PTR_NULL(reported.ends.text);
    scene_close(&scene);
}

static void expect_damaged(struct scene *scene)
{
    struct reported reported = {0};
    struct sprof_error error = {0};
    handmade_write(&scene->made);
    CU_ASSERT_EQUAL(record_replay_failed(scene->made.path, take, &reported, &error), SPROF_EFORMAT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "damaged"));
    CU_ASSERT_PTR_NULL(reported.ends.text);
    scene_close(scene);
}

static void test_damage(void)
{
    struct scene scene;
    scene_open(&scene);
    add_failed(&scene, 4711, 3000); /* no such thread */
    expect_damaged(&scene);
    scene_open(&scene);
    add_failed(&scene, PARENT, 3000);
    scene.made.batch.failed.items[0].registers.size -= 8;
    expect_damaged(&scene);
}

static void test_no_recording(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(record_replay_failed("/nonexistent/x.db", take, NULL, &error), SPROF_ENOTFOUND);
    CU_ASSERT_STRING_NOT_EQUAL(error.message, "");
}

void sprof_suite_record_replay(void);
void sprof_suite_record_replay(void)
{
    CU_pSuite suite = CU_add_suite("record/replay", NULL, NULL);
    CU_add_test(suite, "a whole stack", test_a_whole_stack);
    CU_add_test(suite, "a forked process", test_a_forked_process);
    CU_add_test(suite, "before the mappings", test_before_the_mappings);
    CU_add_test(suite, "the reader may stop", test_the_reader_may_stop);
    CU_add_test(suite, "nothing kept", test_nothing_kept);
    CU_add_test(suite, "damage", test_damage);
    CU_add_test(suite, "no recording", test_no_recording);
}
