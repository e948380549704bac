/* Loads the BPF programs in a thread of its own: the kernel takes milliseconds to verify them, in
 * which everything else is opened. */
#ifndef SPROF_SAMPLER_PERF_FILTER_LOADING_H
#define SPROF_SAMPLER_PERF_FILTER_LOADING_H

#include "sampler/perf/filter_bpf.h"

#include <pthread.h>

struct perf_filter_loading {
    pthread_t thread;
    bool running;
    bool follow_forks;
    struct perf_filter_bpf_tails tails;
    size_t clocks;
    sem_t mapped;                  /* posted when the thread maps nothing any more */
    struct perf_filter_bpf filter; /* what the thread has loaded, */
    int result;                    /* … or why not */
};

/* Begins what perf_filter_bpf_open does, and waits until it has mapped its memory: a ring that is
 * mapped meanwhile would keep it waiting, each for a millisecond. The struct stays where it is
 * until the end. */
void perf_filter_loading_begin(struct perf_filter_loading *loading, bool follow_forks,
                               const struct perf_filter_bpf_tails *tails, size_t clocks);

/* Waits for it, and hands the programs over: the caller closes them. Where other tails are wanted
 * by now, or no thread could be had, they are loaded here. Returns as perf_filter_bpf_open. */
int perf_filter_loading_end(struct perf_filter_loading *loading,
                            const struct perf_filter_bpf_tails *tails,
                            struct perf_filter_bpf *filter);

/* Waits for it where it was begun and not ended, and closes the programs. */
void perf_filter_loading_cancel(struct perf_filter_loading *loading);

#endif
