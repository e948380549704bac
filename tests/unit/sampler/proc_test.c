#include "sampler/proc.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <unistd.h>

static bool parses(const char *text, size_t count)
{
    struct id_list list = {0};
    const bool good = proc_parse_ranges(text, &list) && list.count == count;
    sprof_vec_release(&list);
    return good;
}

static void test_ranges(void)
{
    CU_ASSERT_TRUE(parses("0-3,8\n", 5));
    CU_ASSERT_TRUE(parses("0", 1));
    CU_ASSERT_TRUE(parses("", 0));
    static const char *const bad[] = {"3-1", "a", "1-", "0-4294967295", "-1", "1;2", "0-99999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct id_list list = {0};
        CU_ASSERT_FALSE(proc_parse_ranges(bad[i], &list));
        sprof_vec_release(&list);
    }
}

static void test_own_status(void)
{
    struct proc_status status;
    CU_ASSERT_TRUE_FATAL(proc_status_read(getpid(), &status));
    CU_ASSERT_EQUAL(status.state, 'R');
    CU_ASSERT_EQUAL(status.process, getpid());
    CU_ASSERT_EQUAL(status.parent, getppid());
    CU_ASSERT_EQUAL(status.user, getuid());
    CU_ASSERT_FALSE(status.kernel_thread);
    CU_ASSERT_FALSE(proc_status_read(0x3fffffff, &status));
    CU_ASSERT_FALSE(proc_status_read(0, &status));
}

static void test_threads_and_names(void)
{
    struct id_list threads = {0};
    CU_ASSERT_EQUAL(proc_threads(getpid(), &threads), 0);
    CU_ASSERT_TRUE(threads.count >= 1);
    sprof_vec_release(&threads);
    CU_ASSERT_TRUE(proc_threads(0x3fffffff, &threads) < 0);
    char name[16];
    proc_comm(getpid(), getpid(), name);
    CU_ASSERT_EQUAL(strncmp(name, "unit_sampler", 12), 0);
    CU_ASSERT_TRUE(proc_cpu_time_ns(getpid(), getpid()) > 0);
}

static void test_reading_is_bounded(void)
{
    struct sprof_str text = {0};
    CU_ASSERT_EQUAL(proc_read("/dev/zero", 100000, &text), 0);
    CU_ASSERT_EQUAL(text.length, 100000);
    sprof_str_release(&text);
    CU_ASSERT_TRUE(proc_read("/proc/no such file", 10, &text) < 0);
    CU_ASSERT_EQUAL(proc_number("/proc/no such file", 4711), 4711);
}

static void test_cpus(void)
{
    struct id_list cpus = {0};
    CU_ASSERT_EQUAL(proc_online_cpus(&cpus), 0);
    CU_ASSERT_EQUAL(cpus.count, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
    sprof_vec_release(&cpus);
}

void sprof_suite_sampler_proc(void);
void sprof_suite_sampler_proc(void)
{
    CU_pSuite suite = CU_add_suite("sampler/proc", NULL, NULL);
    CU_add_test(suite, "ranges", test_ranges);
    CU_add_test(suite, "the own status", test_own_status);
    CU_add_test(suite, "threads and names", test_threads_and_names);
    CU_add_test(suite, "reading is bounded", test_reading_is_bounded);
    CU_add_test(suite, "CPUs", test_cpus);
}
