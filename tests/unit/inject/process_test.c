/* A process: its memory, and the hello of its agent. */
#include "inject/inject.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_spans(void)
{
    const struct inject_span span = {100, 200};
    CU_ASSERT_TRUE(inject_span_holds(&span, 100));
    CU_ASSERT_TRUE(inject_span_holds(&span, 199));
    CU_ASSERT_FALSE(inject_span_holds(&span, 200));
    CU_ASSERT_FALSE(inject_span_holds(&span, 99));
    CU_ASSERT_FALSE(inject_span_holds(&(struct inject_span){0}, 0));
}

static int hello_with(uint32_t version, uint32_t window_error, struct sprof_error *error)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    process.pid = 17;
    process.hello = (struct probe_hello){.magic = PROBE_MAGIC, .version = version};
    process.hello.window_error = (typeof(process.hello.window_error))window_error;
    return inject_hello_check(&process, error);
}

static void test_hello(void)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(hello_with(PROBE_VERSION, 0, &error), 0);
    CU_ASSERT_EQUAL(hello_with(PROBE_VERSION + 1, 0, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "another version"));
    CU_ASSERT_EQUAL(hello_with(PROBE_VERSION, EEXIST, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "process 17"));
    CU_ASSERT_EQUAL(hello_with(PROBE_VERSION, ENOMEM, &error), SPROF_ELIMIT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "ulimit -v"));
}

/* An ended process that its parent has not reaped has no memory. */
static void test_memory(void)
{
    static const char text[] = "there";
    char copy[sizeof text] = "";
    struct sprof_error error = {0};
    int fd = 5;
    CU_ASSERT_EQUAL(inject_memory_open(getpid(), &fd, &error), 0);
    CU_ASSERT_EQUAL(pread(fd, copy, sizeof copy, (off_t)(uintptr_t)text), sizeof copy);
    CU_ASSERT_STRING_EQUAL(copy, text);
    CU_ASSERT_FALSE(inject_memory_is_gone(getpid()));
    close(fd);
    const pid_t child = fork();
    if (!child)
        _exit(0);
    siginfo_t ended;
    CU_ASSERT_EQUAL(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    CU_ASSERT_TRUE(inject_memory_is_gone(child));
    waitpid(child, NULL, 0);
    CU_ASSERT_EQUAL(inject_memory_open(child, &fd, &error), SPROF_ENOTFOUND);
    CU_ASSERT_EQUAL(fd, -1);
}

static void test_released(void)
{
    struct inject_process process = INJECT_PROCESS_NONE;
    inject_process_release(&process);
    process.memory_fd = memfd_create("memory", MFD_CLOEXEC);
    process.shared_bytes = PROBE_PAGE;
    CU_ASSERT_EQUAL_FATAL(ftruncate(process.memory_fd, PROBE_PAGE), 0);
    process.shared =
        mmap(NULL, PROBE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, process.memory_fd, 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(process.shared, MAP_FAILED);
    inject_process_release(&process);
    CU_ASSERT_EQUAL(process.memory_fd, -1);
    CU_ASSERT_PTR_NULL(process.shared);
    inject_process_release(&process); /* again does nothing */
}

void sprof_suite_inject_process(void);
void sprof_suite_inject_process(void)
{
    CU_pSuite suite = CU_add_suite("inject/process", NULL, NULL);
    CU_add_test(suite, "spans", test_spans);
    CU_add_test(suite, "hello", test_hello);
    CU_add_test(suite, "memory", test_memory);
    CU_add_test(suite, "released", test_released);
}
