/* Loads the BPF programs while other things are opened. */
#include "sampler/perf/filter_loading.h"

#include <errno.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The kernel's verifier stops at a signal that is to be handled. This one is not sent for other
 * reasons, and by default it does nothing. */
enum { BREAK_OFF_SIGNAL = SIGURG };

static void break_off(int signal)
{
    (void)signal;
}

static void do_first(struct perf_filter_loading *loading)
{
    if (loading->wanted.first)
        loading->wanted.first(loading->wanted.context);
    sem_post(&loading->first_done);
}

static void *load(void *context)
{
    struct perf_filter_loading *loading = context;
    const struct perf_filter_wanted *wanted = &loading->wanted;
    const uint64_t one = 1;
    do_first(loading);
    loading->result = perf_filter_bpf_open(&loading->filter, wanted->follow_forks, wanted->choice,
                                           &wanted->tails, wanted->clocks);
    atomic_store(&loading->ended, true);
    if (loading->ended_fd >= 0 && write(loading->ended_fd, &one, sizeof one) < 0) {
        /* The counter is at its end: it is readable. */
    }
    return NULL;
}

static void close_ended_fd(struct perf_filter_loading *loading)
{
    if (loading->ended_fd >= 0)
        close(loading->ended_fd);
    loading->ended_fd = -1;
}

void perf_filter_loading_begin(struct perf_filter_loading *loading,
                               const struct perf_filter_wanted *wanted)
{
    const struct sigaction action = {.sa_handler = break_off, .sa_flags = SA_RESTART};
    sigset_t all, before;
    loading->wanted = *wanted;
    loading->filter = PERF_FILTER_BPF_NONE;
    sem_init(&loading->first_done, 0, 0);
    atomic_init(&loading->ended, false);
    loading->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    sigaction(BREAK_OFF_SIGNAL, &action, NULL);
    sigfillset(&all); /* the other signals are the main thread's */
    sigdelset(&all, BREAK_OFF_SIGNAL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    loading->running = !pthread_create(&loading->thread, NULL, load, loading);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (loading->running)
        return;
    close_ended_fd(loading);
    do_first(loading);
}

void perf_filter_loading_await_first(struct perf_filter_loading *loading)
{
    while (sem_wait(&loading->first_done) && errno == EINTR)
        continue;
}

bool perf_filter_loading_ended(const struct perf_filter_loading *loading)
{
    return atomic_load(&loading->ended);
}

void perf_filter_loading_give_up(struct perf_filter_loading *loading)
{
    if (loading->running && !perf_filter_loading_ended(loading))
        pthread_kill(loading->thread, BREAK_OFF_SIGNAL);
}

static void join(struct perf_filter_loading *loading)
{
    pthread_join(loading->thread, NULL);
    loading->running = false;
    close_ended_fd(loading);
    sem_destroy(&loading->first_done);
}

int perf_filter_loading_end(struct perf_filter_loading *loading,
                            const struct perf_filter_bpf_tails *tails,
                            struct perf_filter_bpf *filter)
{
    const struct perf_filter_wanted *wanted = &loading->wanted;
    const struct perf_filter_bpf_tails *begun = &wanted->tails;
    if (loading->running && begun->wanted == tails->wanted &&
        begun->most_bytes == tails->most_bytes && begun->ring_bytes == tails->ring_bytes) {
        join(loading);
        *filter = loading->filter;
        return loading->result;
    }
    perf_filter_loading_cancel(loading);
    return perf_filter_bpf_open(filter, wanted->follow_forks, wanted->choice, tails,
                                wanted->clocks);
}

void perf_filter_loading_cancel(struct perf_filter_loading *loading)
{
    if (!loading->running)
        return;
    join(loading);
    perf_filter_bpf_close(&loading->filter);
}
