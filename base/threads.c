/* Starts and joins the threads that help with a work. */
#include "base/threads.h"

#include <sched.h>
#include <signal.h>

unsigned sprof_threads_useful(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    const int processors = CPU_COUNT(&set);
    return processors < SPROF_THREADS_MAX ? (unsigned)processors : SPROF_THREADS_MAX;
}

void sprof_threads_start(struct sprof_threads *threads, unsigned wanted, void *(*run)(void *),
                         void *context)
{
    sigset_t all, before;
    threads->count = 0;
    if (!wanted)
        return;
    sigfillset(&all);
    sigdelset(&all,
              SIGSYS); /* comes of the thread's own system calls: see symbolize/child_rights.c */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (threads->count < wanted && threads->count < SPROF_THREADS_MAX - 1 &&
           !pthread_create(&threads->threads[threads->count], NULL, run, context))
        threads->count++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void sprof_threads_join(struct sprof_threads *threads)
{
    while (threads->count)
        pthread_join(threads->threads[--threads->count], NULL);
}
