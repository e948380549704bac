/* Waits for all sources of a sampler, the end of its targets and an interruption at once. */
#include "sampler/session.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

enum {
    TARGET_CHECK_NS = 200000000, /* where the end of a target cannot be waited for */
    NS_PER_MS = 1000000,
};

static int add_poll(struct source_wait *wait, int fd)
{
    return sprof_vec_push(&wait->polls, ((struct pollfd){.fd = fd, .events = POLLIN}));
}

static void look_until(struct source_wait *wait, uint64_t time_ns)
{
    if (time_ns < wait->deadline_ns)
        wait->deadline_ns = time_ns;
}

/* The interruption and the caller's descriptors stand first, then the targets' ends. */
static int add_own(struct sampler *sampler, uint64_t now_ns, int extra_fd)
{
    struct source_wait *wait = &sampler->wait;
    if (add_poll(wait, sampler->interrupt_fd) || add_poll(wait, extra_fd) ||
        add_poll(wait, sampler->watched_fd))
        return SPROF_ENOMEM;
    const size_t first = wait->polls.count;
    for (size_t i = 0; i < target_poll_count(sampler->target); i++)
        if (add_poll(wait, -1))
            return SPROF_ENOMEM;
    bool blind;
    target_polls(sampler->target, wait->polls.items + first, &blind);
    if (blind)
        look_until(wait, now_ns + TARGET_CHECK_NS);
    return 0;
}

/* Sleeps until something polled is ready, or until `deadline_ns`. */
static int sleep_on(struct sampler *sampler, uint64_t now_ns)
{
    struct source_wait *wait = &sampler->wait;
    const uint64_t sleep_ns = wait->deadline_ns > now_ns ? wait->deadline_ns - now_ns : 0;
    const struct timespec timeout = {.tv_sec = (time_t)(sleep_ns / 1000000000),
                                     .tv_nsec = (long)(sleep_ns % 1000000000)};
    const bool for_ever = wait->deadline_ns == UINT64_MAX;
    const int ready = ppoll(wait->polls.items, wait->polls.count, for_ever ? NULL : &timeout, NULL);
    uint64_t count;
    if (ready > 0 && wait->polls.items[0].revents &&
        read(sampler->interrupt_fd, &count, sizeof count) < 0)
        return SPROF_EIO;
    if (ready >= 0)
        return 0;
    for (size_t i = 0; i < wait->polls.count; i++) /* as poll(2) left them: not to be read */
        wait->polls.items[i].revents = 0;
    return errno == EINTR ? 0 : SPROF_EIO;
}

int sampler_wait(struct sampler *sampler, int timeout_ms, int extra_fd)
{
    struct source_wait *wait = &sampler->wait;
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    const uint64_t timeout_ns = timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * NS_PER_MS;
    wait->polls.count = 0;
    wait->deadline_ns = timeout_ms < 0 ? UINT64_MAX : before_ns + timeout_ns;
    int result = add_own(sampler, before_ns, extra_fd);
    if (sampler->held) /* its source must not give back the room it is in */
        return result ? result : sleep_on(sampler, before_ns);
    if (sampler->initial.next < sampler->initial.records.count)
        wait->deadline_ns = 0;
    size_t first = wait->polls.count;
    for (size_t i = 0; !result && i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        const size_t before = wait->polls.count;
        result = source->kind->wait_for(source, before_ns, wait);
        source->poll_count = wait->polls.count - before;
    }
    if (!result)
        result = sleep_on(sampler, before_ns);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    for (size_t i = 0; !result && i < sampler->sources.count; i++) {
        struct source *source = sampler->sources.items[i];
        result = source->kind->look(source, now_ns, wait->polls.items + first, source->poll_count);
        first += source->poll_count;
    }
    return result;
}
