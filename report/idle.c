/* Finds the waits of threads that wait for work. */
#include "report/idle.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* The part of a thread's other time that passes the frame of its loop. */
enum { NEARLY_ALL_PERCENT = 95 };

/* Kinds of waits that may be for work, but for futexes. */
static const struct {
    const char *kind;
    enum report_idle_reach reach;
} kinds[] = {{"poll", REPORT_IDLE_TWO},       {"select", REPORT_IDLE_TWO},
             {"epoll_wait", REPORT_IDLE_TWO}, {"io_uring", REPORT_IDLE_TWO},
             {"accept", REPORT_IDLE_TWO},     {"recv", REPORT_IDLE_TWO},
             {"ipc", REPORT_IDLE_TWO},        {"read", REPORT_IDLE_ONE},
             {"wait", REPORT_IDLE_ONE},       {"signal", REPORT_IDLE_ONE}};

static const enum report_idle_reach objects[] = {
    [REPORT_WAIT_UNKNOWN] = REPORT_IDLE_NEVER, [REPORT_WAIT_LOCK] = REPORT_IDLE_NEVER,
    [REPORT_WAIT_CONDITION] = REPORT_IDLE_TWO, [REPORT_WAIT_JOIN] = REPORT_IDLE_ONE,
    [REPORT_WAIT_BARRIER] = REPORT_IDLE_NEVER, [REPORT_WAIT_SEMAPHORE] = REPORT_IDLE_TWO,
};

enum report_idle_reach report_idle_reach_of(const char *kind, enum report_wait_object object,
                                            bool in_kernel)
{
    if (!kind)
        return REPORT_IDLE_NEVER;
    if (!strcmp(kind, "futex"))
        return objects[object];
    if (!strcmp(kind, "other") && in_kernel)
        return REPORT_IDLE_TWO;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i].kind))
            return kinds[i].reach;
    return REPORT_IDLE_NEVER;
}

static int compare_times(const void *left, const void *right)
{
    const struct report_idle_time *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->path != b->path)
        return a->path < b->path ? -1 : 1;
    return a->event < b->event ? -1 : a->event > b->event;
}

/* How many frames of the application a site is below the deepest one that nearly all `others` pass.
 * `passing` is the thread's time by path, `own` that of the waits at the site. */
static unsigned distance(const struct report_idle_paths *paths, const uint64_t *passing,
                         uint32_t site, uint64_t own, uint64_t others)
{
    unsigned frames = 0;
    for (uint32_t path = site; path; path = paths->parents[path - 1]) {
        const double passed = (double)(passing[path - 1] - own);
        if (100 * passed >= NEARLY_ALL_PERCENT * (double)others)
            break;
        frames += paths->counts[path - 1];
    }
    return frames;
}

static bool is_idle(enum report_idle_reach reach, uint64_t others, unsigned frames)
{
    const unsigned most = reach == REPORT_IDLE_TWO ? 2 : 1;
    return reach != REPORT_IDLE_NEVER && (!others || frames <= most);
}

/* The waits of one thread at one site. */
static void find_at_site(const struct report_idle_paths *paths, const uint64_t *passing,
                         struct report_idle_time *times, size_t count, uint64_t all)
{
    uint64_t own = 0;
    for (size_t i = 0; i < count; i++)
        own += times[i].reach == REPORT_IDLE_NEVER ? 0 : times[i].weight;
    if (!own)
        return;
    const uint64_t others = all - own;
    const unsigned frames = distance(paths, passing, times->site, own, others);
    for (size_t i = 0; i < count; i++)
        times[i].is_idle = is_idle(times[i].reach, others, frames);
}

static void find_of_thread(const struct report_idle_paths *paths, uint64_t *passing,
                           struct report_idle_time *times, size_t count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < count; i++) {
        all += times[i].weight;
        for (uint32_t path = times[i].path; path; path = paths->parents[path - 1])
            passing[path - 1] += times[i].weight;
    }
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && times[to].site == times[from].site; to++)
            ;
        find_at_site(paths, passing, times + from, to - from, all);
    }
    for (size_t i = 0; i < count; i++)
        for (uint32_t path = times[i].path; path && passing[path - 1];
             path = paths->parents[path - 1])
            passing[path - 1] = 0;
}

int report_idle_find(const struct report_idle_paths *paths, struct report_idle_time *times,
                     size_t count)
{
    uint64_t *passing = calloc(paths->count + 1, sizeof *passing);
    if (!passing)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        times[i].is_idle = false;
        times[i].site = times[i].path;
        while (times[i].site && !paths->counts[times[i].site - 1])
            times[i].site = paths->parents[times[i].site - 1];
    }
    if (count)
        qsort(times, count, sizeof *times, compare_times);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && times[to].thread == times[from].thread; to++)
            ;
        find_of_thread(paths, passing, times + from, to - from);
    }
    free(passing);
    return 0;
}
