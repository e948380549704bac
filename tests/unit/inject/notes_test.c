/* The notes of a tracer in shared memory are found from outside: here this process is both. */
#include "inject/inject.h"

#include <CUnit/CUnit.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void map_shared(struct inject_process *process)
{
    *process = INJECT_PROCESS_NONE;
    process->pid = getpid();
    process->hello = (struct probe_hello){.magic = PROBE_MAGIC, .version = PROBE_VERSION};
    process->shared_bytes = sizeof *process->shared;
    process->memory_fd = memfd_create(PROBE_MEMORY_NAME, MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(process->memory_fd, (off_t)process->shared_bytes), 0);
    process->shared = mmap(NULL, process->shared_bytes, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_NORESERVE, process->memory_fd, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(process->shared, MAP_FAILED);
    process->shared->function_count = 3;
}

static void test_owner(void)
{
    struct inject_process process;
    struct probe_owner owner;
    char directory[PATH_MAX], wanted[PATH_MAX + 16];
    uint32_t functions = 0;
    map_shared(&process);
    CU_ASSERT_FALSE(inject_owner_read(getpid(), &owner, &functions)); /* no note yet */
    inject_owner_write(&process, "calls.db", false);
    CU_ASSERT_TRUE_FATAL(inject_owner_read(getpid(), &owner, &functions));
    CU_ASSERT_EQUAL(owner.pid, (uint32_t)getpid());
    CU_ASSERT_EQUAL(owner.shared_at, (uint64_t)(uintptr_t)process.shared);
    CU_ASSERT_EQUAL(functions, 3);
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(directory, sizeof directory));
    snprintf(wanted, sizeof wanted, "%s/calls.db", directory);
    CU_ASSERT_STRING_EQUAL(owner.output, wanted);
    CU_ASSERT_FALSE(inject_is_over(getpid()));
    CU_ASSERT_FALSE(inject_is_with_others(getpid(), wanted));
    inject_owner_write(&process, "/tmp/calls.db", true);
    CU_ASSERT_TRUE(inject_is_with_others(getpid(), "/tmp/calls.db"));
    CU_ASSERT_FALSE(inject_is_with_others(getpid(), wanted));
    process.shared->owner.is_ending = 1;
    CU_ASSERT_TRUE(inject_is_over(getpid()));
    inject_process_release(&process);
    CU_ASSERT_FALSE(inject_owner_read(getpid(), &owner, &functions));
}

static void test_islands(void)
{
    struct inject_process process;
    struct probe_owner owner;
    map_shared(&process);
    inject_owner_write(&process, "calls.db", false);
    inject_owner_add_island(&process, 0x1000, 0x2000);
    inject_owner_add_island(&process, 0x9000, 0x1000);
    inject_owner_drop_island(&process, 0x1000); /* not the last one */
    CU_ASSERT_TRUE_FATAL(inject_owner_read(getpid(), &owner, NULL));
    CU_ASSERT_EQUAL(owner.island_count, 2);
    inject_owner_drop_island(&process, 0x9000);
    CU_ASSERT_TRUE_FATAL(inject_owner_read(getpid(), &owner, NULL));
    CU_ASSERT_EQUAL(owner.island_count, 1);
    CU_ASSERT_EQUAL(owner.islands[0].address, 0x1000);
    CU_ASSERT_EQUAL(owner.islands[0].bytes, 0x2000);
    for (uint64_t i = 0; i < PROBE_ISLANDS + 8; i++)
        inject_owner_add_island(&process, 0x10000 + i * 0x1000, 0x1000);
    CU_ASSERT_EQUAL(process.shared->owner.island_count, PROBE_ISLANDS);
    process.shared->owner.island_count = UINT32_MAX; /* as a hostile process may write */
    inject_owner_add_island(&process, 0x5000, 0x1000);
    CU_ASSERT_TRUE_FATAL(inject_owner_read(getpid(), &owner, NULL));
    CU_ASSERT_EQUAL(owner.island_count, PROBE_ISLANDS);
    inject_process_release(&process);
}

static void test_other_version(void)
{
    struct inject_process process;
    struct probe_owner owner;
    struct sprof_error error = {0};
    map_shared(&process);
    CU_ASSERT_EQUAL(inject_owner_check_version(getpid(), &error), SPROF_EUNSUPPORTED);
    process.hello.version = PROBE_VERSION + 1;
    inject_owner_write(&process, "calls.db", false);
    CU_ASSERT_FALSE(inject_owner_read(getpid(), &owner, NULL));
    CU_ASSERT_EQUAL(inject_owner_check_version(getpid(), &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another version"));
    process.hello.version = PROBE_VERSION;
    inject_owner_write(&process, "calls.db", false);
    CU_ASSERT_EQUAL(inject_owner_check_version(getpid(), &error), 0);
    inject_process_release(&process);
}

/* A lock that is held is not given again, and is free once its descriptor is closed. */
static void test_lock(void)
{
    struct sprof_error error = {0};
    int fd = -1, second = -1;
    CU_ASSERT_EQUAL_FATAL(inject_lock(getpid(), &fd, &error), 0);
    CU_ASSERT_FALSE(inject_lock_is_stale(getpid(), fd));
    CU_ASSERT_FALSE(inject_lock_soon(getpid(), &second));
    CU_ASSERT_EQUAL(second, -1);
    close(fd);
    CU_ASSERT_TRUE(inject_lock_soon(getpid(), &second));
    close(second);
}

void sprof_suite_inject_notes(void);
void sprof_suite_inject_notes(void)
{
    CU_pSuite suite = CU_add_suite("inject/notes", NULL, NULL);
    CU_add_test(suite, "owner", test_owner);
    CU_add_test(suite, "islands", test_islands);
    CU_add_test(suite, "other version", test_other_version);
    CU_add_test(suite, "lock", test_lock);
}
