#include "target/snapshot.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <unistd.h>

static void test_maps_are_read(void)
{
    char maps[] =
        "55e000-55f000 r--p 00000000 fe:01 1234                       /usr/bin/a b\n"
        "55f000-563000 r-xp 00001000 fe:01 1234                       /usr/bin/a b (deleted)\n"
        "7f0000-7f1000 rwxp 00000000 00:00 0 \n"
        "7ffe00-7ffe02 r-xp 00000000 00:00 0                          [vdso]\n";
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_maps(&snapshot, 42, 7, maps), 0);
    CU_ASSERT_EQUAL_FATAL(snapshot.records.count, 3);
    const struct model_record *record = target_snapshot_next(&snapshot);
    CU_ASSERT_TRUE(record->before_start);
    CU_ASSERT_EQUAL(record->type, MODEL_RECORD_MMAP);
    CU_ASSERT_EQUAL(record->pid, 42);
    CU_ASSERT_EQUAL(record->time_ns, 7);
    CU_ASSERT_EQUAL(record->mapping.address, 0x55f000);
    CU_ASSERT_EQUAL(record->mapping.size, 0x4000);
    CU_ASSERT_EQUAL(record->mapping.file_offset, 0x1000);
    CU_ASSERT_EQUAL(record->mapping.file.device_major, 0xfe);
    CU_ASSERT_EQUAL(record->mapping.file.inode, 1234);
    CU_ASSERT_STRING_EQUAL(record->mapping.file.path, "/usr/bin/a b (deleted)");
    CU_ASSERT_STRING_EQUAL(target_snapshot_next(&snapshot)->mapping.file.path, "//anon");
    CU_ASSERT_STRING_EQUAL(target_snapshot_next(&snapshot)->mapping.file.path, "[vdso]");
    CU_ASSERT_PTR_NULL(target_snapshot_next(&snapshot));
    target_snapshot_release(&snapshot);
}

static void test_strange_lines_are_passed_over(void)
{
    char maps[] = "\n-\nx-y r-xp 0 0:0 0 \n2000-1000 r-xp 0 0:0 0 /backwards\n"
                  "1000-2000 r-xp\n1000-2000 rx 0 00:00 0 \n"
                  "1000-2000 r-xp 0 00:00 0 /good";
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_maps(&snapshot, 42, 7, maps), 0);
    CU_ASSERT_EQUAL_FATAL(snapshot.records.count, 1);
    CU_ASSERT_STRING_EQUAL(snapshot.records.items[0].mapping.file.path, "/good");
    target_snapshot_release(&snapshot);
}

static void test_own_process(void)
{
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_process(&snapshot, getpid(), 7), 0);
    unsigned forks = 0, names = 0, here = 0;
    const uint64_t address = (uint64_t)(uintptr_t)test_own_process;
    for (const struct model_record *record; (record = target_snapshot_next(&snapshot));) {
        forks += record->type == MODEL_RECORD_FORK && record->fork.parent_pid == getppid();
        names +=
            record->type == MODEL_RECORD_COMM && !strncmp(record->comm.name, "unit_target", 11);
        here += record->type == MODEL_RECORD_MMAP &&
                address - record->mapping.address < record->mapping.size;
    }
    CU_ASSERT_EQUAL(forks, 1);
    CU_ASSERT_EQUAL(names, 1);
    CU_ASSERT_EQUAL(here, 1);
    target_snapshot_release(&snapshot);
}

static void test_a_process_that_is_gone_is_nothing(void)
{
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_process(&snapshot, 0x3fffffff, 7), 0);
    CU_ASSERT_EQUAL(snapshot.records.count, 0);
    target_snapshot_release(&snapshot);
}

void sprof_suite_target_snapshot(void);
void sprof_suite_target_snapshot(void)
{
    CU_pSuite suite = CU_add_suite("target/snapshot", NULL, NULL);
    CU_add_test(suite, "maps are read", test_maps_are_read);
    CU_add_test(suite, "strange lines are passed over", test_strange_lines_are_passed_over);
    CU_add_test(suite, "the own process", test_own_process);
    CU_add_test(suite, "a process that is gone", test_a_process_that_is_gone_is_nothing);
}
