/* Waiting: for the first sign of work on the rings themselves, and while there is work, in naps
 * that let it gather. A wake-up for each record would cost more than reading it. */
#include "sampler/session.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

enum {
    /* A record is written some microseconds after its time was taken; what depends on another
     * record is written after it in any case, so this only keeps independent ones in order. */
    SLACK_NS = 500000,
    NAP_DEEP_NS = 1000000, /* the rest of deep stacks is read from live memory: be quick */
    LISTEN_HZ_MAX = 2000,  /* … and up to this rate, at once */
    NAP_STACK_NS = 4000000,
    NAP_PC_NS = 20000000,
    NAP_RING_FRACTION = 8,       /* of a ring may fill during a nap */
    THREAD_CHECK_NS = 200000000, /* where the end of a thread cannot be waited for */
    NS_PER_MS = 1000000,
};

uint64_t session_nap_ns(const struct sampler *sampler)
{
    const struct plan *plan = &sampler->plan;
    const uint64_t longest = plan->layout.has_stack ? NAP_STACK_NS : NAP_PC_NS;
    const uint64_t samples = sampler->merge.rings.items->size / NAP_RING_FRACTION /
                             plan_sample_bytes(plan, plan->stack_bytes);
    const uint64_t fill_ns = samples * UINT64_C(1000000000) / plan_samples_per_second(plan);
    return fill_ns < longest ? fill_ns : longest;
}

static size_t add_poll(struct sampler *sampler, size_t count, int fd)
{
    sampler->polls[count] = (struct pollfd){.fd = fd, .events = POLLIN};
    return count + 1;
}

static size_t fill_polls(struct sampler *sampler, int extra_fd, bool with_rings, uint64_t *check_ns)
{
    size_t count = add_poll(sampler, 0, sampler->interrupt_fd);
    count = add_poll(sampler, count, extra_fd);
    bool blind;
    count += target_polls(sampler->target, sampler->polls + count, &blind);
    *check_ns = blind ? THREAD_CHECK_NS : UINT64_MAX;
    for (size_t i = 0; with_rings && i < sampler->cpu_rings; i++)
        count = add_poll(sampler, count, sampler->merge.rings.items[i].fd);
    return count;
}

/* Whether each record must be looked at as it comes: what follows its slice is changing already. */
static bool listens(const struct sampler *sampler, uint64_t now_ns)
{
    return now_ns < sampler->deep_until_ns && !sampler->deaf &&
           plan_samples_per_second(&sampler->plan) <= LISTEN_HZ_MAX;
}

/* How long to sleep before the rings must be looked at; UINT64_MAX: until they wake us. */
static uint64_t rest_ns(const struct sampler *sampler, uint64_t now_ns, bool listening)
{
    uint64_t first_ns;
    if (sampler->busy && !listening) {
        const bool deep = now_ns < sampler->deep_until_ns && sampler->nap_ns > NAP_DEEP_NS;
        return deep ? NAP_DEEP_NS : sampler->nap_ns;
    }
    if (!merge_first(&sampler->merge, &first_ns))
        return sampler->deaf ? sampler->nap_ns : UINT64_MAX;
    const uint64_t ripe_ns = first_ns + (listening ? 2 * NAP_DEEP_NS : SLACK_NS);
    return ripe_ns > now_ns ? ripe_ns - now_ns : 0;
}

/* A ring whose CPU went offline, or whose owner was a thread that ended, is always "ready": then we
 * look at the rings from time to time instead of listening. */
static void notice_deafness(struct sampler *sampler, size_t count)
{
    for (size_t i = count - sampler->cpu_rings; i < count; i++)
        if (sampler->polls[i].revents & (POLLHUP | POLLERR | POLLNVAL))
            sampler->deaf = true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static struct timespec timeout_of(uint64_t sleep_ns)
{
    return (struct timespec){.tv_sec = (time_t)(sleep_ns / 1000000000),
                             .tv_nsec = (long)(sleep_ns % 1000000000)};
}

/* Sleeps until something polled is ready. Returns how many are, or a negative code. */
static int sleep_on(struct sampler *sampler, size_t count, uint64_t sleep_ns)
{
    const struct timespec timeout = timeout_of(sleep_ns);
    const int ready = ppoll(sampler->polls, count, sleep_ns == UINT64_MAX ? NULL : &timeout, NULL);
    uint64_t told;
    if (ready > 0 && sampler->polls->revents && read(sampler->interrupt_fd, &told, sizeof told) < 0)
        return SPROF_EIO;
    if (ready < 0)
        return errno == EINTR ? 0 : SPROF_EIO;
    return ready;
}

int sampler_wait(struct sampler *sampler, int timeout_ms, int extra_fd)
{
    merge_publish(&sampler->merge);
    if (sampler->initial.next < sampler->initial.records.count)
        return 0;
    const uint64_t asked = timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * NS_PER_MS;
    uint64_t check_ns;
    if (sampler->stopped) { /* only the end of the targets is still of interest */
        const size_t count = fill_polls(sampler, extra_fd, false, &check_ns);
        const int ready = sleep_on(sampler, count, least(asked, check_ns));
        return ready < 0 ? ready : 0;
    }
    const uint64_t before_ns = sprof_clock_monotonic_ns();
    const bool listening = listens(sampler, before_ns);
    const uint64_t rest = rest_ns(sampler, before_ns, listening);
    const bool with_rings = listening || rest == UINT64_MAX;
    const size_t count = fill_polls(sampler, extra_fd, with_rings, &check_ns);
    const int ready = sleep_on(sampler, count, least(rest, least(asked, check_ns)));
    if (ready > 0 && with_rings)
        notice_deafness(sampler, count);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    sampler->busy = merge_refresh(&sampler->merge);
    session_copy_rests(sampler);
    sampler->seen_ns = now_ns;
    sampler->horizon_ns = now_ns - SLACK_NS;
    return ready < 0 ? ready : 0;
}
