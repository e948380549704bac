#include "tests/unit/why/scene.h"

static void test_a_hot_loop_is_named(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_spread(&scene, thread, 7);
        scene_work(&scene, thread, 3, "main handle route apply");
    }
    scene_says(&scene, "apply computes");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FUNCTION);
    CU_ASSERT_EQUAL(verdict.certainty, WHY_SURE);
    CU_ASSERT_DOUBLE_EQUAL(verdict.share.share, 0.3, 0.001);
    CU_ASSERT_TRUE(verdict.share.half < 0.05);
    CU_ASSERT_EQUAL(verdict.word_ns, 300 * (uint64_t)MS);
    CU_ASSERT_EQUAL(verdict.way.count, 4);
    CU_ASSERT_STRING_EQUAL(scene.table.functions.items[verdict.callers[0]].name, "route");
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

static void test_what_is_spread_is_not_named(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_spread(&scene, thread, 2000);
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FLAT);
    CU_ASSERT_STRING_EQUAL(scene.table.functions.items[verdict.below].name, "handle");
    CU_ASSERT_DOUBLE_EQUAL(verdict.below_share, 1, 0.001);
    CU_ASSERT_TRUE(verdict.share.share + verdict.share.half < 0.08);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* Each kind of work and of wait within work has its words. */
static void test_causes_have_words(void)
{
    static const struct {
        enum why_cause cause;
        const char *stack, *wanted;
    } cases[] = {
        {WHY_ALLOCATES, "main handle load fill:malloc",
         "fill allocates and frees memory in malloc"},
        {WHY_FAULTS, "main handle load fill", "fill touches new memory (page faults)"},
        {WHY_CALLS_SYSTEM, "main handle load fill:write", "fill is in system calls in write"},
        {WHY_DISK, "main handle load fill:fsync", "fill waits for the disk in fsync"},
        {WHY_SLEEP, "main handle load fill:usleep", "fill sleeps in usleep"},
        {WHY_PEER, "main handle load ask fill:recv",
         "fill waits for a peer (socket, pipe) in recv"},
        {WHY_POLL, "main handle load ask fill:poll", "fill waits for events in poll"},
        {WHY_PAGE, "main handle load fill", "fill waits for pages from the disk"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scene scene = {0};
        const uint32_t thread = scene_thread(&scene, "prog");
        for (int n = 0; n < 100; n++) {
            scene_spread(&scene, thread, 6);
            for (int k = 0; k < 4; k++)
                scene_add(&scene, thread, cases[i].cause, MS, cases[i].stack);
        }
        scene_says(&scene, cases[i].wanted);
        why_table_release(&scene.table);
    }
}

/* Time without a CPU, however much, never counts for a function: rule R4. */
static void test_a_thread_without_a_cpu_makes_no_culprit(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_spread(&scene, thread, 20);
        scene_add(&scene, thread, WHY_READY, 90 * MS, "main handle a0");
    }
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FLAT);
    CU_ASSERT_DOUBLE_EQUAL(verdict.ready_share, 90. / 110, 0.001);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* Where it sleeps within its work, it mostly is when it wants a CPU: the helper is no loop. */
static void test_a_sleep_that_ends_without_a_cpu_is_named(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_spread(&scene, thread, 6);
        scene_add(&scene, thread, WHY_SLEEP, 4 * MS, "main handle load fill:usleep");
        scene_add(&scene, thread, WHY_READY, 400 * MS, "main handle load fill:usleep");
    }
    scene_says(&scene, "fill sleeps in usleep");
    why_table_release(&scene.table);
}

/* The way ends where less than half of all time lies below, and the largest may be elsewhere. */
static void test_no_function_has_most(void)
{
    static const char *const leaves[] = {"b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7"};
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (unsigned i = 0; i < 800; i++) {
        char stack[64];
        snprintf(stack, sizeof stack, "main serve a %s%s", i % 16 < 10 ? "c " : "", leaves[i % 8]);
        scene_work(&scene, thread, 1, stack);
        snprintf(stack, sizeof stack, "main serve ask%u:pthread_mutex_lock", i % 3);
        if (i % 2)
            scene_add(&scene, thread, WHY_LOCK, MS, stack);
    }
    scene_says(&scene,
               "No single function: 67 % is spread below a, the largest has 11 % ± 2 (ask1)");
    why_table_release(&scene.table);
}

static void test_nothing_but_ready_is_starved(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 10; i++) {
        scene_spread(&scene, thread, 2);
        scene_add(&scene, thread, WHY_READY, 200 * MS, "main handle a0");
    }
    scene_says(&scene, "It has no CPU for 99 % of the time in which it wants one");
    why_table_release(&scene.table);
}

static void test_without_samples_nothing_is_said(void)
{
    struct scene scene = {0};
    scene_says(&scene, "Nothing was seen: no sample was taken");
    why_table_release(&scene.table);
}

static void test_few_samples_ask_for_more(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_spread(&scene, thread, 13);
    scene_work(&scene, thread, 2, "main handle route apply");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_TOO_FEW);
    CU_ASSERT_EQUAL(verdict.look_ns, 1000000000);
    why_verdict_release(&verdict);
    scene.table.duration_ns = 400000 * (uint64_t)MS;
    verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.look_ns, 600000000000); /* no longer than ten minutes */
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* == Locks == */

/* A worker that needs a lock, and a thread that holds it for 4 ms of each 10. */
static void contend(struct scene *scene, uint32_t worker, uint32_t other, const char *holder)
{
    for (int i = 0; i < 100; i++) {
        scene_spread(scene, worker, 6);
        scene_add(scene, worker, WHY_LOCK, 4 * MS, "main handle store:pthread_mutex_lock");
        scene_add(scene, other, WHY_SLEEP, 6 * MS, "background:usleep");
        scene_work(scene, other, 4, holder);
    }
}

static void test_a_lock_is_named_with_its_holder(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker"), other = scene_thread(&scene, "back");
    contend(&scene, worker, other, "background update flush");
    scene_says(&scene, "store waits for a lock in pthread_mutex_lock: the lock is held by flush of "
                       "thread back/101");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_DOUBLE_EQUAL(verdict.holder.waiting, 1, 0.001);
    CU_ASSERT_DOUBLE_EQUAL(verdict.holder.else_, 0, 0.05);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* The lock is awaited all along, by looks that come earlier and later than they should. */
static void check_looks(unsigned threads)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker"), other = scene_thread(&scene, "other");
    for (unsigned i = 0; i < 200; i++) {
        const uint64_t look_ns = (i * 7 % 13 + 13) * (uint64_t)MS / 10; /* 1.3 to 2.5 ms */
        scene_add(&scene, worker, WHY_LOCK, look_ns, "main handle store:pthread_mutex_lock");
        scene_add(&scene, other, WHY_COMPUTES, look_ns, "main handle store hold");
        if (i % 20 == 19) {
            scene_work(&scene, worker, 40, "main handle rest");
            scene_work(&scene, other, 40, "main idle");
        }
    }
    for (size_t i = 0; i < scene.table.samples.count; i++) {
        struct why_sample *sample = &scene.table.samples.items[i];
        sample->look_ns = 19 * MS / 10;
        sample->weight_ns *= threads;
    }
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.cause, WHY_LOCK);
    CU_ASSERT_STRING_EQUAL(scene.table.functions.items[verdict.holder.function].name, "hold");
    CU_ASSERT_TRUE(verdict.holder.waiting > 0.9);
    CU_ASSERT_TRUE(verdict.holder.else_ < 0.1);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

static void test_looks_at_a_lock(void)
{
    check_looks(1);
    check_looks(3); /* of which each look is at one */
}

/* A thread that always computes holds nothing. */
static void test_a_busy_thread_is_no_holder(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker"), other = scene_thread(&scene, "busy");
    for (int i = 0; i < 100; i++) {
        scene_spread(&scene, worker, 6);
        scene_add(&scene, worker, WHY_LOCK, 14 * MS, "main handle store:pthread_mutex_lock");
        scene_spread(&scene, other, 20);
    }
    scene_says(&scene,
               "store waits for a lock in pthread_mutex_lock; no sample shows what holds it");
    why_table_release(&scene.table);
}

/* One after the other of several threads holds the lock. */
static void test_holders_may_rotate(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker");
    uint32_t others[4];
    for (int i = 0; i < 4; i++)
        others[i] = scene_thread(&scene, "pool");
    for (int i = 0; i < 100; i++) {
        scene_spread(&scene, worker, 6);
        scene_add(&scene, worker, WHY_LOCK, 4 * MS, "main handle store:pthread_mutex_lock");
        for (int k = 0; k < 4; k++) {
            scene_add(&scene, others[k], WHY_CONDITION, 6 * MS, "pool next:pthread_cond_wait");
            if (k == i % 4)
                scene_work(&scene, others[k], 4, "pool work update");
            else
                scene_add(&scene, others[k], WHY_CONDITION, 4 * MS, "pool next:pthread_cond_wait");
        }
    }
    scene_says(&scene, "store waits for a lock in pthread_mutex_lock: the lock is held by update "
                       "of several threads");
    why_table_release(&scene.table);
}

/* Many threads that do nothing but take turns: each is without a wait only while it holds the lock.
 */
static void test_a_pool_holds_its_own_lock(void)
{
    struct scene scene = {0};
    uint32_t threads[10];
    for (int i = 0; i < 10; i++)
        threads[i] = scene_thread(&scene, "pool");
    for (int i = 1; i < 10; i++)
        scene_add(&scene, threads[i], WHY_LOCK, (uint64_t)(i * 6 * MS),
                  "work handle update:pthread_mutex_lock");
    for (int turn = 0; turn < 100; turn++)
        for (int i = 0; i < 10; i++)
            if (i == turn % 10)
                scene_work(&scene, threads[i], 6, "work handle update critical");
            else if ((i + 1) % 10 == turn % 10) /* it waits from here to its next turn */
                scene_add(&scene, threads[i], WHY_LOCK, 54 * MS,
                          "work handle update:pthread_mutex_lock");
    scene_says(&scene, "update waits for a lock in pthread_mutex_lock: the lock is held by "
                       "critical of several threads");
    why_table_release(&scene.table);
}

/* Threads alike take turns: each computes for a moment, in which no thread has the lock, then
 * waits, and holds it. */
static void take_turns(struct scene *scene, const char *holder)
{
    uint32_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = scene_thread(scene, "pool");
    for (int turn = 0; turn < 300; turn++) {
        scene_work(scene, threads[turn % 3], 2, "loop prepare");
        scene_add(scene, threads[turn % 3], WHY_LOCK, 44 * MS, "loop write:pthread_mutex_lock");
        scene_work(scene, threads[turn % 3], 20, holder);
        if (turn < 2)
            scene->now_ns[threads[turn + 1]] = scene->now_ns[threads[turn]] - 44 * MS;
    }
}

/* The loop around it is on the holder's stack just as often, but called what took the lock. */
static void test_callers_of_the_waiter_hold_nothing(void)
{
    struct scene scene = {0};
    take_turns(&scene, "loop write append");
    scene_says(&scene, "write waits for a lock in pthread_mutex_lock: the lock is held by append "
                       "of several threads");
    why_table_release(&scene.table);
}

static void test_a_waiter_holds_the_lock_in_other_threads(void)
{
    struct scene scene = {0};
    take_turns(&scene, "loop write");
    scene_says(&scene, "write waits for a lock in pthread_mutex_lock: the lock is held by write "
                       "of several threads");
    why_table_release(&scene.table);
}

/* The holder computes more than its waiter waits: the waiter is named, for the lock is the cause.
 */
static void test_the_waiter_comes_before_its_holder(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker"), other = scene_thread(&scene, "back");
    for (int i = 0; i < 100; i++) {
        scene_spread(&scene, worker, 5);
        scene_add(&scene, worker, WHY_LOCK, 5 * MS, "main handle store:pthread_mutex_lock");
        scene_add(&scene, other, WHY_SLEEP, 3 * MS, "background:usleep");
        scene_work(&scene, other, 7, "background update flush");
    }
    scene_says(&scene, "store waits for a lock in pthread_mutex_lock: the lock is held by flush of "
                       "thread back/101");
    why_table_release(&scene.table);
}

/* A small wait for a lock without a holder does not hide what computes. */
static void test_a_small_lock_is_not_preferred(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker"), other = scene_thread(&scene, "busy");
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, worker, 7, "main handle apply");
        scene_add(&scene, worker, WHY_LOCK, 3 * MS, "main handle store:pthread_mutex_lock");
        scene_spread(&scene, other, 10);
    }
    scene_says(&scene, "apply computes");
    why_table_release(&scene.table);
}

/* Threads that wait for each other for ever are not idle. */
static void test_a_deadlock_is_no_idleness(void)
{
    struct scene scene = {0};
    const uint32_t one = scene_thread(&scene, "one"), two = scene_thread(&scene, "two");
    scene_add(&scene, one, WHY_LOCK, 3000 * (uint64_t)MS, "main grab:pthread_mutex_lock");
    scene_add(&scene, two, WHY_LOCK, 3000 * (uint64_t)MS, "work grab:pthread_mutex_lock");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FUNCTION);
    CU_ASSERT_EQUAL(verdict.cause, WHY_LOCK);
    CU_ASSERT_EQUAL(verdict.holder.function, 0);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* == Threads and bursts == */

static void check_one_thread_of_several(int rounds)
{
    struct scene scene = {0};
    uint32_t threads[12];
    for (int i = 0; i < 12; i++)
        threads[i] = scene_thread(&scene, "worker");
    for (int i = 0; i < rounds; i++)
        for (int k = 0; k < 12; k++) {
            scene_spread(&scene, threads[k], 6);
            if (k == 3)
                scene_work(&scene, threads[k], 4, "main handle route apply");
            else
                scene_add(&scene, threads[k], WHY_POLL, 4 * MS, "main wait_work:epoll_wait");
        }
    scene_says(&scene, "apply computes, only in thread worker/103 of 12 alike");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_DOUBLE_EQUAL(verdict.thread_share.share, 0.4, 0.01);
    CU_ASSERT_DOUBLE_EQUAL(verdict.alike_share, 0, 0.001);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

static void test_one_thread_of_several(void)
{
    check_one_thread_of_several(100);
    check_one_thread_of_several(25); /* 250 samples of each are enough */
}

static void test_bursts_are_said_to_be_so(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 3; i++) {
        scene_spread(&scene, thread, 330);
        scene_work(&scene, thread, 70, "main handle route apply");
        scene_spread(&scene, thread, 100);
    }
    scene_says(&scene, "apply computes, in bursts");
    why_table_release(&scene.table);
}

/* Two that are as large as each other are both named. */
static void test_one_of_two(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, thread, 4, "main handle sort");
        scene_work(&scene, thread, 4, "main handle merge");
        scene_spread(&scene, thread, 2);
    }
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FUNCTION);
    CU_ASSERT_EQUAL(verdict.certainty, WHY_ONE_OF_TWO);
    CU_ASSERT_EQUAL(verdict.next_count, 3);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* What has nearly nothing comes not next, also where nothing else does. */
static void test_nothing_next(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_work(&scene, thread, 997, "main handle parse");
    scene_work(&scene, thread, 3, "main handle apply");
    struct why_verdict verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL(verdict.answer, WHY_FUNCTION);
    CU_ASSERT_EQUAL(verdict.next_count, 0);
    why_verdict_release(&verdict);
    scene_work(&scene, thread, 20, "main handle store");
    verdict = scene_judge(&scene);
    CU_ASSERT_EQUAL_FATAL(verdict.next_count, 1);
    const uint32_t next = verdict.next[0].function;
    CU_ASSERT_STRING_EQUAL(scene.table.functions.items[next].name, "store");
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* Looks at some of many threads weigh for the others, too, and are no long waits. */
static void test_a_look_is_one_sample(void)
{
    struct scene scene = {0};
    const uint32_t threads[] = {scene_thread(&scene, "one"), scene_thread(&scene, "two")};
    for (unsigned i = 0; i < 200; i++)
        scene_add(&scene, threads[i % 2], i % 2 ? WHY_LOCK : WHY_COMPUTES, 100 * (uint64_t)MS,
                  i % 2 ? "main take:pthread_mutex_lock" : "main apply");
    struct why_verdict of_waits = scene_judge(&scene);
    for (size_t i = 0; i < scene.table.samples.count; i++)
        scene.table.samples.items[i].look_ns = MS;
    struct why_verdict of_looks = scene_judge(&scene);
    CU_ASSERT_TRUE(of_waits.share.samples > 210);
    CU_ASSERT_DOUBLE_EQUAL(of_looks.share.samples, 200, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(of_looks.share.share, of_waits.share.share, 0.01);
    CU_ASSERT_TRUE(of_looks.share.binomial > of_waits.share.binomial);
    why_verdict_release(&of_waits);
    why_verdict_release(&of_looks);
    why_table_release(&scene.table);
}

/* The interval of independent samples is that of the binomial distribution; of samples that come
 * together it is wider. */
static void test_intervals(void)
{
    struct scene even = {0}, lumps = {0};
    const uint32_t a = scene_thread(&even, "prog"), b = scene_thread(&lumps, "prog");
    for (int i = 0; i < 400; i++)
        scene_work(&even, a, 1, i % 4 ? "main other" : "main hot");
    for (int i = 0; i < 4; i++) {
        scene_work(&lumps, b, 25, "main hot");
        scene_work(&lumps, b, 75, "main other");
    }
    struct why_verdict of_even = scene_judge(&even), of_lumps = scene_judge(&lumps);
    CU_ASSERT_DOUBLE_EQUAL(of_even.share.binomial, 1.96 * 0.0218, 0.001);
    CU_ASSERT_DOUBLE_EQUAL(of_even.share.half, of_even.share.binomial, 0.001);
    CU_ASSERT_TRUE(of_lumps.share.half > 2 * of_lumps.share.binomial);
    why_verdict_release(&of_even);
    why_verdict_release(&of_lumps);
    why_table_release(&even.table);
    why_table_release(&lumps.table);
}

static void test_code_outside_the_program(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 400; i++)
        scene_work(&scene, thread, 1, ":do_lookup_x");
    scene_says(&scene, "code outside the program computes in do_lookup_x");
    why_table_release(&scene.table);
}

void sprof_suite_why_judge(void);
void sprof_suite_why_judge(void)
{
    CU_pSuite suite = CU_add_suite("why/judge", NULL, NULL);
    CU_add_test(suite, "a look is one sample", test_a_look_is_one_sample);
    CU_add_test(suite, "a hot loop is named", test_a_hot_loop_is_named);
    CU_add_test(suite, "what is spread is not named", test_what_is_spread_is_not_named);
    CU_add_test(suite, "causes have words", test_causes_have_words);
    CU_add_test(suite, "a thread without a CPU makes no culprit",
                test_a_thread_without_a_cpu_makes_no_culprit);
    CU_add_test(suite, "a sleep that ends without a CPU",
                test_a_sleep_that_ends_without_a_cpu_is_named);
    CU_add_test(suite, "no function has most of the time", test_no_function_has_most);
    CU_add_test(suite, "nothing but ready is starved", test_nothing_but_ready_is_starved);
    CU_add_test(suite, "without samples nothing is said", test_without_samples_nothing_is_said);
    CU_add_test(suite, "few samples ask for more", test_few_samples_ask_for_more);
    CU_add_test(suite, "a lock is named with its holder", test_a_lock_is_named_with_its_holder);
    CU_add_test(suite, "looks at a lock", test_looks_at_a_lock);
    CU_add_test(suite, "a busy thread is no holder", test_a_busy_thread_is_no_holder);
    CU_add_test(suite, "holders may rotate", test_holders_may_rotate);
    CU_add_test(suite, "callers of the waiter hold nothing",
                test_callers_of_the_waiter_hold_nothing);
    CU_add_test(suite, "a waiter holds the lock in other threads",
                test_a_waiter_holds_the_lock_in_other_threads);
    CU_add_test(suite, "a pool holds its own lock", test_a_pool_holds_its_own_lock);
    CU_add_test(suite, "the waiter comes before its holder",
                test_the_waiter_comes_before_its_holder);
    CU_add_test(suite, "a small lock is not preferred", test_a_small_lock_is_not_preferred);
    CU_add_test(suite, "a deadlock is no idleness", test_a_deadlock_is_no_idleness);
    CU_add_test(suite, "one thread of several", test_one_thread_of_several);
    CU_add_test(suite, "bursts are said to be so", test_bursts_are_said_to_be_so);
    CU_add_test(suite, "one of two", test_one_of_two);
    CU_add_test(suite, "nothing comes next", test_nothing_next);
    CU_add_test(suite, "intervals", test_intervals);
    CU_add_test(suite, "code outside the program", test_code_outside_the_program);
}
