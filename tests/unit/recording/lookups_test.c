/* What /proc says of this very process, asked in another thread. */
#include "recording/lookups.h"

#include <CUnit/CUnit.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct scene {
    struct recording_lookups lookups;
    struct model_process process;
    int fd;
};

static void scene_open(struct scene *scene, pid_t pid)
{
    *scene = (struct scene){.process = {.id = 7, .pid = pid}};
    scene->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    recording_lookups_init(&scene->lookups, scene->fd);
}

static void scene_close(struct scene *scene)
{
    recording_lookups_release(&scene->lookups);
    close(scene->fd);
}

/* The next answer, which must come. */
static struct recording_lookup *wait_for(struct scene *scene)
{
    struct recording_lookup *lookup;
    while (!(lookup = recording_lookups_next(&scene->lookups))) {
        struct pollfd descriptor = {.fd = scene->fd, .events = POLLIN};
        eventfd_t ignored;
        CU_ASSERT_TRUE_FATAL(scene->lookups.waiting > 0);
        poll(&descriptor, 1, -1);
        eventfd_read(scene->fd, &ignored);
    }
    return lookup;
}

static void test_answers_come_in_order(void)
{
    struct scene scene;
    scene_open(&scene, getpid());
    CU_ASSERT_PTR_NULL(recording_lookups_next(&scene.lookups));
    CU_ASSERT_EQUAL(
        recording_lookups_ask(&scene.lookups, RECORDING_COMMAND, &scene.process, NULL, 5), 0);
    CU_ASSERT_EQUAL(recording_lookups_ask(&scene.lookups, RECORDING_OWNER, &scene.process, NULL, 6),
                    0);
    struct recording_lookup *lookup = wait_for(&scene);
    CU_ASSERT_EQUAL(lookup->question, RECORDING_COMMAND);
    CU_ASSERT_EQUAL(lookup->process, 7);
    CU_ASSERT_EQUAL(lookup->time_ns, 5);
    CU_ASSERT_PTR_NOT_NULL_FATAL(lookup->command);
    CU_ASSERT_PTR_NOT_NULL(strstr(lookup->command, "unit_recording"));
    recording_lookup_free(lookup);
    lookup = wait_for(&scene);
    CU_ASSERT_EQUAL(lookup->question, RECORDING_OWNER);
    CU_ASSERT_EQUAL(lookup->owner.uid, getuid());
    CU_ASSERT_EQUAL(lookup->owner.ns_pid, getpid());
    recording_lookup_free(lookup);
    CU_ASSERT_EQUAL(scene.lookups.waiting, 0);
    scene_close(&scene);
}

static void test_mappings(void)
{
    struct scene scene;
    const uintptr_t here = (uintptr_t)&test_mappings;
    bool found = false;
    scene_open(&scene, getpid());
    CU_ASSERT_FALSE(recording_lookups_wait_for(&scene.lookups, 7));
    CU_ASSERT_EQUAL(
        recording_lookups_ask(&scene.lookups, RECORDING_MAPPINGS, &scene.process, NULL, 5), 0);
    CU_ASSERT_TRUE(recording_lookups_wait_for(&scene.lookups, 7));
    CU_ASSERT_FALSE(recording_lookups_wait_for(&scene.lookups, 8));
    struct recording_lookup *lookup = wait_for(&scene);
    CU_ASSERT_FALSE(recording_lookups_wait_for(&scene.lookups, 7));
    for (size_t i = 0; i < lookup->mappings.count; i++) {
        const struct model_mmap *mapping = &lookup->mappings.items[i];
        found |= here - mapping->address < mapping->size &&
                 strstr(mapping->file.path, "unit_recording") != NULL;
    }
    CU_ASSERT_TRUE(found);
    recording_lookup_free(lookup);
    scene_close(&scene);
}

static void test_a_process_that_is_gone(void)
{
    struct scene scene;
    scene_open(&scene, 0x3fffffff);
    CU_ASSERT_EQUAL(
        recording_lookups_ask(&scene.lookups, RECORDING_COMMAND, &scene.process, NULL, 5), 0);
    CU_ASSERT_EQUAL(
        recording_lookups_ask(&scene.lookups, RECORDING_MAPPINGS, &scene.process, NULL, 5), 0);
    struct recording_lookup *lookup = wait_for(&scene);
    CU_ASSERT_PTR_NULL(lookup->command);
    recording_lookup_free(lookup);
    lookup = wait_for(&scene);
    CU_ASSERT_EQUAL(lookup->mappings.count, 0);
    recording_lookup_free(lookup);
    scene_close(&scene);
}

static void test_released_with_questions_open(void)
{
    struct scene scene;
    scene_open(&scene, getpid());
    for (int i = 0; i < 100; i++)
        CU_ASSERT_EQUAL(
            recording_lookups_ask(&scene.lookups, RECORDING_MAPPINGS, &scene.process, NULL, 5), 0);
    scene_close(&scene);
    recording_lookups_release(&scene.lookups);
}

void sprof_suite_recording_lookups(void);
void sprof_suite_recording_lookups(void)
{
    CU_pSuite suite = CU_add_suite("recording/lookups", NULL, NULL);
    CU_add_test(suite, "answers come in order", test_answers_come_in_order);
    CU_add_test(suite, "mappings", test_mappings);
    CU_add_test(suite, "a process that is gone", test_a_process_that_is_gone);
    CU_add_test(suite, "released with questions open", test_released_with_questions_open);
}
