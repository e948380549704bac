/* Descriptors that a process hands over as its new shared memory: only that is taken. */
#include "inject/attach.h"
#include "inject/attachment.h"
#include "inject/inject.h"
#include "tests/unit/inject/child.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum kind { NEW, FILLED, SEALED, READ_ONLY, FILE_ON_DISK, NOTHING, KINDS };

static enum kind kind;

static void make_memory(struct child_shared *shared)
{
    char path[] = "/tmp/sprof-shared-XXXXXX", link[64];
    int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (kind == FILLED && ftruncate(fd, 4096))
        _exit(1);
    if (kind == SEALED)
        fcntl(fd, F_ADD_SEALS, F_SEAL_GROW);
    if (kind == READ_ONLY) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        fd = open(link, O_RDONLY);
    }
    if (kind == FILE_ON_DISK) {
        fd = mkstemp(path);
        unlink(path);
    }
    shared->fd = kind == NOTHING ? 987 : fd;
}

static void test_copy(void)
{
    for (kind = NEW; kind < KINDS; kind++) {
        struct inject_process process = INJECT_PROCESS_NONE;
        struct sprof_error error = {0};
        struct child child = child_make(make_memory);
        child_wait(&child, 1);
        process.pid = child.pid;
        const int result = inject_memory_copy(&process, child.shared->fd, &error);
        CU_ASSERT_EQUAL(result, kind == NEW ? 0 : SPROF_EPERMISSION);
        if (kind == NEW) {
            CU_ASSERT_EQUAL(ftruncate(process.memory_fd, 8192), 0);
            CU_ASSERT_TRUE(fcntl(process.memory_fd, F_GETFD) & FD_CLOEXEC);
        } else {
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "may be hostile"));
        }
        inject_process_release(&process);
        CU_ASSERT_EQUAL(child_end(&child), 9);
    }
}

static void test_copy_of_ended(void)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    struct sprof_error error = {0};
    struct child child = child_make(NULL);
    process.pid = child.pid;
    CU_ASSERT_EQUAL(child_end(&child), 9);
    CU_ASSERT_EQUAL(inject_memory_copy(&process, 3, &error), SPROF_ENOTFOUND);
    inject_process_release(&process);
}

/* The process can change nothing of a size that is sealed, and only that is used. */
static void test_seals(void)
{
    const int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fd, 8192), 0);
    CU_ASSERT_FALSE(inject_memory_is_sealed(fd, 8192));
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    CU_ASSERT_FALSE(inject_memory_is_sealed(fd, 8192)); /* seals could be added */
    fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
    CU_ASSERT_TRUE(inject_memory_is_sealed(fd, 8192));
    CU_ASSERT_FALSE(inject_memory_is_sealed(fd, 4096));
    close(fd);
    CU_ASSERT_FALSE(inject_memory_is_sealed(-1, 8192));
    const int written = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CU_ASSERT_EQUAL_FATAL(ftruncate(written, 4096), 0);
    fcntl(written, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL);
    CU_ASSERT_FALSE(inject_memory_is_sealed(written, 4096)); /* nothing could be written */
    close(written);
}

void sprof_suite_inject_shared_memory(void);

void sprof_suite_inject_shared_memory(void)
{
    CU_pSuite suite = CU_add_suite("inject/shared_memory", NULL, NULL);
    CU_add_test(suite, "descriptors", test_copy);
    CU_add_test(suite, "a process that has ended", test_copy_of_ended);
    CU_add_test(suite, "seals", test_seals);
}
