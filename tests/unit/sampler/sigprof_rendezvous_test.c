/* Agents that call: at once, late, and never. */
#include "sampler/agent/rendezvous.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int call(const struct sigprof_rendezvous *rendezvous)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, rendezvous->path);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void say(int fd, uint32_t version)
{
    const struct agent_hello hello = {.magic = AGENT_MAGIC, .version = version, .tick_ns = 77};
    CU_ASSERT_EQUAL(send(fd, &hello, sizeof hello, MSG_NOSIGNAL), (ssize_t)sizeof hello);
}

static bool accepts(struct sigprof_rendezvous *rendezvous)
{
    struct sigprof_caller caller;
    if (!sigprof_rendezvous_accept(rendezvous, &caller))
        return false;
    CU_ASSERT_EQUAL(caller.pid, getpid());
    CU_ASSERT_EQUAL(caller.hello.tick_ns, 77);
    close(caller.fd);
    return true;
}

/* Connected is not yet said: on a busy machine much time passes in between. */
static void test_late_hello(void)
{
    struct sigprof_rendezvous rendezvous = SIGPROF_RENDEZVOUS_NONE;
    struct sprof_error error;
    CU_ASSERT_EQUAL_FATAL(sigprof_rendezvous_open(&rendezvous, &error), 0);
    CU_ASSERT_FALSE(accepts(&rendezvous));
    const int slow = call(&rendezvous), quick = call(&rendezvous);
    CU_ASSERT_FALSE(accepts(&rendezvous));
    CU_ASSERT_EQUAL(rendezvous.silent_count, 2);
    say(quick, AGENT_VERSION);
    CU_ASSERT_TRUE(accepts(&rendezvous));
    CU_ASSERT_FALSE(accepts(&rendezvous));
    say(slow, AGENT_VERSION);
    CU_ASSERT_TRUE(accepts(&rendezvous));
    CU_ASSERT_EQUAL(rendezvous.silent_count, 0);
    close(slow);
    close(quick);
    sigprof_rendezvous_close(&rendezvous);
}

/* Who speaks another language, or goes without a word, is let go; so is, of very many who are
 * silent, who has been so the longest. */
static void test_strangers(void)
{
    struct sigprof_rendezvous rendezvous = SIGPROF_RENDEZVOUS_NONE;
    struct sprof_error error;
    int fds[SIGPROF_SILENT_MAX + 10];
    CU_ASSERT_EQUAL_FATAL(sigprof_rendezvous_open(&rendezvous, &error), 0);
    const int other = call(&rendezvous);
    say(other, AGENT_VERSION + 1);
    close(call(&rendezvous));
    CU_ASSERT_FALSE(accepts(&rendezvous));
    CU_ASSERT_EQUAL(rendezvous.silent_count, 0);
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
        fds[i] = call(&rendezvous);
        CU_ASSERT_FALSE(accepts(&rendezvous));
    }
    CU_ASSERT_EQUAL(rendezvous.silent_count, SIGPROF_SILENT_MAX);
    say(fds[SIGPROF_SILENT_MAX], AGENT_VERSION);
    CU_ASSERT_TRUE(accepts(&rendezvous));
    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        close(fds[i]);
    close(other);
    sigprof_rendezvous_close(&rendezvous);
}

void sprof_suite_sampler_sigprof_rendezvous(void);

void sprof_suite_sampler_sigprof_rendezvous(void)
{
    CU_pSuite suite = CU_add_suite("sampler/sigprof_rendezvous", NULL, NULL);
    CU_ADD_TEST(suite, test_late_hello);
    CU_ADD_TEST(suite, test_strangers);
}
