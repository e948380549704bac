/* A recording that goes on, looked at again and again: each look finds what deriving it anew does.
 */
#include "recording/recording.h"
#include "tests/unit/recording/handmade.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* == What a report reads, as text == */

struct dump {
    struct store *store;
    SPROF_VEC(char *) lines;
    SPROF_VEC(char *) functions, paths; /* [id] */
};

static char *text_of(struct sprof_str *text)
{
    char *taken = sprof_str_take(text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(taken);
    return taken;
}

#define LINE(dump, ...)                                                                            \
    do {                                                                                           \
        struct sprof_str line = {0};                                                               \
        sprof_str_appendf(&line, __VA_ARGS__);                                                     \
        CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&(dump)->lines, text_of(&line)), 0);                  \
    } while (0)

/* Puts a text at the place of its id. */
#define KEEP(vec, id, ...)                                                                         \
    do {                                                                                           \
        struct sprof_str kept = {0};                                                               \
        while ((vec).count <= (id))                                                                \
            CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&(vec), NULL), 0);                                \
        sprof_str_appendf(&kept, __VA_ARGS__);                                                     \
        free((vec).items[id]);                                                                     \
        (vec).items[id] = text_of(&kept);                                                          \
    } while (0)

static int note_function(void *context, const struct store_function *row)
{
    struct dump *dump = context;
    KEEP(dump->functions, row->id, "%s:%u", row->name, row->line);
    return 0;
}

static int note_path(void *context, const struct model_path *row)
{
    struct dump *dump = context;
    KEEP(dump->paths, row->id, "%s;%s", row->parent ? dump->paths.items[row->parent] : "",
         dump->functions.items[row->function]);
    return 0;
}

static int put_path_cost(void *context, const struct store_cost *row)
{
    struct dump *dump = context;
    LINE(dump, "path %s %lu %lu %lu %lu", dump->paths.items[row->id], row->costs.exclusive.samples,
         row->costs.exclusive.weight, row->costs.inclusive.samples, row->costs.inclusive.weight);
    return 0;
}

static int put_node_cost(void *context, const struct store_node_cost *row)
{
    struct dump *dump = context;
    LINE(dump, "node %u %s thread %u %lu %lu %.0f", row->node_id, dump->paths.items[row->path_id],
         row->thread_id, row->cost.samples, row->cost.weight, row->sum_squares);
    return 0;
}

static int put_thread_cost(void *context, const struct store_thread_cost *row)
{
    LINE((struct dump *)context, "thread %u %lu %lu", row->thread_id, row->cost.samples,
         row->cost.weight);
    return 0;
}

/* Inlined levels have other ids in the two. */
static int put_frame(void *context, const struct store_frame *row)
{
    struct dump *dump = context;
    LINE(dump, "frame %u+%lx %u %s %s:%u", row->module_id, row->file_offset, row->inline_depth,
         row->function_id ? dump->functions.items[row->function_id] : "?",
         row->file ? row->file : "", row->line);
    return 0;
}

static int put_node(void *context, const struct store_node *row)
{
    LINE((struct dump *)context, "stack %u below %u of %u, %u deep", row->id, row->parent_id,
         row->frame_id, row->depth);
    return 0;
}

static int put_line_cost(void *context, const struct store_cost *row)
{
    LINE((struct dump *)context, "line of %lu %lu", row->costs.exclusive.samples,
         row->costs.inclusive.samples);
    return 0;
}

static int put_sample(void *context, const struct store_sample_row *row)
{
    LINE((struct dump *)context, "sample %lu of %d at %lu", row->sample.id, row->tid,
         row->sample.time_ns);
    return 0;
}

static int put_process(void *context, const struct store_process *row)
{
    LINE((struct dump *)context, "process %u, PID %d %s until %lu", row->id, row->pid,
         row->name ? row->name : "?", row->end_ns);
    return 0;
}

static int put_thread(void *context, const struct store_thread *row)
{
    LINE((struct dump *)context, "thread %u of %u %s until %lu, %lu ns", row->id, row->process_id,
         row->name ? row->name : "?", row->end_ns, row->cpu_time_ns);
    return 0;
}

static int put_mapping(void *context, const struct store_mapping *row)
{
    LINE((struct dump *)context, "mapping %u of %u in %u from %lx until %lu", row->id,
         row->module_id, row->process_id, row->start, row->end_ns);
    return 0;
}

static int put_origin(void *context, const struct store_process_origin *row)
{
    LINE((struct dump *)context, "origin of %u: %u %s", row->process_id, row->uid,
         row->container ? row->container : "");
    return 0;
}

static int put_module(void *context, const struct store_module *row)
{
    LINE((struct dump *)context, "module %u %s", row->id, row->path);
    return 0;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *dump_of(struct store *store, uint32_t run_id)
{
    struct dump dump = {.store = store};
    struct sprof_str text = {0};
    const struct store_filter filter = {.run_id = run_id}, later = {.run_id = run_id, .from_ns = 1};
    struct store_quality quality = {0};
    CU_ASSERT_EQUAL(store_each_function(store, note_function, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_path(store, note_path, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_path_cost(store, 0, put_path_cost, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_node_cost(store, &filter, put_node_cost, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_thread_cost(store, run_id, put_thread_cost, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_line_cost(store, run_id, put_line_cost, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_frame(store, put_frame, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_node(store, put_node, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_sample(store, &later, put_sample, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_process(store, run_id, put_process, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_thread(store, run_id, put_thread, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_mapping(store, run_id, put_mapping, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_process_origin(store, run_id, put_origin, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_each_module(store, put_module, &dump, NULL), 0);
    CU_ASSERT_EQUAL(store_quality(store, run_id, &quality, NULL), 0);
    qsort(dump.lines.items, dump.lines.count, sizeof *dump.lines.items, compare_texts);
    sprof_str_appendf(&text, "%lu samples, %lu of %lu frames named\n", quality.samples,
                      quality.named_frames, quality.frames);
    for (size_t i = 0; i < dump.lines.count; i++) {
        sprof_str_appendf(&text, "%s\n", dump.lines.items[i]);
        free(dump.lines.items[i]);
    }
    for (size_t i = 0; i < dump.functions.count; i++)
        free(dump.functions.items[i]);
    for (size_t i = 0; i < dump.paths.count; i++)
        free(dump.paths.items[i]);
    sprof_vec_release(&dump.lines);
    sprof_vec_release(&dump.functions);
    sprof_vec_release(&dump.paths);
    return text_of(&text);
}

/* == Recordings that go on == */

struct scene {
    struct handmade made;
    pid_t recorder;
    struct recording_live *live;
    struct {
        size_t frames, nodes, samples, threads;
    } written;
};

static uint64_t start_of(pid_t pid)
{
    struct sprof_proc_stat stat;
    CU_ASSERT_TRUE(sprof_proc_stat_read(pid, &stat));
    return stat.start_ticks;
}

static void note_written(struct scene *scene)
{
    const struct store_batch *batch = &scene->made.batch;
    scene->written.frames = batch->frames.count;
    scene->written.nodes = batch->nodes.count;
    scene->written.samples = batch->samples.count;
    scene->written.threads = batch->threads.count;
}

/* Its recorder is a process that does nothing. */
static void begin(struct scene *scene)
{
    static char boot_id[SPROF_BOOT_ID_SIZE];
    sprof_proc_boot_id(boot_id);
    *scene = (struct scene){0};
    handmade_make(&scene->made, "full", STORE_RECORDED);
    fflush(NULL);
    scene->recorder = fork();
    if (!scene->recorder) {
        pause();
        _exit(0);
    }
    scene->made.run.recorder_pid = scene->recorder;
    scene->made.run.recorder_start = start_of(scene->recorder);
    scene->made.run.boot_id = boot_id;
    handmade_example(&scene->made, 0);
    CU_ASSERT_EQUAL(recording_live_open(&scene->live, scene->made.path, true, NULL), 0);
}

static void kill_recorder(struct scene *scene)
{
    if (scene->recorder) {
        kill(scene->recorder, SIGKILL);
        waitpid(scene->recorder, NULL, 0);
    }
    scene->recorder = 0;
}

static void end(struct scene *scene)
{
    kill_recorder(scene);
    recording_live_free(scene->live);
    handmade_close(&scene->made);
}

#define APPEND_NEW(batch, from, rows, count_)                                                      \
    for (size_t i = (count_); i < (from)->rows.count; i++)                                         \
    CU_ASSERT_EQUAL(sprof_vec_push(&(batch)->rows, (from)->rows.items[i]), 0)

/* What was added to the rows since they were written. */
static void write_more(struct scene *scene)
{
    const struct store_batch *rows = &scene->made.batch;
    struct store_batch more = {.run = &scene->made.run};
    struct store *store;
    APPEND_NEW(&more, rows, frames, scene->written.frames);
    APPEND_NEW(&more, rows, nodes, scene->written.nodes);
    APPEND_NEW(&more, rows, samples, scene->written.samples);
    APPEND_NEW(&more, rows, threads, scene->written.threads);
    CU_ASSERT_EQUAL_FATAL(store_open_write(&store, scene->made.path, NULL), 0);
    CU_ASSERT_EQUAL(store_write(store, &more, NULL), 0);
    CU_ASSERT_EQUAL(store_close(store, NULL), 0);
    store_batch_release(&more);
    note_written(scene);
}

/* A look, beside a copy that is derived as a whole. */
static void look(struct scene *scene, bool goes_on)
{
    const uint32_t run_id = scene->made.run.id;
    struct sprof_error error = {0};
    struct store *store = NULL, *whole = NULL;
    CU_ASSERT_EQUAL_FATAL(recording_live_look(scene->live, NULL, &store, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    CU_ASSERT_EQUAL(store_running(store), goes_on ? run_id : 0);
    char *seen = dump_of(store, run_id);
    CU_ASSERT_EQUAL_FATAL(store_open_copy(&whole, scene->made.path, NULL), 0);
    CU_ASSERT_EQUAL(recording_derive_copy(whole, &(struct recording_derive_options){0}, NULL), 0);
    char *expected = dump_of(whole, run_id);
    store_close(whole, NULL);
    assert_text(seen, expected);
    CU_ASSERT_PTR_NOT_NULL(strstr(seen, "path ;A1"));
    free(seen);
    free(expected);
}

/* A function with one inlined into it, and a sample at each of its instructions. */
static void add_inlined(struct scene *scene)
{
    struct handmade *made = &scene->made;
    uint64_t size;
    const uint64_t offset = handmade_offset(made, "around", &size);
    for (uint64_t i = 0; i < size; i++) {
        struct store_frame frame = made->batch.frames.items[0]; /* of the program */
        frame.id = made->batch.frames.items[made->batch.frames.count - 1].id + 1;
        frame.file_offset = offset + i;
        CU_ASSERT_EQUAL(sprof_vec_push(&made->batch.frames, frame), 0);
        handmade_node(made, 1, frame.id, 1);
    }
}

/* More of what was there, in another thread, at other times. */
static void add_samples(struct scene *scene)
{
    struct store_batch *batch = &scene->made.batch;
    struct store_thread thread = batch->threads.items[0];
    thread.id = batch->threads.items[batch->threads.count - 1].id + 1;
    thread.tid++;
    CU_ASSERT_EQUAL(sprof_vec_push(&batch->threads, thread), 0);
    for (size_t i = 0; i < 4; i++) {
        struct store_sample sample = batch->samples.items[i];
        sample.thread_id = thread.id;
        sample.time_ns = 5000 - 1000 * i;
        CU_ASSERT_EQUAL(sprof_vec_push(&batch->samples, sample), 0);
    }
}

static void grow(struct scene *scene)
{
    look(scene, true);
    look(scene, true); /* nothing is new */
    add_samples(scene);
    write_more(scene);
    look(scene, true);
    add_inlined(scene);
    write_more(scene);
    look(scene, true);
    add_samples(scene);
    write_more(scene);
    look(scene, true);
}

static void test_it_grows(void)
{
    struct scene scene;
    begin(&scene);
    handmade_write(&scene.made);
    note_written(&scene);
    grow(&scene);
    kill_recorder(&scene);
    look(&scene, false);
    end(&scene);
}

static void test_an_appended_run_grows(void)
{
    struct scene scene;
    begin(&scene);
    handmade_write(&scene.made);
    handmade_must_derive(&scene.made);
    handmade_append(&scene.made);
    note_written(&scene);
    look(&scene, true);
    add_samples(&scene);
    write_more(&scene);
    look(&scene, true);
    kill_recorder(&scene);
    look(&scene, false);
    end(&scene);
}

/* Rows that were read change, others come behind them, and the last batch has all mappings. */
static void test_programs_come_and_go(void)
{
    static const char *const steps[] = {
        "INSERT INTO process SELECT id + 1, run_id, id, pid + 1, 100, NULL, 'child', command"
        " FROM process;"
        "INSERT INTO thread SELECT id + 1000, process_id + 1, tid + 1000, start_ns, NULL, 'worker',"
        " 0, 0, 0 FROM thread LIMIT 1;"
        "INSERT INTO process_origin SELECT id, 0, NULL, NULL, NULL FROM process;"
        "INSERT INTO mapping SELECT coalesce((SELECT max(id) FROM mapping), 0) + 1, p.id, m.id,"
        " 4096, 8192, 0, 100, NULL FROM module m, process p ORDER BY p.id DESC LIMIT 1",
        "UPDATE process SET name = 'renamed' WHERE name = 'child';"
        "UPDATE thread SET cpu_time_ns = 77 WHERE name = 'worker';"
        "UPDATE process_origin SET container = 'box'",
        "UPDATE process SET name = 'child' WHERE name = 'renamed';" /* as it was at first */
        "UPDATE thread SET end_ns = 9000 WHERE name = 'worker'",
        "UPDATE run SET state = 1; UPDATE mapping SET end_ns = 9999; UPDATE process SET end_ns = "
        "9"};
    struct scene scene;
    begin(&scene);
    handmade_write(&scene.made);
    note_written(&scene);
    look(&scene, true);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        handmade_execute(&scene.made, steps[i]);
        look(&scene, true);
        look(&scene, true);
    }
    end(&scene);
}

/* Samples were taken away, and others have their ids. */
static void test_it_is_cleared(void)
{
    struct scene scene;
    begin(&scene);
    handmade_write(&scene.made);
    note_written(&scene);
    look(&scene, true);
    add_samples(&scene);
    handmade_execute(&scene.made, "DELETE FROM sample");
    write_more(&scene);
    handmade_node(&scene.made, 0, HAND_A1, 3);
    write_more(&scene);
    look(&scene, true);
    end(&scene);
}

/* Another recording took its place. */
static void test_it_is_replaced(void)
{
    struct scene scene;
    begin(&scene);
    handmade_write(&scene.made);
    look(&scene, true);
    scene.made.run.key++;
    handmade_node(&scene.made, 0, HAND_A3, 7);
    handmade_write(&scene.made);
    look(&scene, true);
    end(&scene);
}

/* The run goes on in another mode from a time on. */
static void change_mode(struct scene *scene, int phase, int from_ns, const char *mode)
{
    char sql[600];
    snprintf(sql, sizeof sql,
             "INSERT INTO phase SELECT %d, run_id, %d, end_ns, (SELECT number FROM word"
             " WHERE list = 'mode' AND word = '%s'), frame, app_interior, frequency_hz,"
             " stack_bytes, paused, mark FROM phase LIMIT 1;"
             "UPDATE run SET mode = (SELECT number FROM word WHERE list = 'mode' AND"
             " word = 'app')",
             phase, from_ns, mode);
    handmade_execute(&scene->made, sql);
    scene->made.run.mode = "app";
}

/* From a phase of another mode on, the whole is read in the less detailed one. */
static void test_its_mode_changes(void)
{
    struct scene scene;
    begin(&scene);
    handmade_write(&scene.made);
    note_written(&scene);
    look(&scene, true);
    change_mode(&scene, 2, 2000, "app");
    add_samples(&scene);
    write_more(&scene);
    look(&scene, true);
    look(&scene, true);
    add_inlined(&scene);
    write_more(&scene);
    look(&scene, true);
    add_samples(&scene);
    write_more(&scene);
    look(&scene, true);
    end(&scene);
}

/* Stacks that were met in mode app are met in mode full: first as callers of another, then
 * themselves. */
static void test_its_mode_changes_back(void)
{
    struct scene scene;
    struct store_batch *batch = &scene.made.batch;
    begin(&scene);
    for (size_t i = 0; i < batch->samples.count; i++)
        batch->samples.items[i].time_ns = 10000;
    handmade_write(&scene.made);
    note_written(&scene);
    change_mode(&scene, 2, 6000, "app");
    look(&scene, true);
    uint32_t in_library = 0;
    for (size_t i = 0; i < batch->samples.count; i++)
        if (batch->nodes.items[batch->samples.items[i].node_id - 1].frame_id == HAND_S2)
            in_library = batch->samples.items[i].node_id;
    CU_ASSERT_TRUE_FATAL(in_library > 0);
    handmade_node(&scene.made, in_library, HAND_A3, 1);
    batch->samples.items[batch->samples.count - 1].time_ns = 1000;
    write_more(&scene);
    look(&scene, true);
    look(&scene, true);
    add_samples(&scene); /* before 6000 */
    write_more(&scene);
    look(&scene, true);
    change_mode(&scene, 3, 30000, "full");
    add_inlined(&scene);
    write_more(&scene);
    look(&scene, true);
    end(&scene);
}

static void test_there_is_none(void)
{
    struct recording_live *live;
    struct store *store;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(recording_live_open(&live, "/nonexistent/sprof.db", false, NULL), 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(recording_live_look(live, NULL, &store, &error), SPROF_ENOTFOUND);
        CU_ASSERT_PTR_NULL(store);
    }
    recording_live_free(live);
    recording_live_free(NULL);
}

void sprof_suite_recording_live(void);
void sprof_suite_recording_live(void)
{
    CU_pSuite suite = CU_add_suite("recording/live", handmade_compile, handmade_remove);
    CU_add_test(suite, "it grows", test_it_grows);
    CU_add_test(suite, "an appended run grows", test_an_appended_run_grows);
    CU_add_test(suite, "programs come and go", test_programs_come_and_go);
    CU_add_test(suite, "it is cleared", test_it_is_cleared);
    CU_add_test(suite, "it is replaced", test_it_is_replaced);
    CU_add_test(suite, "its mode changes", test_its_mode_changes);
    CU_add_test(suite, "its mode changes back", test_its_mode_changes_back);
    CU_add_test(suite, "there is none", test_there_is_none);
}
