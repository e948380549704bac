#include "base/base.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_a_descriptor_comes_along(void)
{
    int ends[2], fd = -1;
    char got[6] = "";
    struct stat sent, received;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    const int null = open("/dev/null", O_RDONLY);
    CU_ASSERT_TRUE_FATAL(sprof_message_send(ends[0], "hello", 6, null, 0));
    CU_ASSERT_TRUE_FATAL(sprof_message_receive(ends[1], got, 6, &fd));
    CU_ASSERT_STRING_EQUAL(got, "hello");
    CU_ASSERT_TRUE_FATAL(fd >= 0 && fd != null);
    CU_ASSERT_EQUAL(fcntl(fd, F_GETFD), FD_CLOEXEC);
    CU_ASSERT_TRUE(!fstat(null, &sent) && !fstat(fd, &received) &&
                   sent.st_rdev == received.st_rdev);
    close(null);
    close(fd);
    close(ends[0]);
    close(ends[1]);
}

static void test_other_messages_are_refused(void)
{
    int ends[2], fd = 0;
    char got[6];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    CU_ASSERT_TRUE(sprof_message_send(ends[0], "short", 5, -1, 0));
    CU_ASSERT_FALSE(sprof_message_receive(ends[1], got, sizeof got, &fd));
    CU_ASSERT_EQUAL(fd, -1);
    close(ends[0]);
    CU_ASSERT_FALSE(sprof_message_receive(ends[1], got, sizeof got, &fd));
    CU_ASSERT_EQUAL(fd, -1);
    CU_ASSERT_FALSE(sprof_message_send(ends[1], "hello", 6, -1, 0)); /* and no SIGPIPE */
    close(ends[1]);
}

void sprof_suite_base_message(void);
void sprof_suite_base_message(void)
{
    CU_pSuite suite = CU_add_suite("base/message", NULL, NULL);
    CU_add_test(suite, "a descriptor comes along", test_a_descriptor_comes_along);
    CU_add_test(suite, "other messages are refused", test_other_messages_are_refused);
}
