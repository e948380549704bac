/* Loads the BPF programs while other things are opened. */
#include "sampler/perf/filter_loading.h"

#include <errno.h>
#include <signal.h>

static void *load(void *context)
{
    struct perf_filter_loading *loading = context;
    loading->result = perf_filter_bpf_open(&loading->filter, loading->follow_forks, &loading->tails,
                                           loading->clocks, &loading->mapped);
    sem_post(&loading->mapped); /* where it came to nothing before */
    return NULL;
}

void perf_filter_loading_begin(struct perf_filter_loading *loading, bool follow_forks,
                               const struct perf_filter_bpf_tails *tails, size_t clocks)
{
    sigset_t all, before;
    loading->follow_forks = follow_forks;
    loading->tails = *tails;
    loading->clocks = clocks;
    loading->filter = PERF_FILTER_BPF_NONE;
    sem_init(&loading->mapped, 0, 0);
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    loading->running = !pthread_create(&loading->thread, NULL, load, loading);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (loading->running && sem_wait(&loading->mapped) && errno == EINTR)
        continue;
}

int perf_filter_loading_end(struct perf_filter_loading *loading,
                            const struct perf_filter_bpf_tails *tails,
                            struct perf_filter_bpf *filter)
{
    const struct perf_filter_bpf_tails *begun = &loading->tails;
    if (loading->running && begun->wanted == tails->wanted &&
        begun->most_bytes == tails->most_bytes && begun->ring_bytes == tails->ring_bytes) {
        pthread_join(loading->thread, NULL);
        loading->running = false;
        *filter = loading->filter;
        return loading->result;
    }
    perf_filter_loading_cancel(loading);
    return perf_filter_bpf_open(filter, loading->follow_forks, tails, loading->clocks, NULL);
}

void perf_filter_loading_cancel(struct perf_filter_loading *loading)
{
    if (!loading->running)
        return;
    pthread_join(loading->thread, NULL);
    loading->running = false;
    perf_filter_bpf_close(&loading->filter);
}
