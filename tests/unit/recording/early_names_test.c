/* Names that are prepared while a recording goes on are those that are looked up afterwards. */
#include "recording/early_names.h"

#include "tests/unit/image/fixture.h"
#include "tests/unit/recording/this_process.h"

#include <unistd.h>

enum { SLICE = 65528, PATIENCE_MS = 120000, BUDGET = 64 << 20 };

static const struct model_view full = {.mode = MODEL_MODE_FULL};

struct scene {
    struct model_process_table table;
    struct recording_images images;
    struct recording_walk walk;
    struct recording_early early;
};

/* Walks a stack of this process until all tables that it needs are there. */
static void add_stack(struct scene *scene)
{
    struct this_sample taken = this_process_sample(SLICE);
    struct recording_outcome outcome = {.end = MODEL_END_PENDING};
    for (int round = 0; round < 100 && outcome.end == MODEL_END_PENDING; round++) {
        CU_ASSERT_EQUAL(recording_walk_past(&scene->walk, this_process_of(&scene->table),
                                            &taken.sample, THIS_START_NS + 1, &outcome),
                        0);
        if (outcome.end == MODEL_END_PENDING)
            this_process_settle(&scene->images, 1000);
    }
    CU_ASSERT_NOT_EQUAL_FATAL(outcome.end, MODEL_END_PENDING);
    free(taken.memory);
}

static void scene_open(struct scene *scene)
{
    *scene = (struct scene){0};
    this_process_fill(&scene->table);
    CU_ASSERT_EQUAL_FATAL(recording_images_init(&scene->images, BUDGET, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(recording_walk_init(&scene->walk, &scene->table, &scene->images, &full),
                          0);
    add_stack(scene);
    /* A module that is only identified is asked for as its frame is added. */
    CU_ASSERT_TRUE(this_process_settle(&scene->images, 1000));
}

static void scene_close(struct scene *scene)
{
    recording_early_release(&scene->early);
    recording_walk_release(&scene->walk);
    recording_images_release(&scene->images);
    model_process_table_release(&scene->table);
}

static struct recording_image *own_image(struct scene *scene)
{
    struct model_module *module = this_process_module(&scene->table, "unit_recording");
    CU_ASSERT_PTR_NOT_NULL_FATAL(module);
    CU_ASSERT_PTR_NOT_NULL_FATAL(module->owner);
    return module->owner;
}

static size_t own_addresses(const struct scene *scene, const struct recording_image *image,
                            uint64_t *addresses, size_t most)
{
    size_t count = 0;
    for (size_t i = 0; i < scene->walk.stacks.frames.count && count < most; i++) {
        const struct model_frame *frame = &scene->walk.stacks.frames.items[i];
        uint64_t vaddr;
        if (frame->module != image->module->id ||
            !recording_image_vaddr(image, frame->offset, &vaddr))
            continue;
        size_t at = count++;
        for (; at && addresses[at - 1] > vaddr; at--)
            addresses[at] = addresses[at - 1];
        addresses[at] = vaddr;
    }
    return count;
}

static void give(struct scene *scene, struct cache *cache)
{
    CU_ASSERT_EQUAL(recording_early_give(&scene->early, &scene->walk, 1, cache), 0);
}

/* Whether the thread has done with what this program's module was given: prepared it, or refused.
 */
static bool is_done(struct scene *scene, uint32_t module, bool *refused)
{
    const uint64_t *known = sprof_map_get(&scene->early.by_id, module);
    CU_ASSERT_PTR_NOT_NULL_FATAL(known);
    const struct recording_early_module *found =
        (const struct recording_early_module *)(uintptr_t)*known;
    pthread_mutex_lock(&scene->early.mutex);
    *refused = found->refused;
    const bool idle = !found->given.count && !scene->early.more;
    pthread_mutex_unlock(&scene->early.mutex);
    return *refused || (idle && atomic_load(&scene->early.prepared));
}

static void wait_until_done(struct scene *scene, uint32_t module, bool *refused)
{
    bool done = false;
    for (int i = 0; i < PATIENCE_MS / 10 && !(done = is_done(scene, module, refused)); i++)
        usleep(10000);
    CU_ASSERT_TRUE_FATAL(done);
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

static void check_same(const struct symbolize_result *a, const struct symbolize_result *b)
{
    CU_ASSERT_EQUAL_FATAL(a->frame_count, b->frame_count);
    for (size_t i = 0; i < a->frame_count; i++) {
        const struct symbolize_function *left = &a->functions[a->frames[i].function];
        const struct symbolize_function *right = &b->functions[b->frames[i].function];
        CU_ASSERT_EQUAL(a->frames[i].line, b->frames[i].line);
        CU_ASSERT_TRUE(same_text(a->frames[i].file, b->frames[i].file));
        CU_ASSERT_TRUE(same_text(left->name, right->name));
        CU_ASSERT_TRUE(same_text(left->linkage_name, right->linkage_name));
        CU_ASSERT_EQUAL(left->line, right->line);
        CU_ASSERT_EQUAL(left->start, right->start);
    }
}

static void test_prepared_is_what_is_asked_for(void)
{
    struct scene scene;
    struct recording_session open, other;
    struct symbolize_result early, late;
    uint64_t addresses[64];
    bool refused;
    scene_open(&scene);
    struct recording_image *image = own_image(&scene);
    const size_t count = own_addresses(&scene, image, addresses, 64);
    CU_ASSERT_TRUE_FATAL(count > 2);
    give(&scene, NULL);
    wait_until_done(&scene, image->module->id, &refused);
    CU_ASSERT_FALSE(refused);
    recording_early_end(&scene.early);
    /* Another file in the module's place gets nothing. */
    const struct recording_image *libc = this_process_module(&scene.table, "libc.so")->owner;
    CU_ASSERT_PTR_NOT_NULL_FATAL(libc->image);
    CU_ASSERT_FALSE(recording_early_take(&scene.early, image->module->id, libc->image, &other));
    CU_ASSERT_TRUE_FATAL(
        recording_early_take(&scene.early, image->module->id, image->image, &open));
    CU_ASSERT_FALSE(recording_early_take(&scene.early, image->module->id, image->image, &other));
    CU_ASSERT_EQUAL_FATAL(symbolize_session_ask(open.session, &early, addresses, count, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL_FATAL(symbolize_image(&late, image->image, addresses, count, NULL, NULL, NULL),
                          0);
    check_same(&early, &late);
    symbolize_result_release(&early);
    symbolize_result_release(&late);
    recording_session_close(&open);
    scene_close(&scene);
}

/* What the cache has is not read again. */
static void test_nothing_is_prepared_of_what_is_kept(void)
{
    struct scene scene;
    struct symbolize_result result;
    uint64_t addresses[64];
    struct fixture fixture;
    bool refused;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    scene_open(&scene);
    struct recording_image *image = own_image(&scene);
    const struct symbolize_options options = {.cache = cache};
    const size_t count = own_addresses(&scene, image, addresses, 64);
    CU_ASSERT_EQUAL_FATAL(
        symbolize_image(&result, image->image, addresses, count, NULL, &options, NULL), 0);
    symbolize_result_release(&result);
    give(&scene, cache);
    wait_until_done(&scene, image->module->id, &refused);
    CU_ASSERT_TRUE(refused);
    scene_close(&scene);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* In whatever it is at. */
static void test_it_can_be_ended_at_once(void)
{
    for (int turn = 0; turn < 8; turn++) {
        struct scene scene;
        struct recording_session open;
        scene_open(&scene);
        give(&scene, NULL);
        usleep((useconds_t)(turn * 3000));
        recording_early_end(&scene.early);
        struct recording_image *image = own_image(&scene);
        if (recording_early_take(&scene.early, image->module->id, image->image, &open))
            recording_session_close(&open);
        give(&scene, NULL); /* too late, and harmless */
        scene_close(&scene);
    }
    struct recording_early never = {0};
    recording_early_stop(&never);
    CU_ASSERT_TRUE(recording_early_wait(&never, 0));
    recording_early_release(&never);
}

void sprof_suite_recording_early_names(void);
void sprof_suite_recording_early_names(void)
{
    CU_pSuite suite = CU_add_suite("recording/early_names", NULL, NULL);
    CU_add_test(suite, "prepared is what is asked for", test_prepared_is_what_is_asked_for);
    CU_add_test(suite, "nothing is prepared of what is kept",
                test_nothing_is_prepared_of_what_is_kept);
    CU_add_test(suite, "it can be ended at once", test_it_can_be_ended_at_once);
}
