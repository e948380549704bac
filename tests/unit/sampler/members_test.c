#include "sampler/perf/members.h"

#include <CUnit/CUnit.h>

enum { PARENT = 100, CHILD = 200, STRANGER = 900 };

static bool admits(struct perf_members *targets, enum model_record_type type, pid_t pid, pid_t tid)
{
    const struct model_record record = {.type = type, .pid = pid, .tid = tid, .time_ns = 5};
    return perf_members_admit(targets, &record);
}

static bool admits_fork(struct perf_members *targets, pid_t parent, pid_t pid, pid_t tid)
{
    struct model_record record = {.type = MODEL_RECORD_FORK, .pid = pid, .tid = tid};
    record.fork.parent_pid = record.fork.parent_tid = parent;
    return perf_members_admit(targets, &record);
}

static struct perf_members of_parent(enum perf_trust trust)
{
    struct perf_members targets = {.trust = trust};
    CU_ASSERT_EQUAL_FATAL(perf_members_add_process(&targets, PARENT), 0);
    CU_ASSERT_EQUAL_FATAL(perf_members_add_thread(&targets, PARENT, PARENT), 0);
    return targets;
}

static void test_foreign_records_are_refused(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_NOTHING);
    for (int type = MODEL_RECORD_SAMPLE; type <= MODEL_RECORD_EXIT; type++)
        if (type != MODEL_RECORD_FORK)
            CU_ASSERT_FALSE(admits(&targets, (enum model_record_type)type, STRANGER, STRANGER));
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SWITCH, STRANGER, STRANGER));
    targets.trust = PERF_TRUST_SAMPLES; /* of which switches are none */
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SWITCH, STRANGER, STRANGER));
    targets.trust = PERF_TRUST_NOTHING;
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SWITCH, PARENT, PARENT));
    CU_ASSERT_FALSE(admits_fork(&targets, STRANGER, STRANGER + 1, STRANGER + 1));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_LOST, -1, -1));
    perf_members_release(&targets);
}

static void test_records_of_no_known_type_are_refused(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_ALL);
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_TYPES, PARENT, PARENT));
    CU_ASSERT_FALSE(admits(&targets, (enum model_record_type)1000, PARENT, PARENT));
    perf_members_release(&targets);
}

static void test_forks_are_followed(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_NOTHING);
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SAMPLE, CHILD, CHILD));
    CU_ASSERT_TRUE(admits_fork(&targets, PARENT, CHILD, CHILD));
    CU_ASSERT_TRUE(admits_fork(&targets, CHILD, CHILD, CHILD + 1));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SAMPLE, CHILD, CHILD + 1));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_EXIT, CHILD, CHILD + 1));
    CU_ASSERT_EQUAL(*sprof_map_get(&targets.threads, CHILD + 1), 0);
    CU_ASSERT_EQUAL(*sprof_map_get(&targets.threads, CHILD), CHILD);
    perf_members_release(&targets);
}

static void test_a_number_given_to_strangers_is_theirs(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_SAMPLES);
    admits_fork(&targets, PARENT, CHILD, CHILD);
    admits(&targets, MODEL_RECORD_EXIT, CHILD, CHILD);
    CU_ASSERT_FALSE(admits_fork(&targets, STRANGER, CHILD, CHILD));
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SAMPLE, CHILD, CHILD));
    perf_members_release(&targets);
}

static void test_a_command_counts_from_its_execve(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_SAMPLES);
    targets.command = PARENT;
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT));
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_MMAP, PARENT, PARENT));
    struct model_record comm = {.type = MODEL_RECORD_COMM, .pid = PARENT, .tid = PARENT};
    comm.comm.exec = true;
    CU_ASSERT_TRUE(perf_members_admit(&targets, &comm));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT));
    perf_members_release(&targets);
}

static void test_a_lost_execve_does_not_lose_the_command(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_SAMPLES);
    targets.command = PARENT;
    targets.command_runs_ns = 6;
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT));
    targets.command_runs_ns = 5;
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT));
    perf_members_release(&targets);
}

static void test_samples_filtered_by_the_kernel_are_believed(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_SAMPLES);
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_MMAP, CHILD, CHILD));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SAMPLE, CHILD, CHILD));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_MMAP, CHILD, CHILD));
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SAMPLE, -1, -1));
    perf_members_release(&targets);
}

static void test_one_thread_only(void)
{
    struct perf_members targets = of_parent(PERF_TRUST_ALL);
    targets.only_thread = PARENT + 1;
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT + 1));
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_SAMPLE, PARENT, PARENT));
    CU_ASSERT_TRUE(admits(&targets, MODEL_RECORD_MMAP, PARENT, PARENT));
    CU_ASSERT_FALSE(admits_fork(&targets, PARENT, CHILD, CHILD));
    CU_ASSERT_FALSE(admits(&targets, MODEL_RECORD_EXIT, PARENT, PARENT));
    perf_members_release(&targets);
}

void sprof_suite_sampler_members(void);
void sprof_suite_sampler_members(void)
{
    CU_pSuite suite = CU_add_suite("sampler/members", NULL, NULL);
    CU_add_test(suite, "foreign records are refused", test_foreign_records_are_refused);
    CU_add_test(suite, "records of no known type are refused",
                test_records_of_no_known_type_are_refused);
    CU_add_test(suite, "forks are followed", test_forks_are_followed);
    CU_add_test(suite, "a number given to strangers", test_a_number_given_to_strangers_is_theirs);
    CU_add_test(suite, "a command counts from its execve", test_a_command_counts_from_its_execve);
    CU_add_test(suite, "a lost execve", test_a_lost_execve_does_not_lose_the_command);
    CU_add_test(suite, "filtered samples are believed",
                test_samples_filtered_by_the_kernel_are_believed);
    CU_add_test(suite, "one thread only", test_one_thread_only);
}
