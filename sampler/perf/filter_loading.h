/* Loads the BPF programs in a thread of its own: the kernel takes milliseconds to verify them, in
 * which everything else is opened. */
#ifndef SPROF_SAMPLER_PERF_FILTER_LOADING_H
#define SPROF_SAMPLER_PERF_FILTER_LOADING_H

#include "sampler/perf/filter_bpf.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

/* What to load, and what the thread does before. */
struct perf_filter_wanted {
    bool follow_forks;
    const struct sampling_choice *choice; /* NULL: members are sampled; else it stays valid */
    struct perf_filter_bpf_tails tails;
    size_t clocks;
    void (*first)(void *context); /* NULL: nothing */
    void *context;
};

struct perf_filter_loading {
    pthread_t thread;
    bool running;
    struct perf_filter_wanted wanted;
    sem_t first_done;
    int ended_fd; /* readable when the thread has ended; -1: could not be had */
    atomic_bool ended;
    struct perf_filter_bpf filter; /* what the thread has loaded, */
    int result;                    /* … or why not */
};

/* Begins with `first`, and with what perf_filter_bpf_open does after it. Where no thread can be had
 * `first` is done here. The struct stays where it is until the end. */
void perf_filter_loading_begin(struct perf_filter_loading *loading,
                               const struct perf_filter_wanted *wanted);

/* Waits until `first` is done. To be called once. */
void perf_filter_loading_await_first(struct perf_filter_loading *loading);

/* Whether it has come to its end, well or not. */
bool perf_filter_loading_ended(const struct perf_filter_loading *loading);

/* Call it when the programs are no longer needed: has the kernel break off their verification, and
 * returns at once. perf_filter_loading_cancel ends the rest. */
void perf_filter_loading_give_up(struct perf_filter_loading *loading);

/* Waits for it, and hands the programs over: the caller closes them. Where other tails are wanted
 * by now, or no thread could be had, they are loaded here. Returns as perf_filter_bpf_open. */
int perf_filter_loading_end(struct perf_filter_loading *loading,
                            const struct perf_filter_bpf_tails *tails,
                            struct perf_filter_bpf *filter);

/* Waits for it where it was begun and not ended, and closes the programs. */
void perf_filter_loading_cancel(struct perf_filter_loading *loading);

#endif
