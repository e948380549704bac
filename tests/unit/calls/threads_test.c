/* Threads of slabs, their names and rows. */
#include "calls/calls.h"
#include "tests/unit/calls/made.h"
#include "tests/unit/scarce_memory.h"

static const struct made_way in_memory = {.has_agent = true};

enum { FUNCTIONS = 2, TID = 70001, OTHER = 70002 };

static struct made made;
static struct plan_function functions[FUNCTIONS];

static void begin(void)
{
    made_begin_with(&made, &in_memory, functions, FUNCTIONS);
    free(made.session.threads.of_slab[0]);
    made.session.threads.of_slab[0] = NULL;
    CU_ASSERT_EQUAL_FATAL(calls_process_add(&made.session, getpid()), 0);
}

static void take_slab(uint32_t tid)
{
    struct probe_slab *slab = &made.session.process.shared->slabs[0];
    atomic_store(&slab->pid, (uint32_t)getpid());
    atomic_store(&slab->tid, tid);
    atomic_store(&slab->state, PROBE_SLAB_TAKEN);
}

static void name_slab(const char name[16])
{
    uint64_t words[2];
    memcpy(words, name, sizeof words);
    for (int i = 0; i < 2; i++)
        atomic_store(&made.session.process.shared->names[0][i], words[i]);
}

/* A slab without a holder has no thread. */
static void test_met_once(void)
{
    begin();
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    CU_ASSERT_PTR_NULL(made.session.threads.of_slab[0]);
    take_slab((uint32_t)getpid());
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    const struct calls_thread *thread = made.session.threads.of_slab[0];
    CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
    CU_ASSERT_EQUAL(thread->tid, getpid());
    CU_ASSERT_EQUAL(thread->pid, getpid());
    CU_ASSERT_NOT_EQUAL(thread->row, 0);
    CU_ASSERT_NOT_EQUAL(thread->name[0], 0);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    CU_ASSERT_PTR_EQUAL(made.session.threads.of_slab[0], thread);
    CU_ASSERT_EQUAL(made.session.threads.count, 1);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 1), 0); /* there is one slab */
    CU_ASSERT_EQUAL(made.session.threads.count, 1);
    made_end(&made);
}

/* Of a thread that is gone, the name that it gave itself stays. */
static void test_names(void)
{
    static const char worker[16] = "worker", renamed[16] = "renamed_to_the_",
                      unended[16] = {'0', '1', '2', '3', '4', '5', '6', '7',
                                     '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
    begin();
    take_slab(TID);
    name_slab(worker);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    const struct calls_thread *thread = made.session.threads.of_slab[0];
    CU_ASSERT_STRING_EQUAL(thread->name, "worker");
    name_slab(renamed);
    CU_ASSERT_EQUAL(calls_thread_rename(&made.session, 0), 0);
    CU_ASSERT_STRING_EQUAL(thread->name, "renamed_to_the_");
    name_slab(unended); /* the program may write anything */
    CU_ASSERT_EQUAL(calls_thread_rename(&made.session, 0), 0);
    CU_ASSERT_EQUAL(strlen(thread->name), 15);
    made.session.threads.of_slab[0]->is_idle = true;
    name_slab(worker);
    CU_ASSERT_EQUAL(calls_thread_rename(&made.session, 0), 0);
    CU_ASSERT_EQUAL(strncmp(thread->name, "0123", 4), 0);
    made_end(&made);
}

/* The next thread of a slab takes over its figures. */
static void test_slab_again(void)
{
    begin();
    take_slab(TID);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    struct calls_thread *thread = made.session.threads.of_slab[0];
    const uint32_t row = thread->row;
    thread->is_idle = true;
    take_slab(OTHER);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    CU_ASSERT_PTR_EQUAL(made.session.threads.of_slab[0], thread);
    CU_ASSERT_FALSE(thread->is_idle);
    CU_ASSERT_EQUAL(thread->slab_tid, OTHER);
    CU_ASSERT_EQUAL(thread->row, row);
    CU_ASSERT_EQUAL(made.session.threads.count, 2);
    made_end(&made);
}

/* Beyond a number of threads all have one row. */
static void test_many(void)
{
    begin();
    made.session.threads.count = CALLS_THREADS;
    take_slab(TID);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    CU_ASSERT_TRUE(made.session.threads.of_slab[0]->shares);
    CU_ASSERT_EQUAL(made.session.threads.of_slab[0]->row, 0);
    CU_ASSERT_NOT_EQUAL(made.session.threads.others.row, 0);
    CU_ASSERT_STRING_EQUAL(made.session.threads.others.name, "[more threads]");
    CU_ASSERT_EQUAL(made.session.threads.others.cells.count, FUNCTIONS);
    const uint32_t row = made.session.threads.others.row;
    CU_ASSERT_EQUAL(calls_shared_row_begin(&made.session), 0);
    CU_ASSERT_EQUAL(made.session.threads.others.row, row);
    made_end(&made);
}

static int find_cells(void)
{
    struct calls_thread *thread = made.session.threads.of_slab[0];
    for (uint32_t i = 0; i < 40; i++) {
        const struct calls_cell *cell = calls_cell_of(thread, 1000 + i);
        if (!cell)
            return SPROF_ENOMEM;
        CU_ASSERT_EQUAL_FATAL(cell->function, 1000 + i); /* also where memory ran out before */
    }
    return 0;
}

static void test_cells(void)
{
    begin();
    take_slab(TID);
    CU_ASSERT_EQUAL(calls_meet_thread(&made.session, 0), 0);
    scarce_memory_fail_each(find_cells, 2);
    CU_ASSERT_EQUAL(made.session.threads.of_slab[0]->cells.count, 40);
    made_end(&made);
}

/* No call can have lasted longer than the trace, with some slack. */
static void test_most_ticks(void)
{
    static const struct made_way by_kernel = {.in_nanoseconds = true};
    begin();
    made.session.times = (struct probing_times){.start.ns = 1000, .now_ns = 1000};
    const uint64_t slack = calls_most_ticks(&made.session); /* both clocks stand still */
    CU_ASSERT_EQUAL(slack, UINT64_C(1) << 34);
    made.session.times.now_ns = 500; /* read before the start was noted */
    CU_ASSERT_EQUAL(calls_most_ticks(&made.session), slack);
    made.session.times.now_ns = 3000;
    made.session.times.ns_per_tick = 0.5;
    CU_ASSERT_EQUAL(calls_most_ticks(&made.session), slack + 16000);
    made.session.reader = &by_kernel.reader;
    CU_ASSERT_EQUAL(calls_most_ticks(&made.session), INT64_MAX);
    made_end(&made);
}

void sprof_suite_calls_threads(void);
void sprof_suite_calls_threads(void)
{
    CU_pSuite suite = CU_add_suite("calls/threads", NULL, NULL);
    CU_add_test(suite, "a thread is met once", test_met_once);
    CU_add_test(suite, "names", test_names);
    CU_add_test(suite, "a slab again", test_slab_again);
    CU_add_test(suite, "many threads", test_many);
    CU_add_test(suite, "cells", test_cells);
    CU_add_test(suite, "the most ticks", test_most_ticks);
}
