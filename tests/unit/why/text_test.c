#include "tests/unit/why/scene.h"

/* The whole answer, compared line by line. */
static void answers(struct scene *scene, const struct why_circumstances *circumstances,
                    const char *wanted)
{
    struct sprof_str text = {0};
    struct why_verdict verdict = scene_judge(scene);
    CU_ASSERT_EQUAL(why_text(&text, &scene->table, &verdict, circumstances), 0);
    CU_ASSERT_STRING_EQUAL(text.text, wanted);
    if (strcmp(text.text, wanted) != 0)
        printf("\nwanted:\n%sfound:\n%s", wanted, text.text);
    sprof_str_release(&text);
    why_verdict_release(&verdict);
}

static void test_a_function(void)
{
    struct scene scene = {0};
    const uint32_t worker = scene_thread(&scene, "worker"), other = scene_thread(&scene, "back");
    for (int i = 0; i < 100; i++) {
        scene_work(&scene, worker, 6, "main handle parse");
        scene_add(&scene, worker, WHY_LOCK, 4 * MS, "main handle store:pthread_mutex_lock");
        scene_add(&scene, other, WHY_SLEEP, 6 * MS, "background:usleep");
        scene_work(&scene, other, 4, "background update");
    }
    const uint32_t mutex = why_add_word(&scene.table, "shop::mutex") + 1;
    for (size_t i = 0; i < scene.table.samples.count; i++)
        if (scene.table.samples.items[i].cause == WHY_LOCK && i / 12 % 4)
            scene.table.samples.items[i].lock = mutex;
    const struct why_circumstances circumstances = {
        .recording = "'my why.db'", .load = -1, .took_s = 1.25};
    answers(
        &scene, &circumstances,
        "▶ store waits for a lock in pthread_mutex_lock: the lock is held by update of thread "
        "back/101\n"
        "  29 % ± 3 of the 1.40 s that its threads work or wait within work each second\n"
        "  called by handle; way: main → handle → store\n"
        "  evidence:\n"
        "    400 ms of store, futex: sprof report -i 'my why.db' --event wall "
        "--mode app --no-std --no-inline --by function,wait\n"
        "    for 75 % of that, the lock shop::mutex: sprof report -i 'my why.db' --event off-cpu "
        "--by lock,holder\n"
        "    while store waits, update is on the stack of thread back/101 in 100 % of 100 "
        "looks, else in 0 %\n"
        "  ruled out: allocation 0 % · page faults 0 % · system calls 0 % · sleeping 0 % · "
        "disk 0 %\n"
        "  next: parse (cpu) 43 % · update (cpu) 29 %\n"
        "  one of two: the other is parse · 762 samples' worth of useful time · 1.2 s\n");
    why_table_release(&scene.table);
}

static void test_starved(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 5; i++) {
        scene_work(&scene, thread, 1, "main handle parse");
        scene_work(&scene, thread, 1, "main handle apply");
        scene_add(&scene, thread, WHY_READY, 98 * MS, "main handle parse");
    }
    const struct why_circumstances circumstances = {.load = 18.4, .cpus = 2};
    answers(&scene, &circumstances,
            "▶ It has no CPU for 98 % of the time in which it wants one\n"
            "  of 20.0 ms that its threads work or wait within work each second\n"
            "  way: main → handle\n"
            "  machine: other threads use the processors (load 18 on 2)\n"
            "  evidence:\n"
            "  ruled out: allocation 0 % · page faults 0 % · system calls 0 % · locks 0 % · "
            "sleeping 0 % · disk 0 %\n"
            "  next: parse (cpu) 50 % · apply (cpu) 50 %\n"
            "  sure · 10 samples' worth of useful time\n");
    why_table_release(&scene.table);
}

/* Of a thread that only sleeps it does not matter that it waits for a CPU after each sleep. */
static void test_idle(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    for (int i = 0; i < 100; i++) {
        scene_add(&scene, thread, WHY_SLEEP, 99 * MS, "main:usleep");
        scene_add(&scene, thread, WHY_READY, MS, "main:usleep");
    }
    const struct why_circumstances circumstances = {.load = 18.4, .cpus = 2};
    answers(&scene, &circumstances,
            "▶ Nothing: its threads are idle for 99 % of their time; main sleeps in usleep\n"
            "  evidence:\n"
            "  ruled out: computing 0 % · allocation 0 % · page faults 0 % · system calls 0 % · "
            "locks 0 % · sleeping 0 % · disk 0 %\n"
            "  sure · 0 samples' worth of useful time\n");
    why_table_release(&scene.table);
}

/* Where no call of the function has ended, it is not known how long one takes. */
static void test_open_calls(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_work(&scene, thread, 500, "main handle parse");
    struct why_verdict verdict = scene_judge(&scene);
    struct sprof_str text = {0};
    verdict.rate.per_second = 1;
    const struct why_circumstances circumstances = {.recording = "why.db", .load = -1};
    CU_ASSERT_EQUAL(why_text(&text, &scene.table, &verdict, &circumstances), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text.text, "  called 1 time a second; way: main → "));
    sprof_str_release(&text);
    verdict.rate.mean_ns = 2e6;
    CU_ASSERT_EQUAL(why_text(&text, &scene.table, &verdict, &circumstances), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text.text, "  called 1 time a second, 2.00 ms each; way: "));
    sprof_str_release(&text);
    why_verdict_release(&verdict);
    why_table_release(&scene.table);
}

/* What was not recorded is not ruled out. */
static void test_what_is_not_known(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_work(&scene, thread, 500, "main handle parse");
    scene.table.sight = WHY_SEES_CPU;
    scene.table.interpreter = "python3.11";
    scene.table.interpreter_cure = "-X perf";
    const struct why_circumstances circumstances = {
        .recording = "why.db", .load = -1, .unseen = "waits cannot be measured by BPF"};
    answers(&scene, &circumstances,
            "▶ parse computes\n"
            "  100 % ± 1 of the 1.00 s that its threads work each second\n"
            "  called by handle; way: main → handle → parse\n"
            "  evidence:\n"
            "    500 ms of parse, running: sprof report -i why.db --mode app --no-std "
            "--no-inline --by function,wait\n"
            "  ruled out: allocation 0 % · page faults 0 % · system calls 0 %\n"
            "  sure · 500 samples' worth of useful time\n"
            "  not known: what threads wait for, and whether they lack a CPU (waits cannot be "
            "measured by BPF)\n"
            "  note: python3.11 is an interpreter, and functions of its script have no names "
            "here: start it with -X perf\n");
    why_table_release(&scene.table);
}

/* A program that mostly waits, of which only work was recorded. */
static void test_unseen(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_work(&scene, thread, 400, "main handle parse");
    scene.table.duration_ns = 4000000000;
    scene.table.sight = WHY_SEES_CPU;
    const struct why_circumstances circumstances = {.recording = "why.db", .load = -1};
    answers(&scene, &circumstances,
            "▶ It waits, or has no CPU, for 90 % of the time, which this recording does not hold: "
            "look by `sprof why` or `sprof record --off-cpu`, as root\n"
            "  of 100 ms that its threads work each second\n"
            "  called by handle; way: main → handle → parse\n"
            "  evidence:\n"
            "    time by function and wait: sprof report -i why.db --mode app --no-std "
            "--no-inline --by function,wait\n"
            "  ruled out: allocation 0 % · page faults 0 % · system calls 0 %\n"
            "  next: parse (cpu) 100 %\n"
            "  sure · 400 samples' worth of useful time\n"
            "  not known: what threads wait for, and whether they lack a CPU\n");
    why_table_release(&scene.table);
}

static void test_too_little(void)
{
    struct scene scene = {0};
    const uint32_t thread = scene_thread(&scene, "prog");
    scene_work(&scene, thread, 3, "main handle parse");
    scene_work(&scene, thread, 3, "main handle apply");
    scene.table.duration_ns = 100 * (uint64_t)MS;
    const struct why_circumstances attached = {.load = -1};
    const struct why_circumstances ended = {.load = -1, .has_ended = true};
    const char *const begin =
        "▶ Too few samples to name a function: the largest has 50 % ± 52 (parse)\n"
        "  of 60.0 ms that its threads work or wait within work each second\n"
        "  way: main → handle\n"
        "  evidence:\n"
        "  ruled out: allocation 0 % · page faults 0 % · system calls 0 % · locks 0 % · sleeping 0 "
        "% · disk 0 %\n"
        "  next: parse (cpu) 50 % · apply (cpu) 50 %\n  ";
    char wanted[1024];
    snprintf(wanted, sizeof wanted, "%s%s · 6 samples' worth of useful time\n", begin,
             "look longer: --seconds 5");
    answers(&scene, &attached, wanted);
    snprintf(wanted, sizeof wanted, "%s%s · 6 samples' worth of useful time\n", begin,
             "it ended too early: 6 samples of work, some 300 are needed");
    answers(&scene, &ended, wanted);
    why_table_release(&scene.table);
}

static void test_nothing(void)
{
    struct scene scene = {0};
    answers(&scene, &(struct why_circumstances){.load = -1},
            "▶ Nothing was seen: no sample was taken\n");
    answers(&scene, &(struct why_circumstances){.load = -1, .took_s = 3.2, .has_ended = true},
            "▶ Nothing was seen: no sample was taken\n  it ended too early\n");
    answers(&scene, &(struct why_circumstances){.load = -1, .took_s = 3.2},
            "▶ Nothing was seen: no sample was taken\n"
            "  none of its threads ran for 3.2 s: look while it has work to do, or longer: "
            "--seconds 60\n");
    why_table_release(&scene.table);
}

void sprof_suite_why_text(void);
void sprof_suite_why_text(void)
{
    CU_pSuite suite = CU_add_suite("why/text", NULL, NULL);
    CU_add_test(suite, "a function", test_a_function);
    CU_add_test(suite, "starved", test_starved);
    CU_add_test(suite, "an idle program", test_idle);
    CU_add_test(suite, "calls that are open", test_open_calls);
    CU_add_test(suite, "what is not known", test_what_is_not_known);
    CU_add_test(suite, "waits that are not seen", test_unseen);
    CU_add_test(suite, "too little", test_too_little);
    CU_add_test(suite, "nothing", test_nothing);
}
