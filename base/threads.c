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

int sprof_thread_create(pthread_t *thread, void *(*run)(void *), void *context)
{
    sigset_t others, before;
    sigfillset(&others);
    sigdelset(&others, SIGSYS); /* see symbolize/child_rights.c */
    sigdelset(&others, SIGBUS); /* see cli/cut_file.h */
    pthread_sigmask(SIG_SETMASK, &others, &before);
    const int number = pthread_create(thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return number;
}

void sprof_threads_start(struct sprof_threads *threads, unsigned wanted, void *(*run)(void *),
                         void *context)
{
    threads->count = 0;
    while (threads->count < wanted && threads->count < SPROF_THREADS_MAX - 1 &&
           !sprof_thread_create(&threads->threads[threads->count], run, context))
        threads->count++;
}

void sprof_threads_join(struct sprof_threads *threads)
{
    while (threads->count)
        pthread_join(threads->threads[--threads->count], NULL);
}
