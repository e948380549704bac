/* Opens sampling events and those that report mappings and forks. */
#include "sampler/perf/events.h"

#include "sampler/compat.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_open(struct perf_event_attr *attr, pid_t pid, int cpu, int output_fd)
{
    unsigned long flags = PERF_FLAG_FD_CLOEXEC;
    if (output_fd >= 0)
        flags |= PERF_FLAG_FD_OUTPUT | PERF_FLAG_FD_NO_GROUP;
    const long fd = syscall(SYS_perf_event_open, attr, pid, cpu, output_fd, flags);
    return fd < 0 ? -errno : (int)fd;
}

/* The youngest flags first (the kernel that brought each). Each returns whether it was set. */
static bool drop_lost(struct perf_event_attr *attr) /* 6.0 */
{
    const bool was = attr->read_format & PERF_FORMAT_LOST;
    attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
    return was;
}

static bool drop_build_id(struct perf_event_attr *attr) /* 5.12 */
{
    const bool was = SPROF_PERF_BUILD_ID(attr);
    SPROF_PERF_BUILD_ID(attr) = 0;
    return was;
}

static bool drop_comm_exec(struct perf_event_attr *attr) /* 3.16 */
{
    const bool was = attr->comm_exec;
    attr->comm_exec = 0;
    return was;
}

static bool (*const droppable[])(struct perf_event_attr *) = {drop_lost, drop_build_id,
                                                              drop_comm_exec};

int perf_open_dropping(struct perf_event_attr *attr, pid_t pid, int cpu, int output_fd)
{
    int fd = perf_open(attr, pid, cpu, output_fd);
    for (size_t i = 0; i < sizeof droppable / sizeof *droppable; i++) {
        if (fd != -EINVAL && fd != -E2BIG)
            break;
        if (droppable[i](attr))
            fd = perf_open(attr, pid, cpu, output_fd);
    }
    return fd;
}

uint64_t perf_event_id(int fd)
{
    uint64_t id = 0;
    return ioctl(fd, PERF_EVENT_IOC_ID, &id) ? 0 : id;
}

uint64_t perf_event_count(int fd)
{
    uint64_t value = 0;
    return read(fd, &value, sizeof value) == (ssize_t)sizeof value ? value : 0;
}

bool perf_event_lost(int fd, uint64_t *lost)
{
    uint64_t value_and_lost[2];
    if (read(fd, value_and_lost, sizeof value_and_lost) != (ssize_t)sizeof value_and_lost)
        return false;
    *lost = value_and_lost[1];
    return true;
}

int perf_event_set_period(int fd, uint64_t period)
{
    return ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) ? -errno : 0;
}

void perf_event_enable(int fd)
{
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

void perf_event_disable(int fd)
{
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
}
