/* Processes that were there before the whole machine was recorded are shown before their first
 * record, once. */
#include "sampler/session.h"

#include <CUnit/CUnit.h>
#include <unistd.h>

enum { NO_PROCESS = 1 << 30 }; /* above all numbers of processes */

static void close_sampler(struct sampler *sampler)
{
    target_snapshot_release(&sampler->initial);
    sprof_map_release(&sampler->introduced);
}

/* How many records are handed out before this one; `own`: those of them that are of this process.
 */
static unsigned introduce(struct sampler *sampler, const struct model_record *taken, unsigned *own)
{
    const struct model_record *record;
    unsigned count = 0;
    *own = 0;
    CU_ASSERT_EQUAL(sampler_introduce(sampler, taken, &record), 0);
    if (record == taken) {
        CU_ASSERT_PTR_NULL(sampler->held);
        return 0;
    }
    for (; record; record = target_snapshot_next(&sampler->initial), count++) {
        CU_ASSERT_TRUE(record->before_start);
        CU_ASSERT_EQUAL(record->time_ns, taken->time_ns);
        *own += record->pid == getpid();
    }
    CU_ASSERT_PTR_EQUAL(sampler_introductions_end(sampler), taken);
    CU_ASSERT_PTR_NULL(sampler_introductions_end(sampler));
    return count;
}

static void test_a_process_is_shown_once(void)
{
    struct sampler sampler = {.introduces = true};
    const struct model_record sample = {
        .type = MODEL_RECORD_SAMPLE, .pid = getpid(), .tid = getpid(), .time_ns = 7};
    unsigned own;
    CU_ASSERT_TRUE(introduce(&sampler, &sample, &own) > 2); /* a thread, its name, mappings */
    CU_ASSERT_TRUE(own > 2);
    CU_ASSERT_EQUAL(introduce(&sampler, &sample, &own), 0);
    close_sampler(&sampler);
}

/* What is forked meanwhile begins with its fork: /proc would show it a second time. */
static void test_a_fork_shows_the_parent(void)
{
    struct sampler sampler = {.introduces = true};
    const struct model_record fork = {.type = MODEL_RECORD_FORK,
                                      .pid = NO_PROCESS,
                                      .tid = NO_PROCESS,
                                      .time_ns = 7,
                                      .fork = {.parent_pid = getpid(), .parent_tid = getpid()}};
    const struct model_record grandchild = {
        .type = MODEL_RECORD_FORK,
        .pid = NO_PROCESS + 1,
        .tid = NO_PROCESS + 1,
        .time_ns = 8,
        .fork = {.parent_pid = NO_PROCESS, .parent_tid = NO_PROCESS}};
    const struct model_record sample = {
        .type = MODEL_RECORD_SAMPLE, .pid = NO_PROCESS, .tid = NO_PROCESS, .time_ns = 9};
    unsigned own;
    CU_ASSERT_TRUE(introduce(&sampler, &fork, &own) > 2);
    CU_ASSERT_TRUE(own > 2);
    CU_ASSERT_EQUAL(introduce(&sampler, &grandchild, &own), 0);
    CU_ASSERT_EQUAL(introduce(&sampler, &sample, &own), 0);
    close_sampler(&sampler);
}

/* Of a process that has ended /proc shows nothing: its record is not held back. */
static void test_a_process_that_is_gone(void)
{
    struct sampler sampler = {.introduces = true};
    const struct model_record exit = {
        .type = MODEL_RECORD_EXIT, .pid = NO_PROCESS, .tid = NO_PROCESS, .time_ns = 7};
    unsigned own;
    CU_ASSERT_EQUAL(introduce(&sampler, &exit, &own), 0);
    close_sampler(&sampler);
}

/* The kernel's mappings and idle tasks belong to no process; and a recording of chosen processes
 * has shown them at its start. */
static void test_records_that_introduce_nothing(void)
{
    struct sampler sampler = {.introduces = true};
    const struct model_record kernel = {.type = MODEL_RECORD_MMAP, .pid = -1, .tid = 0};
    const struct model_record idle = {.type = MODEL_RECORD_SAMPLE, .pid = 0, .tid = 0};
    const struct model_record sample = {
        .type = MODEL_RECORD_SAMPLE, .pid = getpid(), .tid = getpid()};
    unsigned own;
    CU_ASSERT_EQUAL(introduce(&sampler, &kernel, &own), 0);
    CU_ASSERT_EQUAL(introduce(&sampler, &idle, &own), 0);
    CU_ASSERT_EQUAL(sampler.introduced.count, 0);
    sampler.introduces = false;
    CU_ASSERT_EQUAL(introduce(&sampler, &sample, &own), 0);
    close_sampler(&sampler);
}

/* Outside a pid namespace all processes have the same number: their mappings and registers must not
 * be taken for those of one process. */
static void test_processes_outside_are_one(void)
{
    struct sampler sampler = {.introduces = true, .is_enclosed = true};
    const struct model_record *record;
    struct model_record mapping = {.type = MODEL_RECORD_MMAP};
    struct model_record end = {.type = MODEL_RECORD_EXIT, .pid = -1, .tid = -1};
    struct model_record inside = {.type = MODEL_RECORD_MMAP, .pid = NO_PROCESS, .tid = NO_PROCESS};
    struct model_record lost = {.type = MODEL_RECORD_LOST, .pid = -1};
    struct model_record sample = {.type = MODEL_RECORD_SAMPLE, .pid = -1, .tid = -1};
    sample.sample = (struct model_sample){.ip = 0x1000, .register_count = 17, .stack_size = 8};
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &mapping), 1);
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &end), 1);
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &inside), 0);
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &lost), 0);
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &sample), 0);
    CU_ASSERT_TRUE(!sample.pid && !sample.tid && !sample.sample.ip);
    CU_ASSERT_TRUE(!sample.sample.register_count && !sample.sample.stack_size);
    CU_ASSERT_EQUAL(sampler_introduce(&sampler, &sample, &record), 0);
    CU_ASSERT_EQUAL(record->type, MODEL_RECORD_COMM);
    CU_ASSERT_STRING_EQUAL(record->comm.name, "[outside the container]");
    CU_ASSERT_PTR_EQUAL(sampler_introductions_end(&sampler), &sample);
    sample.sample.in_kernel = true;
    sample.sample.ip = 0x2000;
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &sample), 0);
    CU_ASSERT_EQUAL(sample.sample.ip, 0x2000);
    CU_ASSERT_EQUAL(sampler_introduce(&sampler, &sample, &record), 0);
    CU_ASSERT_PTR_EQUAL(record, &sample);
    CU_ASSERT_EQUAL(sampler.counts.outside_samples, 2);
    sampler.is_enclosed = false;
    CU_ASSERT_EQUAL(sampler_merge_outside(&sampler, &mapping), 0);
    close_sampler(&sampler);
}

void sprof_suite_sampler_introductions(void);
void sprof_suite_sampler_introductions(void)
{
    CU_pSuite suite = CU_add_suite("sampler/introductions", NULL, NULL);
    CU_add_test(suite, "a process is shown once", test_a_process_is_shown_once);
    CU_add_test(suite, "a fork shows the parent", test_a_fork_shows_the_parent);
    CU_add_test(suite, "a process that is gone", test_a_process_that_is_gone);
    CU_add_test(suite, "processes outside are one", test_processes_outside_are_one);
    CU_add_test(suite, "records that introduce nothing", test_records_that_introduce_nothing);
}
