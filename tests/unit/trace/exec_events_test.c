/* Events of execve, from messages that the test writes as the kernel does, and from the kernel. */
#include "trace/exec_events.h"

#include <CUnit/CUnit.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    HEADERS = sizeof(struct nlmsghdr) + sizeof(struct cn_msg),
    MESSAGE = HEADERS + sizeof(struct proc_event),
};

struct message {
    struct nlmsghdr header;
    struct cb_id id;
    struct proc_event event;
};

static struct message message_of(uint32_t what, pid_t pid)
{
    struct message message;
    memset(&message, 0, sizeof message);
    message.header.nlmsg_len = MESSAGE;
    message.header.nlmsg_type = NLMSG_DONE;
    message.id.idx = CN_IDX_PROC;
    message.id.val = CN_VAL_PROC;
    memcpy(&message.event, &what, sizeof what);
    message.event.event_data.exec.process_tgid = pid;
    return message;
}

/* A socket as that of the kernel's events, at whose other end the test writes. */
static struct trace_exec_events begin(int *kernel)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    *kernel = ends[1];
    return (struct trace_exec_events){.fd = ends[0]};
}

/* As it lies in a message, where the parts follow each other without room between them. */
static void write_message(int kernel, const struct message *message, size_t size)
{
    const struct cn_msg connector = {.id = message->id, .len = sizeof message->event};
    unsigned char bytes[MESSAGE];
    memcpy(bytes, &message->header, sizeof message->header);
    memcpy(bytes + sizeof message->header, &connector, sizeof connector);
    memcpy(bytes + HEADERS, &message->event, sizeof message->event);
    CU_ASSERT_EQUAL(send(kernel, bytes, size, 0), (ssize_t)size);
}

static void test_next(void)
{
    int kernel;
    struct trace_exec_events events = begin(&kernel);
    const struct message fork = message_of(PROC_EVENT_FORK, 7),
                         first = message_of(PROC_EVENT_EXEC, 41),
                         exit = message_of(PROC_EVENT_EXIT, 8),
                         second = message_of(PROC_EVENT_EXEC, 42);
    pid_t pid = 0;
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), 1); /* none yet, without waiting */
    write_message(kernel, &fork, MESSAGE);
    write_message(kernel, &first, MESSAGE);
    write_message(kernel, &exit, MESSAGE);
    write_message(kernel, &second, MESSAGE);
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), 0);
    CU_ASSERT_EQUAL(pid, 41);
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), 0);
    CU_ASSERT_EQUAL(pid, 42);
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), 1);
    CU_ASSERT_EQUAL(pid, 42);
    CU_ASSERT_EQUAL(events.lost, 0);
    close(kernel);
    trace_exec_events_close(&events);
    CU_ASSERT_EQUAL(events.fd, -1);
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), SPROF_EIO);
    trace_exec_events_close(&events); /* twice is once */
}

/* What is no event of processes is dropped, and what follows it is read. */
static void test_damaged(void)
{
    enum { CASES = 6 };
    int kernel;
    struct trace_exec_events events = begin(&kernel);
    const struct message good = message_of(PROC_EVENT_EXEC, 42);
    struct message cases[CASES];
    size_t sizes[CASES];
    pid_t pid = 0;
    for (int i = 0; i < CASES; i++) {
        cases[i] = message_of(PROC_EVENT_EXEC, 13);
        sizes[i] = MESSAGE;
    }
    cases[0].header.nlmsg_type = NLMSG_ERROR;
    cases[1].id.idx = CN_IDX_PROC + 1;
    cases[2].id.val = CN_VAL_PROC + 1;
    cases[3].header.nlmsg_len = MESSAGE + 1; /* it is cut off */
    sizes[4] = HEADERS + 3;                  /* without all of its kind */
    sizes[5] = 1;
    for (int i = 0; i < CASES; i++)
        write_message(kernel, &cases[i], sizes[i]);
    write_message(kernel, &good, MESSAGE);
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), 0);
    CU_ASSERT_EQUAL(pid, 42);
    CU_ASSERT_EQUAL(trace_exec_events_next(&events, &pid), 1);
    close(kernel);
    trace_exec_events_close(&events);
}

/* The kernel's own, where it has them and the user may read them. */
static void test_kernel(void)
{
    struct trace_exec_events events;
    struct sprof_error error = {0};
    const int result = trace_exec_events_open(&events, &error);
    if (result) {
        CU_ASSERT(result == SPROF_EPERMISSION || result == SPROF_EUNSUPPORTED);
        CU_ASSERT(*error.message && events.fd == -1);
        return;
    }
    pid_t seen = 0;
    const pid_t child = fork();
    if (!child) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 20000 && seen != child; i++)
        if (trace_exec_events_next(&events, &seen) == 1)
            usleep(1000);
    CU_ASSERT_EQUAL(seen, child);
    trace_exec_events_close(&events);
}

void sprof_suite_trace_exec_events(void);

void sprof_suite_trace_exec_events(void)
{
    CU_pSuite suite = CU_add_suite("trace/exec_events", NULL, NULL);
    CU_add_test(suite, "the next event", test_next);
    CU_add_test(suite, "damaged messages", test_damaged);
    CU_add_test(suite, "the kernel's", test_kernel);
}
