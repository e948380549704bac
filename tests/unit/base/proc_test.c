#include "base/proc.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <unistd.h>

static bool parses(const char *text, size_t count)
{
    struct sprof_id_list list = {0};
    const bool good = sprof_proc_parse_ranges(text, &list) && list.count == count;
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
        struct sprof_id_list list = {0};
        CU_ASSERT_FALSE(sprof_proc_parse_ranges(bad[i], &list));
        sprof_vec_release(&list);
    }
}

static void test_own_status(void)
{
    struct sprof_proc_status status;
    CU_ASSERT_TRUE_FATAL(sprof_proc_status_read(getpid(), &status));
    CU_ASSERT_EQUAL(status.state, 'R');
    CU_ASSERT_EQUAL(status.process, getpid());
    CU_ASSERT_EQUAL(status.parent, getppid());
    CU_ASSERT_EQUAL(status.inner, getpid());
    CU_ASSERT_EQUAL(status.user, getuid());
    CU_ASSERT_FALSE(status.kernel_thread);
    CU_ASSERT_FALSE(sprof_proc_status_read(0x3fffffff, &status));
    CU_ASSERT_FALSE(sprof_proc_status_read(0, &status));
}

static bool stat_is(const char *text, char state, pid_t parent, unsigned long flags,
                    uint64_t start_ticks)
{
    struct sprof_proc_stat stat;
    return sprof_proc_parse_stat(text, &stat) && stat.state == state && stat.parent == parent &&
           stat.flags == flags && stat.start_ticks == start_ticks;
}

static void test_stat(void)
{
#define FIELDS "12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 "
    CU_ASSERT_TRUE(stat_is("7 (sh) S 3 " FIELDS "8571 0 0", 'S', 3, 4194560, 8571));
    CU_ASSERT_TRUE(stat_is("7 (a b) R 4 (x) S 3 " FIELDS "8571", 'S', 3, 4194560, 8571));
    CU_ASSERT_TRUE(
        stat_is("7 ()) Z 1 " FIELDS "18446744073709551615", 'Z', 1, 4194560, UINT64_MAX));
    static const char *const bad[] = {"", "7 sh S 3", "7 (sh)", ("7 (sh) S 3 " FIELDS),
                                      "7 (sh) S x"};
    struct sprof_proc_stat stat;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_FALSE(sprof_proc_parse_stat(bad[i], &stat));
#undef FIELDS
    CU_ASSERT_TRUE(sprof_proc_stat_read(getpid(), &stat));
    CU_ASSERT_EQUAL(stat.parent, getppid());
    CU_ASSERT_TRUE(stat.start_ticks > 0);
    CU_ASSERT_FALSE(sprof_proc_stat_read(0, &stat));
}

static void test_lines(void)
{
    char line[8], boot_id[SPROF_BOOT_ID_SIZE];
    sprof_proc_line("/proc/no such file", line, sizeof line);
    CU_ASSERT_STRING_EQUAL(line, "");
    sprof_proc_line("/proc/version", line, sizeof line);
    CU_ASSERT_STRING_EQUAL(line, "Linux v");
    sprof_proc_boot_id(boot_id);
    CU_ASSERT_EQUAL(strlen(boot_id), SPROF_BOOT_ID_SIZE - 1);
}

static void test_threads_and_names(void)
{
    struct sprof_id_list threads = {0};
    CU_ASSERT_EQUAL(sprof_proc_threads(getpid(), &threads), 0);
    CU_ASSERT_TRUE(threads.count >= 1);
    sprof_vec_release(&threads);
    CU_ASSERT_TRUE(sprof_proc_threads(0x3fffffff, &threads) < 0);
    char name[16];
    sprof_proc_comm(getpid(), getpid(), name);
    CU_ASSERT_EQUAL(strncmp(name, "unit_base", 9), 0);
    CU_ASSERT_TRUE(sprof_proc_cpu_time_ns(getpid(), getpid()) > 0);
}

static void test_reading_is_bounded(void)
{
    struct sprof_str text = {0};
    CU_ASSERT_EQUAL(sprof_proc_read("/dev/zero", 100000, &text), 0);
    CU_ASSERT_EQUAL(text.length, 100000);
    sprof_str_release(&text);
    CU_ASSERT_TRUE(sprof_proc_read("/proc/no such file", 10, &text) < 0);
    CU_ASSERT_EQUAL(sprof_proc_number("/proc/no such file", 4711), 4711);
}

static void test_cpus(void)
{
    struct sprof_id_list cpus = {0};
    CU_ASSERT_EQUAL(sprof_proc_online_cpus(&cpus), 0);
    CU_ASSERT_EQUAL(cpus.count, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
    sprof_vec_release(&cpus);
}

void sprof_suite_base_proc(void);
void sprof_suite_base_proc(void)
{
    CU_pSuite suite = CU_add_suite("base/proc", NULL, NULL);
    CU_add_test(suite, "ranges", test_ranges);
    CU_add_test(suite, "the own status", test_own_status);
    CU_add_test(suite, "/proc/PID/stat", test_stat);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "threads and names", test_threads_and_names);
    CU_add_test(suite, "reading is bounded", test_reading_is_bounded);
    CU_add_test(suite, "CPUs", test_cpus);
}
