/* Jumps to probes are replaced by the bytes before, in a file that stands for a process's memory.
 */
#include "inject/inject.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, BYTES = 4 * PAGE };

static const uint8_t jump[PLAN_JUMP_BYTES] = {0xe9, 1, 2, 3, 4};
static const uint8_t original[PLAN_JUMP_BYTES] = {0x55, 0x48, 0x89, 0xe5, 0x90};

static void put(int memory_fd, uint64_t at, const uint8_t bytes[PLAN_JUMP_BYTES])
{
    CU_ASSERT_EQUAL(pwrite(memory_fd, bytes, PLAN_JUMP_BYTES, (off_t)at), PLAN_JUMP_BYTES);
}

static bool has(int memory_fd, uint64_t at, const uint8_t bytes[PLAN_JUMP_BYTES])
{
    uint8_t there[PLAN_JUMP_BYTES];
    return pread(memory_fd, there, sizeof there, (off_t)at) == sizeof there &&
           !memcmp(there, bytes, sizeof there);
}

static struct inject_changed change_at(uint64_t address)
{
    struct inject_changed changed = {.address = address};
    memcpy(changed.jump, jump, sizeof changed.jump);
    memcpy(changed.original, original, sizeof changed.original);
    return changed;
}

/* Several in a page, one over the end of it, and one in another page. */
static void test_restored(void)
{
    static const uint64_t sites[] = {3 * PAGE, PAGE - 2, 16, PAGE - 20, 400};
    enum { SITES = sizeof sites / sizeof *sites };
    struct inject_changes changes = {0};
    const int memory_fd = memfd_create("memory", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(memory_fd, BYTES), 0);
    for (size_t i = 0; i < SITES; i++) {
        put(memory_fd, sites[i], jump);
        CU_ASSERT_EQUAL(sprof_vec_push(&changes, change_at(sites[i])), 0);
    }
    inject_changes_sort(&changes);
    for (size_t i = 1; i < SITES; i++)
        CU_ASSERT_TRUE(changes.items[i - 1].address < changes.items[i].address);
    CU_ASSERT_TRUE(inject_changes_restore(&changes, memory_fd));
    for (size_t i = 0; i < SITES; i++)
        CU_ASSERT_TRUE(has(memory_fd, sites[i], original));
    sprof_vec_release(&changes);
    close(memory_fd);
}

static void test_other_bytes_stay(void)
{
    static const uint8_t other[PLAN_JUMP_BYTES] = {0xe9, 9, 9, 9, 9};
    static const uint64_t sites[] = {32, 2 * PAGE - 3};
    struct inject_changes changes = {0};
    const int memory_fd = memfd_create("memory", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(memory_fd, BYTES), 0);
    for (size_t i = 0; i < 2; i++) {
        put(memory_fd, sites[i], other);
        CU_ASSERT_EQUAL(sprof_vec_push(&changes, change_at(sites[i])), 0);
    }
    inject_changes_sort(&changes);
    CU_ASSERT_TRUE(inject_changes_restore(&changes, memory_fd));
    CU_ASSERT_TRUE(has(memory_fd, sites[0], other));
    CU_ASSERT_TRUE(has(memory_fd, sites[1], other));
    sprof_vec_release(&changes);
    close(memory_fd);
}

/* Memory that can be read only, as of a process that has come under another user. */
static void test_refused(void)
{
    char path[64];
    struct inject_changes changes = {0};
    const int memory_fd = memfd_create("memory", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(memory_fd, BYTES), 0);
    put(memory_fd, 64, jump);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory_fd);
    const int read_fd = open(path, O_RDONLY | O_CLOEXEC);
    CU_ASSERT_EQUAL(sprof_vec_push(&changes, change_at(64)), 0);
    CU_ASSERT_FALSE(inject_changes_restore(&changes, read_fd));
    CU_ASSERT_TRUE(has(memory_fd, 64, jump));
    sprof_vec_release(&changes);
    close(read_fd);
    close(memory_fd);
}

void sprof_suite_inject_changes(void);
void sprof_suite_inject_changes(void)
{
    CU_pSuite suite = CU_add_suite("inject/changes", NULL, NULL);
    CU_add_test(suite, "restored", test_restored);
    CU_add_test(suite, "other bytes stay", test_other_bytes_stay);
    CU_add_test(suite, "refused", test_refused);
}
