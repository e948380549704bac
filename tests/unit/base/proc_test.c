#include "base/proc.h"

#include "base/clock.h"

#include <CUnit/CUnit.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
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

static void test_own_user(void)
{
    struct sprof_proc_user user;
    gid_t groups[256];
    struct sprof_str wanted = {0};
    const int count = getgroups(256, groups);
    for (int i = 0; i < count; i++)
        sprof_str_appendf(&wanted, "%s%u", i ? " " : "", groups[i]);
    CU_ASSERT_TRUE_FATAL(sprof_proc_user_read(getpid(), &user));
    CU_ASSERT_EQUAL(user.uid, getuid());
    CU_ASSERT_EQUAL(user.gid, getgid());
    CU_ASSERT_EQUAL(strlen(user.groups), wanted.length);
    CU_ASSERT_FALSE(sprof_proc_user_read(0x3fffffff, &user));
    sprof_str_release(&wanted);
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
    struct sprof_proc_stat long_one;
    CU_ASSERT_TRUE(
        sprof_proc_parse_stat("7 (sh) S 3 " FIELDS "8571 10 -1 12 13 14 99 0", &long_one));
    CU_ASSERT(long_one.start_ticks == 8571 && long_one.stack == 99);
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

/* Who shares one CPU with a twin waits for it as long as that works. */
static void test_waiting_for_a_cpu(void)
{
    cpu_set_t before, one;
    CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof before, &before), 0);
    const int cpu = sched_getcpu();
    CPU_ZERO(&one);
    CPU_SET(cpu < 0 ? 0 : (size_t)cpu, &one);
    CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof one, &one), 0);
    const uint64_t waited_ns = sprof_proc_waited_ns(), begun_ns = sprof_clock_monotonic_ns();
    const pid_t twin = fork();
    while (!twin)
        ;
    uint64_t more_ns = 0;
    while (more_ns < 20000000 && sprof_clock_monotonic_ns() - begun_ns < UINT64_C(10000000000))
        more_ns = sprof_proc_waited_ns() - waited_ns;
    kill(twin, SIGKILL);
    waitpid(twin, NULL, 0);
    sched_setaffinity(0, sizeof before, &before);
    CU_ASSERT_TRUE(more_ns >= 20000000);
    CU_ASSERT_TRUE(more_ns <= sprof_clock_monotonic_ns() - begun_ns);
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
    CU_add_test(suite, "the own user", test_own_user);
    CU_add_test(suite, "/proc/PID/stat", test_stat);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "waiting for a CPU", test_waiting_for_a_cpu);
    CU_add_test(suite, "threads and names", test_threads_and_names);
    CU_add_test(suite, "reading is bounded", test_reading_is_bounded);
    CU_add_test(suite, "CPUs", test_cpus);
}
