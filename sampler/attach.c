/* Taking in processes that already run, while they go on starting threads. */
#include "sampler/permission.h"
#include "sampler/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 100, /* of scanning a process that starts threads all the time */
    COUNTER_RING_BYTES = 4 << 10,
    COMMAND_RING_BYTES = 64 << 10,
    COUNTER_RINGS_MAX = 64, /* each is a mapping, and memory that stays locked */
};
/* A new thread is in /proc a moment before its FORK record is written. */
static const struct timespec fork_gap = {.tv_nsec = 1000000};

/* One way of taking threads in. Both functions return 0 or a negative errno. */
struct intake {
    struct sprof_map *known; /* tid of a thread that needs nothing more → since when */
    int (*take_in)(struct sampler *sampler, pid_t pid, pid_t tid);
    int (*note_fork)(struct sampler *sampler, struct sprof_map *known,
                     const struct model_record *fork);
};

/* Shows an intake the FORK records that lie unread in the rings. */
static int note_forks(struct sampler *sampler, const struct intake *intake)
{
    for (size_t i = 0; i < sampler->cpu_rings; i++) {
        struct ring *ring = &sampler->merge.rings.items[i];
        ring_refresh(ring);
        struct perf_event_header header;
        for (uint64_t at = ring->tail; ring_header(ring, at, &header); at += header.size) {
            if (header.type != PERF_RECORD_FORK)
                continue;
            bool copied;
            uint64_t event_id;
            struct model_record record;
            const struct perf_event_header *whole = ring_record(ring, at, sampler->buffer, &copied);
            if (decode_record(&sampler->plan.layout, whole, &record, &event_id) != DECODE_RECORD)
                continue;
            const int result = intake->note_fork(sampler, intake->known, &record);
            if (result)
                return result;
        }
    }
    return 0;
}

/* A thread forked by one that had all it needs has inherited that. */
static int note_inherited(struct sampler *sampler, struct sprof_map *known,
                          const struct model_record *fork)
{
    (void)sampler;
    const uint64_t *complete_ns = sprof_map_get(known, (uint64_t)fork->fork.parent_tid);
    if (!complete_ns || fork->time_ns < *complete_ns || sprof_map_get(known, (uint64_t)fork->tid))
        return 0;
    return sprof_map_put(known, (uint64_t)fork->tid, fork->time_ns) ? -ENOMEM : 0;
}

/* What a target forked before it was in the kernel's set is not there either. */
static int add_member(struct sampler *sampler, struct sprof_map *known,
                      const struct model_record *fork)
{
    const uint64_t *target =
        sprof_map_get(&sampler->targets.processes, (uint64_t)fork->fork.parent_pid);
    if (!target || !*target || sprof_map_get(known, (uint64_t)fork->tid))
        return 0;
    if (fork->pid != fork->fork.parent_pid && targets_add_process(&sampler->targets, fork->pid))
        return -ENOMEM;
    const int result = filter_bpf_add(&sampler->filter, fork->tid);
    return result || !sprof_map_put(known, (uint64_t)fork->tid, fork->time_ns) ? result : -ENOMEM;
}

/* Opens one event of a thread on each CPU, into that CPU's ring. A thread that ended is no error.
 */
static int open_on_cpus(struct sampler *sampler, struct perf_event_attr *attr, pid_t tid,
                        struct sprof_id_list *list)
{
    for (size_t i = 0; i < sampler->cpus.count; i++) {
        const int fd =
            perf_open_dropping(attr, tid, sampler->cpus.items[i], sampler->merge.rings.items[i].fd);
        if (fd == -ESRCH)
            return 0;
        if (fd < 0)
            return fd;
        if (sprof_vec_push(list, fd)) {
            close(fd);
            return -ENOMEM;
        }
        if (sprof_map_put(&sampler->owners, perf_event_id(fd), (uint64_t)tid))
            return -ENOMEM;
    }
    return 0;
}

/* Events that work at once, so that no fork goes unseen. Samples before the start are dropped. */
static int open_thread(struct sampler *sampler, pid_t pid, pid_t tid)
{
    (void)pid;
    struct perf_event_attr attr;
    const pid_t only = sampler->targets.only_thread;
    int result = 0;
    if (only) {
        plan_ring_event(&attr, true);
        attr.watermark = 0;
        attr.wakeup_watermark = 0;
        attr.disabled = 0;
        attr.inherit = 1;
        result = open_on_cpus(sampler, &attr, tid, &sampler->trackers);
    }
    if (!result && (!only || only == tid)) {
        plan_sampling_event(&sampler->plan, &attr, false, !only);
        attr.disabled = 0;
        attr.inherit = !only;
        result = open_on_cpus(sampler, &attr, tid, &sampler->events);
    }
    if (!result && (sprof_map_put(&sampler->opened, (uint64_t)tid, sprof_clock_monotonic_ns()) ||
                    sprof_map_put(&sampler->owned, (uint64_t)tid, 1)))
        result = -ENOMEM;
    return result;
}

static int add_to_filter(struct sampler *sampler, pid_t pid, pid_t tid)
{
    (void)pid;
    const int result = filter_bpf_add(&sampler->filter, tid);
    if (result)
        return result;
    return sprof_map_put(&sampler->opened, (uint64_t)tid, 0) ? -ENOMEM : 0;
}

/* One look at the threads of a process; takes in those nobody knows. Returns how many, or a
 * negative errno. */
static int scan_process(struct sampler *sampler, pid_t pid, const struct intake *intake)
{
    struct sprof_id_list threads = {0};
    int result = sprof_proc_threads(pid, &threads), taken = 0;
    if (result == -ENOENT || result == -ESRCH)
        result = 0;
    if (!result && intake->known->count) {
        nanosleep(&fork_gap, NULL);
        result = note_forks(sampler, intake);
    }
    for (size_t i = 0; !result && i < threads.count; i++) {
        if (sprof_map_get(intake->known, (uint64_t)threads.items[i]))
            continue;
        result = intake->take_in(sampler, pid, threads.items[i]);
        taken++;
    }
    sprof_vec_release(&threads);
    return result ? result : taken;
}

/* Scans until nothing new is found. */
static int scan_all(struct sampler *sampler, const struct intake *intake, struct sprof_error *error)
{
    const pid_t thread = target_thread(sampler->target);
    size_t count;
    const pid_t *pids = target_processes(sampler->target, &count);
    for (size_t i = 0; i < count; i++) {
        int taken = 1;
        for (int round = 0; taken > 0 && round < ROUNDS_MAX; round++)
            taken = scan_process(sampler, pids[i], intake);
        if (taken < 0)
            return permission_explain(thread ? thread : pids[i], thread > 0, -taken, error);
        if (taken > 0)
            sprof_log_message(sampler->log, SPROF_LOG_WARNING,
                              "process %d starts threads faster than they can be taken in; some "
                              "may be missed",
                              pids[i]);
    }
    return 0;
}

int session_attach_tasks(struct sampler *sampler, struct sprof_error *error)
{
    const struct intake intake = {&sampler->opened, open_thread, note_inherited};
    return scan_all(sampler, &intake, error);
}

int session_attach_filter(struct sampler *sampler, struct sprof_error *error)
{
    const struct intake intake = {&sampler->opened, add_to_filter, add_member};
    if (!sampler->targets.only_thread)
        return scan_all(sampler, &intake, error);
    const int result = filter_bpf_add(&sampler->filter, sampler->targets.only_thread);
    return result ? permission_explain(0, true, -result, error) : 0;
}

static void open_spares(struct sampler *sampler)
{
    for (size_t i = 0; i < sizeof sampler->spare_fds / sizeof *sampler->spare_fds; i++)
        sampler->spare_fds[i] = fcntl(sampler->interrupt_fd, F_DUPFD_CLOEXEC, 0);
}

static void close_spares(struct sampler *sampler)
{
    for (size_t i = 0; i < sizeof sampler->spare_fds / sizeof *sampler->spare_fds; i++) {
        if (sampler->spare_fds[i] >= 0)
            close(sampler->spare_fds[i]);
        sampler->spare_fds[i] = -1;
    }
}

/* The counters of one thread. What cannot be counted is said once and left out. */
static int count_thread(struct sampler *sampler, pid_t pid, pid_t tid)
{
    const bool is_command = target_command(sampler->target) > 0;
    const size_t rings = sampler->merge.rings.count - sampler->cpu_rings;
    const size_t ring_bytes = is_command                  ? COMMAND_RING_BYTES
                              : rings < COUNTER_RINGS_MAX ? COUNTER_RING_BYTES
                                                          : 0;
    struct ring ring = {.fd = -1};
    const int result = sampler->counters_full ? -EMFILE
                                              : counters_add(&sampler->cpu_time, pid, tid,
                                                             !sampler->targets.only_thread,
                                                             is_command, ring_bytes, &ring);
    if (result && result != -ESRCH && !sampler->counters_full) {
        sampler->counters_full = true;
        close_spares(sampler);
        sprof_log_message(sampler->log, SPROF_LOG_WARNING,
                          "the CPU time of thread %d and later ones cannot be counted: %s%s", tid,
                          strerror(-result), result == -EMFILE ? "; see `ulimit -n`" : "");
    }
    if (!result && ring.base && merge_add(&sampler->merge, &ring))
        return -ENOMEM;
    const uint64_t before_ns = result ? sprof_proc_cpu_time_ns(pid, tid) : 0;
    return targets_add_thread(&sampler->targets, pid, tid) ||
                   sprof_map_put(&sampler->counted, (uint64_t)tid, sprof_clock_monotonic_ns()) ||
                   (before_ns && sprof_map_put(&sampler->uncounted, (uint64_t)tid, before_ns))
               ? -ENOMEM
               : 0;
}

int session_open_counters(struct sampler *sampler, struct sprof_error *error)
{
    const struct intake intake = {&sampler->counted, count_thread, note_inherited};
    const pid_t command = target_command(sampler->target), only = sampler->targets.only_thread;
    if (!command && !only) {
        open_spares(sampler);
        const int scanned = scan_all(sampler, &intake, error);
        close_spares(sampler);
        return scanned;
    }
    size_t one;
    const int result = command
                           ? count_thread(sampler, command, command)
                           : count_thread(sampler, *target_processes(sampler->target, &one), only);
    return result ? sprof_error_memory(error) : 0;
}
