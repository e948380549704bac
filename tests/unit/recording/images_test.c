#include "recording/images.h"

#include "tests/unit/image/fixture.h"
#include "tests/unit/recording/this_process.h"

enum { ROUNDS = 200, NO_LIMIT = 1 << 30 };

/* A table, and images of modules mapped into a process that does not exist. */
struct scene {
    struct fixture fixture;
    struct model_process_table process_table;
    struct recording_images images;
};

static void scene_open_with(struct scene *scene, size_t budget_bytes, struct cache *cache)
{
    *scene = (struct scene){0};
    fixture_open(&scene->fixture);
    CU_ASSERT_EQUAL_FATAL(recording_images_init(&scene->images, budget_bytes, cache, NULL), 0);
}

static void scene_open(struct scene *scene, size_t budget_bytes)
{
    scene_open_with(scene, budget_bytes, NULL);
}

static void scene_close(struct scene *scene)
{
    recording_images_release(&scene->images);
    model_process_table_release(&scene->process_table);
    fixture_close(&scene->fixture);
}

enum { NO_PROCESS = 1 << 29 };

static struct recording_image *map_into(struct scene *scene, const char *path, int pid)
{
    const uint64_t address = (scene->process_table.mappings.rows.count + 1) << 32;
    const struct sprof_file_id identity = {.path = path};
    CU_ASSERT_EQUAL_FATAL(
        model_process_table_map(&scene->process_table, pid, address, 0x1000000, 0, &identity, 1),
        0);
    const struct model_process *process =
        model_process_table_process(&scene->process_table, pid, 1);
    const struct model_mapping *mapping =
        model_process_table_find(&scene->process_table, process, address, 0);
    struct model_module *module =
        model_process_table_module_by_id(&scene->process_table, mapping->module);
    struct recording_image *image =
        recording_images_get(&scene->images, module, mapping, process->pid, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    CU_ASSERT_PTR_EQUAL(recording_images_get(&scene->images, module, mapping, process->pid, 0),
                        image);
    return image;
}

static struct recording_image *map_file(struct scene *scene, const char *path)
{
    return map_into(scene, path, NO_PROCESS);
}

static enum recording_image_state settle(struct scene *scene, struct recording_image *image)
{
    recording_images_use(&scene->images, image);
    CU_ASSERT_TRUE(this_process_settle(&scene->images, ROUNDS));
    return recording_images_use(&scene->images, image);
}

static struct recording_image *map_libc(struct scene *scene)
{
    struct model_process_table table = {0};
    this_process_fill(&table);
    struct recording_image *image =
        map_file(scene, this_process_module(&table, "libc.so")->identity.path);
    model_process_table_release(&table);
    return image;
}

/* == One image == */

static void test_asked_waited_collected(void)
{
    struct scene scene;
    scene_open(&scene, NO_LIMIT);
    recording_images_wait(&scene.images); /* nothing is waiting: returns */
    CU_ASSERT_EQUAL(recording_images_collect(&scene.images), 0);
    struct recording_image *libc = map_libc(&scene);
    CU_ASSERT_EQUAL(recording_images_use(&scene.images, libc), RECORDING_IMAGE_WAITING);
    CU_ASSERT_EQUAL(scene.images.waiting, 1);
    libc->module->dirty = false;
    recording_images_wait(&scene.images);
    CU_ASSERT_EQUAL(recording_images_collect(&scene.images), 1);
    CU_ASSERT_EQUAL(scene.images.waiting, 0);
    CU_ASSERT_TRUE(libc->module->dirty);
    CU_ASSERT_EQUAL(recording_images_use(&scene.images, libc), RECORDING_IMAGE_READY);
    CU_ASSERT_PTR_NOT_NULL(recording_image_table(libc));
    CU_ASSERT_TRUE(libc->key != 0);
    CU_ASSERT_EQUAL(libc->build_id_size, 20);
    CU_ASSERT_STRING_EQUAL(libc->problem, "");
    CU_ASSERT_EQUAL(scene.images.table_bytes, libc->table_bytes);
    CU_ASSERT_TRUE(scene.images.builds == 1 && scene.images.built_rows > 1000);
    scene_close(&scene);
}

static void test_addresses_of_an_image(void)
{
    struct scene scene;
    scene_open(&scene, NO_LIMIT);
    struct recording_image *libc = map_libc(&scene);
    CU_ASSERT_EQUAL(settle(&scene, libc), RECORDING_IMAGE_READY);
    static const char *const names[] = {"qsort", "__libc_start_main", NULL};
    struct image_symbol symbols[2] = {{0}};
    image_find_symbols(libc->image, names, symbols);
    uint64_t offsets[2], vaddr = 0;
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(image_offset_of_vaddr(libc->image, symbols[i].vaddr, &offsets[i]));
        CU_ASSERT_TRUE(recording_image_vaddr(libc, offsets[i], &vaddr));
        CU_ASSERT_EQUAL(vaddr, symbols[i].vaddr);
    }
    CU_ASSERT_FALSE(recording_image_is_startup(libc, offsets[0]));
    CU_ASSERT_TRUE(recording_image_is_startup(libc, offsets[1]));
    CU_ASSERT_FALSE(recording_image_vaddr(libc, UINT64_MAX, &vaddr));
    CU_ASSERT_FALSE(recording_image_is_startup(libc, UINT64_MAX));
    scene_close(&scene);
}

static void test_what_cannot_be_opened_is_bare(void)
{
    struct scene scene;
    scene_open(&scene, NO_LIMIT);
    fixture_write(&scene.fixture, "text", "no ELF file\n", 12);
    struct recording_image *missing = map_file(&scene, "/nonexistent/libx.so");
    struct recording_image *text = map_file(&scene, fixture_path(&scene.fixture, "text"));
    CU_ASSERT_EQUAL(settle(&scene, missing), RECORDING_IMAGE_BARE);
    CU_ASSERT_EQUAL(settle(&scene, text), RECORDING_IMAGE_BARE);
    CU_ASSERT_PTR_NOT_NULL(strstr(missing->problem, "libx.so"));
    CU_ASSERT_STRING_NOT_EQUAL(text->problem, "");
    CU_ASSERT_PTR_NULL(recording_image_table(missing));
    CU_ASSERT_EQUAL(scene.images.waiting, 0);
    scene_close(&scene);
}

/* == Sharing == */

static void test_equal_content_is_built_once(void)
{
    struct scene scene;
    scene_open(&scene, NO_LIMIT);
    fixture_run(&scene.fixture, "cp /proc/$PPID/exe one && cp one two");
    struct recording_image *one = map_file(&scene, fixture_path(&scene.fixture, "one"));
    struct recording_image *two = map_file(&scene, fixture_path(&scene.fixture, "two"));
    CU_ASSERT_PTR_NOT_EQUAL(one, two);
    CU_ASSERT_EQUAL(settle(&scene, one), RECORDING_IMAGE_READY);
    CU_ASSERT_EQUAL(settle(&scene, two), RECORDING_IMAGE_READY);
    CU_ASSERT_EQUAL(scene.images.builds, 1);
    CU_ASSERT_EQUAL(one->key, two->key);
    CU_ASSERT_PTR_EQUAL(recording_image_table(one), recording_image_table(two));
    CU_ASSERT_EQUAL(one->startup_count, two->startup_count);
    CU_ASSERT_TRUE(one->startup_count > 0);
    CU_ASSERT_EQUAL(scene.images.table_bytes, one->table_bytes);
    scene_close(&scene);
}

/* == The budget == */

static const char three_libraries[] =
    "for i in 1 2 3; do printf \"int f$i(int a) { return a + $i; }\" > $i.c && "
    "cc -O1 -shared -nostdlib $i.c -o $i.so || exit 1; done";

static size_t held(const struct scene *scene)
{
    size_t bytes = 0;
    for (size_t i = 0; i < scene->images.items.count; i++)
        bytes +=
            scene->images.items.items[i]->table ? scene->images.items.items[i]->table_bytes : 0;
    return bytes;
}

static void test_the_least_recently_used_go_and_come_back(void)
{
    struct scene scene;
    scene_open(&scene, 1);
    fixture_run(&scene.fixture, three_libraries);
    struct recording_image *images[3];
    static const char *const names[3] = {"1.so", "2.so", "3.so"};
    for (int i = 0; i < 3; i++)
        images[i] = map_file(&scene, fixture_path(&scene.fixture, names[i]));
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 3; i++) {
            CU_ASSERT_EQUAL(settle(&scene, images[i]), RECORDING_IMAGE_READY);
            CU_ASSERT_EQUAL(scene.images.table_bytes, held(&scene));
            CU_ASSERT_PTR_NULL(images[(i + 1) % 3]->table);
        }
    CU_ASSERT_EQUAL(scene.images.builds, 9);
    CU_ASSERT_EQUAL(scene.images.evictions, 8);
    scene_close(&scene);
}

/* What the builder has finished, once there is something. */
static struct recording_image *take_done(struct recording_images *images)
{
    struct recording_image *done = NULL;
    while (!done) {
        recording_images_wait(images);
        pthread_mutex_lock(&images->mutex);
        done = images->done;
        images->done = NULL;
        pthread_mutex_unlock(&images->mutex);
    }
    return done;
}

static void put_done(struct recording_images *images, struct recording_image *done)
{
    pthread_mutex_lock(&images->mutex);
    done->next = images->done;
    images->done = done;
    pthread_mutex_unlock(&images->mutex);
}

/* The builder finishes one while another is being collected: it is ready, but not in the sum yet.
 */
static void test_what_is_not_collected_is_not_evicted(void)
{
    struct scene scene;
    scene_open(&scene, 1);
    fixture_run(&scene.fixture, three_libraries);
    struct recording_image *early = map_file(&scene, fixture_path(&scene.fixture, "1.so"));
    struct recording_image *late = map_file(&scene, fixture_path(&scene.fixture, "2.so"));
    CU_ASSERT_EQUAL(recording_images_use(&scene.images, late), RECORDING_IMAGE_WAITING);
    CU_ASSERT_PTR_EQUAL(take_done(&scene.images), late);
    CU_ASSERT_EQUAL(recording_images_use(&scene.images, early), RECORDING_IMAGE_WAITING);
    put_done(&scene.images, take_done(&scene.images));
    CU_ASSERT_EQUAL(recording_images_collect(&scene.images), 1);
    CU_ASSERT_PTR_NOT_NULL(late->table);
    CU_ASSERT_EQUAL(scene.images.table_bytes, early->table_bytes);
    put_done(&scene.images, late);
    CU_ASSERT_EQUAL(recording_images_collect(&scene.images), 1);
    CU_ASSERT_EQUAL(scene.images.waiting, 0);
    CU_ASSERT_EQUAL(scene.images.evictions, 1);
    CU_ASSERT_EQUAL(scene.images.table_bytes, held(&scene));
    scene_close(&scene);
}

static void test_the_table_of_a_deleted_file_comes_back(void)
{
    struct scene scene;
    scene_open(&scene, 1);
    fixture_run(&scene.fixture, three_libraries);
    struct recording_image *first = map_file(&scene, fixture_path(&scene.fixture, "1.so"));
    struct recording_image *second = map_file(&scene, fixture_path(&scene.fixture, "2.so"));
    CU_ASSERT_EQUAL(settle(&scene, first), RECORDING_IMAGE_READY);
    CU_ASSERT_EQUAL(settle(&scene, second), RECORDING_IMAGE_READY);
    fixture_run(&scene.fixture, "rm 1.so"); /* its descriptor is still open */
    CU_ASSERT_PTR_NULL(first->table);
    CU_ASSERT_EQUAL(settle(&scene, first), RECORDING_IMAGE_READY);
    scene_close(&scene);
}

/* == The cache == */

static void test_the_second_recording_builds_nothing(void)
{
    struct scene first, second;
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    scene_open_with(&first, NO_LIMIT, cache);
    struct recording_image *libc = map_libc(&first);
    CU_ASSERT_EQUAL(settle(&first, libc), RECORDING_IMAGE_READY);
    CU_ASSERT_TRUE(first.images.builds == 1 && first.images.found == 0);
    scene_open_with(&second, 1, cache);
    struct recording_image *again = map_libc(&second);
    CU_ASSERT_EQUAL(settle(&second, again), RECORDING_IMAGE_READY);
    CU_ASSERT_TRUE(second.images.builds == 0 && second.images.found == 1);
    CU_ASSERT_EQUAL(again->key, libc->key);
    CU_ASSERT_EQUAL(again->startup_count, libc->startup_count);
    CU_ASSERT_TRUE(again->table_bytes > 0 && again->table_bytes == second.images.table_bytes);
    /* What is evicted comes back from there, too. */
    fixture_run(&second.fixture, three_libraries);
    struct recording_image *other = map_file(&second, fixture_path(&second.fixture, "1.so"));
    CU_ASSERT_EQUAL(settle(&second, other), RECORDING_IMAGE_READY);
    CU_ASSERT_PTR_NULL(again->table);
    CU_ASSERT_EQUAL(settle(&second, again), RECORDING_IMAGE_READY);
    CU_ASSERT_TRUE(second.images.builds == 1 && second.images.found == 2);
    scene_close(&first);
    scene_close(&second);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Mode pc needs no tables, but must know which file it was. */
static void test_identified_without_a_table(void)
{
    struct scene scene;
    scene_open(&scene, NO_LIMIT);
    struct recording_image *libc = map_libc(&scene);
    recording_images_identify(&scene.images, libc);
    recording_images_identify(&scene.images, libc);
    CU_ASSERT_EQUAL(scene.images.waiting, 1);
    CU_ASSERT_TRUE(this_process_settle(&scene.images, ROUNDS));
    CU_ASSERT_TRUE(libc->key && libc->build_id_size && libc->segment_count);
    CU_ASSERT_EQUAL(scene.images.builds, 0);
    recording_images_identify(&scene.images, libc);
    CU_ASSERT_EQUAL(scene.images.waiting, 0);
    CU_ASSERT_EQUAL(settle(&scene, libc), RECORDING_IMAGE_READY);
    struct recording_image *missing = map_file(&scene, "/nonexistent/libx.so");
    recording_images_identify(&scene.images, missing);
    CU_ASSERT_TRUE(this_process_settle(&scene.images, ROUNDS));
    CU_ASSERT_EQUAL(recording_images_use(&scene.images, missing), RECORDING_IMAGE_BARE);
    scene_close(&scene);
}

/* A process that ended too early leaves the file to the next one that has it mapped. */
static void test_missed_and_found_later(void)
{
    struct scene scene;
    char path[512];
    scene_open(&scene, NO_LIMIT);
    fixture_text(&scene.fixture, "a.c", "int main(void) { return 0; }\n");
    strcpy(path, fixture_path(&scene.fixture, "a"));
    struct recording_image *image = map_into(&scene, path, NO_PROCESS);
    CU_ASSERT_EQUAL(settle(&scene, image), RECORDING_IMAGE_BARE);
    CU_ASSERT_STRING_NOT_EQUAL(image->problem, "");
    fixture_run(&scene.fixture, "cc a.c -o a");
    CU_ASSERT_EQUAL(settle(&scene, image), RECORDING_IMAGE_BARE);
    CU_ASSERT_PTR_EQUAL(map_into(&scene, path, NO_PROCESS), image);
    CU_ASSERT_EQUAL(settle(&scene, image), RECORDING_IMAGE_BARE);
    CU_ASSERT_PTR_EQUAL(map_into(&scene, path, NO_PROCESS + 1), image);
    CU_ASSERT_EQUAL(settle(&scene, image), RECORDING_IMAGE_READY);
    CU_ASSERT_STRING_EQUAL(image->problem, "");
    scene_close(&scene);
}

static void test_released_while_building(void)
{
    struct scene scene;
    scene_open(&scene, NO_LIMIT);
    recording_images_use(&scene.images, map_libc(&scene));
    recording_images_use(&scene.images, map_file(&scene, "/nonexistent/libx.so"));
    scene_close(&scene);
    struct recording_images never = {0};
    recording_images_release(&never);
    CU_ASSERT_PTR_NULL(scene.images.items.items);
}

void sprof_suite_recording_images(void);
void sprof_suite_recording_images(void)
{
    CU_pSuite suite = CU_add_suite("recording/images", NULL, NULL);
    CU_add_test(suite, "asked, waited, collected", test_asked_waited_collected);
    CU_add_test(suite, "addresses of an image", test_addresses_of_an_image);
    CU_add_test(suite, "what cannot be opened is bare", test_what_cannot_be_opened_is_bare);
    CU_add_test(suite, "equal content is built once", test_equal_content_is_built_once);
    CU_add_test(suite, "least recently used go and come back",
                test_the_least_recently_used_go_and_come_back);
    CU_add_test(suite, "what is not collected is not evicted",
                test_what_is_not_collected_is_not_evicted);
    CU_add_test(suite, "a deleted file's table comes back",
                test_the_table_of_a_deleted_file_comes_back);
    CU_add_test(suite, "the second recording builds nothing",
                test_the_second_recording_builds_nothing);
    CU_add_test(suite, "identified without a table", test_identified_without_a_table);
    CU_add_test(suite, "missed and found later", test_missed_and_found_later);
    CU_add_test(suite, "released while building", test_released_while_building);
}
