/* Copies what follows the slices of samples in a thread of its own, until BPF programs do. */
#include "sampler/perf/perf_source.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Waits until one of the rings has something new. A CPU that went offline has its ring always
 * ready: then it is no longer polled. Returns false where the thread is to end. */
static bool wait_for_rings(struct pollfd *polls, size_t count)
{
    while (poll(polls, count, -1) < 0)
        if (errno != EINTR)
            return false;
    for (size_t i = 1; i < count; i++)
        if (polls[i].revents & (POLLHUP | POLLERR | POLLNVAL))
            polls[i].fd = -1;
    return !polls[0].revents;
}

static void *copy_early(void *context)
{
    struct perf_source *source = context;
    struct perf_early_copies *early = &source->programs.early_copies;
    while (wait_for_rings(early->polls, early->poll_count)) {
        perf_early_copies_lock(early);
        perf_stack_tail_copy(source);
        perf_early_copies_unlock(early);
    }
    return NULL;
}

/* The holder of the lock runs as urgently as the thread that waits for it. */
static int make_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    const int result = pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return result;
}

static bool make_polls(struct perf_early_copies *early, const struct sampler_merge *merge,
                       size_t rings)
{
    early->end_fd = eventfd(0, EFD_CLOEXEC);
    early->polls = calloc(rings + 1, sizeof *early->polls);
    if (early->end_fd < 0 || !early->polls)
        return false;
    early->polls[early->poll_count++] = (struct pollfd){.fd = early->end_fd, .events = POLLIN};
    for (size_t i = 0; i < rings; i++)
        early->polls[early->poll_count++] =
            (struct pollfd){.fd = merge->rings.items[i].fd, .events = POLLIN};
    return true;
}

static void drop(struct perf_early_copies *early)
{
    if (early->end_fd >= 0)
        close(early->end_fd);
    free(early->polls);
    *early = PERF_EARLY_COPIES_NONE;
}

/* Threads that compute would have a sample's stack wait for milliseconds: the copier goes before
 * them, where it may. */
static void hurry(pthread_t thread)
{
    const struct sched_param urgent = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    pthread_setschedparam(thread, SCHED_FIFO, &urgent);
}

void perf_early_copies_begin(struct perf_source *source)
{
    struct perf_early_copies *early = &source->programs.early_copies;
    *early = PERF_EARLY_COPIES_NONE;
    if (!source->config.layout.has_stack ||
        !make_polls(early, &source->rings.merge, source->rings.of_cpus) ||
        make_lock(&early->lock)) {
        drop(early);
        return;
    }
    sigset_t all, before; /* signals are the main thread's */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    early->running = true; /* before the thread looks */
    const int result = pthread_create(&early->thread, NULL, copy_early, source);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!result) {
        hurry(early->thread);
        return;
    }
    pthread_mutex_destroy(&early->lock);
    drop(early);
}

void perf_early_copies_end(struct perf_source *source)
{
    struct perf_early_copies *early = &source->programs.early_copies;
    const uint64_t one = 1;
    if (!early->running)
        return;
    while (write(early->end_fd, &one, sizeof one) < 0 && errno == EINTR)
        continue;
    pthread_join(early->thread, NULL);
    pthread_mutex_destroy(&early->lock);
    drop(early);
    source->batch.active = true; /* what has woken the thread wakes nothing else */
}
