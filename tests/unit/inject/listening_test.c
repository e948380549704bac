/* A process that listens: the test is both, the agent at its socket and the tracer. */
#include "inject/inject.h"
#include "inject/listening.h"
#include "inject/lock.h"
#include "tests/unit/inject/child.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Listens where the agent of a process would. */
static int listen_as(pid_t pid)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s%d",
                                PROBE_LISTENS, (int)pid);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(
        bind(fd, (const struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)),
        0);
    CU_ASSERT_EQUAL_FATAL(listen(fd, 4), 0);
    return fd;
}

/* A process that is the tracer's, and its agent's end of the connection. */
struct met {
    struct inject_process process;
    int listener, agent;
};

static void connect_to_own(struct met *met)
{
    struct sprof_error error = {0};
    *met = (struct met){.process = INJECT_PROCESS_NONE};
    met->process.pid = getpid();
    met->listener = listen_as(getpid());
    CU_ASSERT_EQUAL_FATAL(
        inject_listening_connect(getpid(), &met->process.agent_fd, &met->process.lock_fd, &error),
        1);
    met->agent = accept(met->listener, NULL, NULL);
    CU_ASSERT_FATAL(met->agent >= 0);
}

static void end(struct met *met)
{
    if (met->agent >= 0)
        close(met->agent);
    close(met->listener);
    inject_process_release(&met->process);
}

static void test_none_listens(void)
{
    struct sprof_error error = {0};
    int agent_fd = -1, lock_fd = -1;
    CU_ASSERT_FALSE(inject_listens(getpid()));
    CU_ASSERT_EQUAL(inject_listening_connect(getpid(), &agent_fd, &lock_fd, &error), 0);
    CU_ASSERT_EQUAL(agent_fd, -1);
}

/* Any process may take the name of another one; it is not believed. */
static void test_name_of_another(void)
{
    struct sprof_error error = {0};
    int agent_fd = -1, lock_fd = -1;
    struct child child = child_make(NULL);
    child_wait(&child, 1);
    const int listener = listen_as(child.pid);
    CU_ASSERT_FALSE(inject_listens(child.pid));
    CU_ASSERT_EQUAL(inject_listening_connect(child.pid, &agent_fd, &lock_fd, &error), 0);
    CU_ASSERT_EQUAL(agent_fd, -1);
    CU_ASSERT_EQUAL(lock_fd, -1);
    close(listener);
    CU_ASSERT_EQUAL(child_end(&child), 9);
}

/* The connection holds the lock of the process. */
static void test_connected(void)
{
    struct met met;
    int second = -1;
    connect_to_own(&met);
    CU_ASSERT_TRUE(inject_listens(getpid()));
    CU_ASSERT_FALSE(inject_lock_soon(getpid(), &second));
    end(&met);
    CU_ASSERT_TRUE(inject_lock_soon(getpid(), &second));
    close(second);
}

/* With the hello comes a descriptor of the process's memory. */
static void test_hello(void)
{
    static const char text[] = "there";
    char copy[sizeof text] = "";
    struct met met;
    struct sprof_error error = {0};
    connect_to_own(&met);
    const struct probe_hello hello = {
        .magic = PROBE_MAGIC, .version = PROBE_VERSION, .pid = (uint32_t)getpid()};
    const int memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(sprof_message_send(met.agent, &hello, sizeof hello, memory_fd, 0));
    close(memory_fd);
    CU_ASSERT_EQUAL(inject_listening_meet(&met.process, &error), 0);
    CU_ASSERT_EQUAL(met.process.hello.pid, hello.pid);
    CU_ASSERT_EQUAL(pread(met.process.code_fd, copy, sizeof copy, (off_t)(uintptr_t)text),
                    sizeof copy);
    CU_ASSERT_STRING_EQUAL(copy, text);
    end(&met);
}

/* A descriptor of something else is closed, and the memory is opened by its own name. */
static void test_foreign_descriptor(void)
{
    struct met met;
    struct sprof_error error = {0};
    char byte, own = 'm';
    connect_to_own(&met);
    const struct probe_hello hello = {.magic = PROBE_MAGIC, .version = PROBE_VERSION};
    const int foreign = open("/dev/zero", O_RDWR | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(sprof_message_send(met.agent, &hello, sizeof hello, foreign, 0));
    close(foreign);
    CU_ASSERT_EQUAL(inject_listening_meet(&met.process, &error), 0);
    CU_ASSERT_EQUAL(pread(met.process.code_fd, &byte, 1, (off_t)(uintptr_t)&own), 1);
    CU_ASSERT_EQUAL(byte, 'm');
    end(&met);
}

static void test_wrong_hello(void)
{
    struct met met;
    struct sprof_error error = {0};
    connect_to_own(&met);
    const struct probe_hello other = {.magic = PROBE_MAGIC, .version = PROBE_VERSION + 1};
    const int memory_fd = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(sprof_message_send(met.agent, &other, sizeof other, memory_fd, 0));
    CU_ASSERT_EQUAL(inject_listening_meet(&met.process, &error), SPROF_EUNSUPPORTED);
    end(&met);
    connect_to_own(&met);
    CU_ASSERT_TRUE_FATAL(sprof_message_send(met.agent, &other, 8, memory_fd, 0));
    CU_ASSERT_EQUAL(inject_listening_meet(&met.process, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "does not answer"));
    close(memory_fd);
    end(&met);
}

static void test_go(void)
{
    struct met met;
    struct probe_request request = {0};
    const struct probe_answer answer = {0};
    struct sprof_error error = {0};
    connect_to_own(&met);
    CU_ASSERT_EQUAL(send(met.agent, &answer, sizeof answer, 0), sizeof answer);
    CU_ASSERT_EQUAL(inject_listening_go(&met.process, &error), 0);
    CU_ASSERT_EQUAL(recv(met.agent, &request, sizeof request, 0), sizeof request);
    CU_ASSERT_EQUAL(request.kind, PROBE_GO);
    close(met.agent);
    met.agent = -1;
    CU_ASSERT_EQUAL(inject_listening_go(&met.process, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "is gone"));
    end(&met);
}

void sprof_suite_inject_listening(void);

void sprof_suite_inject_listening(void)
{
    CU_pSuite suite = CU_add_suite("inject/listening", NULL, NULL);
    CU_add_test(suite, "no process listens", test_none_listens);
    CU_add_test(suite, "the name of another process", test_name_of_another);
    CU_add_test(suite, "connected", test_connected);
    CU_add_test(suite, "the hello", test_hello);
    CU_add_test(suite, "a descriptor of something else", test_foreign_descriptor);
    CU_add_test(suite, "a hello that is wrong", test_wrong_hello);
    CU_add_test(suite, "go", test_go);
}
