#include "tests/unit/why/scene.h"

/* A server that waits for requests in its loop, and threads that only wait. */
static void test_waits_for_work_are_idle(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker");
    const uint32_t acceptor = scene_thread(&scene, "acceptor");
    for (int i = 0; i < 100; i++) {
        scene_add(&scene, worker, WHY_POLL, 90 * MS, "main wait_work:epoll_wait");
        scene_spread(&scene, worker, 7);
        scene_work(&scene, worker, 3, "main handle route apply");
        scene_add(&scene, acceptor, WHY_PEER, 100 * MS, "acceptor listen_to take:accept");
    }
    scene_says(&scene, "apply computes");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.idle_ns, 19000 * (uint64_t)MS);
    CU_ASSERT_EQUAL(verdict.useful_ns, 1000 * (uint64_t)MS);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* A thread that makes jobs for others, with pauses, works less than it took to load its libraries.
 */
static void test_pauses_between_jobs_are_idle(void)
{
    struct scene scene = {0};
    const uint32_t producer = scene_thread(&scene, "main"), worker = scene_thread(&scene, "worker");
    scene_add(&scene, producer, WHY_COMPUTES, 50 * MS, ":_dl_start");
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, producer, 1, "main fill_queue:pthread_cond_broadcast");
        scene_add(&scene, producer, WHY_SLEEP, 9 * MS, "main fill_queue:usleep");
        scene_spread(&scene, worker, 5);
        scene_work(&scene, worker, 5, "run_jobs apply");
    }
    scene_says(&scene, "apply computes");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.idle_ns, 900 * (uint64_t)MS);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* A shell that reads what its child writes, deep below its loop, is not slow by that. */
static void test_waits_for_children_are_idle(void)
{
    struct scene scene = {0};
    const uint32_t shell = scene_thread(&scene, "shell"), child = scene_thread(&scene, "child");
    scene.table.threads.items[shell].has_children = true;
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, shell, 1, "main run expand");
        scene_add(&scene, shell, WHY_PEER, 9 * MS, "main run expand substitute get fill:read");
        scene.table.samples.items[scene.table.samples.count - 1].word =
            why_add_word(&scene.table, "read");
        scene_spread(&scene, child, 5);
        scene_work(&scene, child, 5, "main handle apply");
    }
    scene_says(&scene, "apply computes");
    why_table_release(&scene.table);
}

/* Nor is the time that the kernel takes to put a thread to sleep that waits for work. */
static void test_the_work_of_waiting_is_none(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "worker");
    for (int i = 0; i < 200; i++) {
        scene_add(&scene, thread, WHY_SLEEP, MS, "main wait_work:usleep");
        scene_add(&scene, thread, WHY_CALLS_SYSTEM, MS, "main wait_work:usleep");
        scene_spread(&scene, thread, 5);
    }
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FLAT);
    CU_ASSERT_EQUAL(verdict.useful_ns, 1000 * (uint64_t)MS);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

static void test_a_program_without_work_is_idle(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker");
    for (int i = 0; i < 10; i++) {
        scene_add(&scene, worker, WHY_POLL, 300 * MS, "main wait_work:epoll_wait");
        scene_work(&scene, worker, 1, "main handle");
    }
    scene_says(&scene, "Nothing: its threads are idle for 100 % of their time; wait_work waits "
                       "for events in epoll_wait");
    why_table_release(&scene.table);
}

/* A little work, and nothing is known of what its threads wait for: that is not idleness. */
static void test_a_little_work_is_no_idleness(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker");
    scene_work(&scene, worker, 2, "main handle");
    scene.table.duration_ns = 1000 * (uint64_t)MS;
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_TOO_FEW);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* Much work of a library, and a sample or two in the application: what these pass is no loop. */
static void test_a_few_samples_show_no_loop(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_add(&scene, thread, WHY_COMPUTES, 90 * MS, ":_dl_start");
    for (int i = 0; i < 2; i++)
        scene_work(&scene, thread, 1, "main handle load fill");
    for (int i = 0; i < 100; i++)
        scene_add(&scene, thread, WHY_SLEEP, 4 * MS, "main handle load fill:usleep");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.idle_ns, 0);
    CU_ASSERT_EQUAL(verdict.useful_ns, 492 * (uint64_t)MS);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

void sprof_suite_why_idle(void);
void sprof_suite_why_idle(void)
{
    CU_pSuite suite = CU_add_suite("why/idle", NULL, NULL);
    CU_add_test(suite, "waits for work are idle", test_waits_for_work_are_idle);
    CU_add_test(suite, "pauses between jobs are idle", test_pauses_between_jobs_are_idle);
    CU_add_test(suite, "waits for children are idle", test_waits_for_children_are_idle);
    CU_add_test(suite, "the work of waiting is none", test_the_work_of_waiting_is_none);
    CU_add_test(suite, "a program without work is idle", test_a_program_without_work_is_idle);
    CU_add_test(suite, "a little work is no idleness", test_a_little_work_is_no_idleness);
    CU_add_test(suite, "a few samples show no loop", test_a_few_samples_show_no_loop);
}
