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

static int descriptors(void)
{
    int count = 0;
    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Of a peer that sends more than it may, nothing stays open. */
static void test_several_descriptors_are_refused(void)
{
    int ends[2], fd = 0;
    char got[6] = "hello";
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(3 * sizeof(int))];
    } control;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    const int sent[3] = {ends[0], ends[0], ends[0]}, before = descriptors();
    for (size_t count = 2; count <= 3; count++) {
        struct iovec vector = {got, sizeof got};
        const struct msghdr message = {.msg_iov = &vector,
                                       .msg_iovlen = 1,
                                       .msg_control = &control,
                                       .msg_controllen = CMSG_SPACE(count * sizeof *sent)};
        control.header = (struct cmsghdr){CMSG_LEN(count * sizeof *sent), SOL_SOCKET, SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), sent, count * sizeof *sent);
        CU_ASSERT_EQUAL(sendmsg(ends[0], &message, 0), (ssize_t)sizeof got);
        CU_ASSERT_FALSE(sprof_message_receive(ends[1], got, sizeof got, &fd));
        CU_ASSERT_EQUAL(fd, -1);
        CU_ASSERT_EQUAL(descriptors(), before);
    }
    CU_ASSERT_TRUE(sprof_message_send(ends[0], "longer", 7, -1, 0));
    CU_ASSERT_FALSE(sprof_message_receive(ends[1], got, sizeof got, &fd));
    close(ends[0]);
    close(ends[1]);
}

void sprof_suite_base_message(void);
void sprof_suite_base_message(void)
{
    CU_pSuite suite = CU_add_suite("base/message", NULL, NULL);
    CU_add_test(suite, "a descriptor comes along", test_a_descriptor_comes_along);
    CU_add_test(suite, "other messages are refused", test_other_messages_are_refused);
    CU_add_test(suite, "several descriptors are refused", test_several_descriptors_are_refused);
}
