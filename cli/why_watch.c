/* Ends the recording of `sprof why -p` as soon as it holds enough. */
#include "cli/why_watch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A sample stands for a millisecond on a CPU, or for a wait. With fewer, 8 % of the time cannot be
 * distinguished from 20 %. Of a process that works less than that, a longer look shows no more. */
enum { ENOUGH = 300, IDLE_PER_MILLE = 30, NS_PER_MS = 1000000 };

/* What processes have done since they began. */
struct activity {
    uint64_t cpu_ns, waits;
};

/* How often a thread has given up a CPU by itself: the line of /proc/PID/task/TID/status. */
static uint64_t waits_of(pid_t pid, pid_t tid)
{
    static const char label[] = "\nvoluntary_ctxt_switches:";
    char path[64];
    struct sprof_str text = {0};
    snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid, (int)tid);
    const char *line =
        !sprof_proc_read(path, 8192, &text) && text.text ? strstr(text.text, label) : NULL;
    const uint64_t waits = line ? strtoull(line + sizeof label - 1, NULL, 10) : 0;
    sprof_str_release(&text);
    return waits;
}

static struct activity activity_of(const struct cli_pids *pids)
{
    struct activity activity = {0};
    for (size_t i = 0; i < pids->list.count; i++) {
        const pid_t pid = pids->list.items[i];
        struct sprof_id_list threads = {0};
        if (sprof_proc_threads(pid, &threads))
            threads.count = 0;
        for (size_t t = 0; t < threads.count; t++) {
            activity.cpu_ns += sprof_proc_cpu_time_ns(pid, threads.items[t]);
            activity.waits += waits_of(pid, threads.items[t]);
        }
        free(threads.items);
    }
    return activity;
}

/* Threads that have ended count for nothing any more. */
static uint64_t since(uint64_t now, uint64_t then)
{
    return now > then ? now - then : 0;
}

static bool is_enough(const struct activity *before, const struct activity *now, uint64_t passed_ns)
{
    const uint64_t cpu_ns = since(now->cpu_ns, before->cpu_ns);
    const uint64_t samples = cpu_ns / NS_PER_MS + since(now->waits, before->waits);
    return samples >= ENOUGH || cpu_ns * 1000 < passed_ns * IDLE_PER_MILLE;
}

/* False: the watch was ended meanwhile. */
static bool sleep_until(struct cli_why_watch *watch, uint64_t time_ns)
{
    const struct timespec time = {(time_t)(time_ns / 1000000000), (long)(time_ns % 1000000000)};
    int result = 0;
    pthread_mutex_lock(&watch->lock);
    while (!watch->ended && result != ETIMEDOUT)
        result = pthread_cond_clockwait(&watch->ended_now, &watch->lock, CLOCK_MONOTONIC, &time);
    const bool goes_on = !watch->ended;
    pthread_mutex_unlock(&watch->lock);
    return goes_on;
}

static void *keep_watch(void *context)
{
    struct cli_why_watch *watch = context;
    const struct activity before = activity_of(watch->pids);
    const uint64_t began_ns = sprof_clock_monotonic_ns();
    for (uint64_t at_ns = began_ns + watch->step_ns; sleep_until(watch, at_ns);
         at_ns += watch->step_ns) {
        const struct activity now = activity_of(watch->pids);
        if (is_enough(&before, &now, sprof_clock_monotonic_ns() - began_ns)) {
            record_interrupt(watch->session); /* without a cut: waits that go on end later */
            break;
        }
    }
    return NULL;
}

void cli_why_watch_start(struct cli_why_watch *watch, struct record_session *session,
                         const struct cli_pids *pids, uint64_t step_ns)
{
    *watch = (struct cli_why_watch){.session = session, .pids = pids, .step_ns = step_ns};
    pthread_mutex_init(&watch->lock, NULL);
    pthread_cond_init(&watch->ended_now, NULL);
    sprof_threads_start(&watch->threads, 1, keep_watch, watch);
}

void cli_why_watch_end(struct cli_why_watch *watch)
{
    pthread_mutex_lock(&watch->lock);
    watch->ended = true;
    pthread_cond_signal(&watch->ended_now);
    pthread_mutex_unlock(&watch->lock);
    sprof_threads_join(&watch->threads);
    pthread_cond_destroy(&watch->ended_now);
    pthread_mutex_destroy(&watch->lock);
}
