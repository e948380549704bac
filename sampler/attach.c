/* Taking in processes that already run, while they go on starting threads. */
#include "sampler/permission.h"
#include "sampler/session.h"

#include <errno.h>
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

/* Calls `act` for each FORK record that lies unread in the rings. */
static int for_each_fork(struct sampler *sampler,
                         int (*act)(struct sampler *sampler, const struct sampler_record *fork))
{
    for (size_t i = 0; i < sampler->cpu_rings; i++) {
        struct ring *ring = &sampler->merge.rings.items[i];
        ring_refresh(ring);
        const struct perf_event_header *header;
        for (uint64_t at = ring->tail; (header = ring_header(ring, at)); at += header->size) {
            if (header->type != PERF_RECORD_FORK)
                continue;
            bool wrapped;
            uint64_t event_id;
            struct sampler_record record;
            if (decode_record(&sampler->plan.layout,
                              ring_record(ring, at, sampler->buffer, &wrapped), &record,
                              &event_id) != DECODE_RECORD)
                continue;
            const int result = act(sampler, &record);
            if (result)
                return result;
        }
    }
    return 0;
}

/* A thread forked by one whose events were complete has inherited all of them. */
static int note_inherited(struct sampler *sampler, const struct sampler_record *fork)
{
    const uint64_t *complete_ns = sprof_map_get(&sampler->opened, (uint64_t)fork->fork.parent_tid);
    if (!complete_ns || fork->time_ns < *complete_ns ||
        sprof_map_get(&sampler->opened, (uint64_t)fork->tid))
        return 0;
    return sprof_map_put(&sampler->opened, (uint64_t)fork->tid, fork->time_ns);
}

static int add_member(struct sampler *sampler, const struct sampler_record *fork)
{
    const uint64_t *target =
        sprof_map_get(&sampler->targets.processes, (uint64_t)fork->fork.parent_pid);
    if (!target || !*target || sprof_map_get(&sampler->opened, (uint64_t)fork->tid))
        return 0;
    if (fork->pid != fork->fork.parent_pid && targets_add_process(&sampler->targets, fork->pid))
        return SPROF_ENOMEM;
    return filter_bpf_add(&sampler->filter, fork->tid) ||
                   sprof_map_put(&sampler->opened, (uint64_t)fork->tid, fork->time_ns)
               ? SPROF_ENOMEM
               : 0;
}

/* Opens one event of a thread on each CPU, into that CPU's ring. A thread that ended is no error.
 */
static int open_on_cpus(struct sampler *sampler, struct perf_event_attr *attr, pid_t tid,
                        struct id_list *list)
{
    for (size_t i = 0; i < sampler->cpus.count; i++) {
        const int fd =
            session_open_event(attr, tid, sampler->cpus.items[i], sampler->merge.rings.items[i].fd);
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
static int open_thread(struct sampler *sampler, pid_t tid)
{
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

static int add_to_filter(struct sampler *sampler, pid_t tid)
{
    const int result = filter_bpf_add(&sampler->filter, tid);
    if (result)
        return result;
    return sprof_map_put(&sampler->opened, (uint64_t)tid, 0) ? -ENOMEM : 0;
}

/* One look at the threads of a process; takes in those nobody knows. Returns how many, or a
 * negative errno. */
static int scan_process(struct sampler *sampler, pid_t pid,
                        int (*take_in)(struct sampler *sampler, pid_t tid),
                        int (*note_fork)(struct sampler *, const struct sampler_record *))
{
    struct id_list threads = {0};
    int result = proc_threads(pid, &threads), taken = 0;
    if (result == -ENOENT || result == -ESRCH)
        result = 0;
    if (!result && sampler->opened.count) {
        nanosleep(&fork_gap, NULL);
        result = for_each_fork(sampler, note_fork) ? -ENOMEM : 0;
    }
    for (size_t i = 0; !result && i < threads.count; i++) {
        if (sprof_map_get(&sampler->opened, (uint64_t)threads.items[i]))
            continue;
        result = take_in(sampler, threads.items[i]);
        taken++;
    }
    sprof_vec_release(&threads);
    return result ? result : taken;
}

/* Scans until nothing new is found. */
static int scan_all(struct sampler *sampler, int (*take_in)(struct sampler *sampler, pid_t tid),
                    int (*note_fork)(struct sampler *, const struct sampler_record *),
                    struct sprof_error *error)
{
    for (size_t i = 0; i < sampler->attached.count; i++) {
        const struct attached *target = &sampler->attached.items[i];
        int taken = 1;
        for (int round = 0; taken > 0 && round < ROUNDS_MAX; round++)
            taken = scan_process(sampler, target->pid, take_in, note_fork);
        if (taken < 0)
            return permission_explain(target->tid ? target->tid : target->pid, target->tid > 0,
                                      -taken, error);
        if (taken > 0)
            sprof_log_message(sampler->log, SPROF_LOG_WARNING,
                              "process %d starts threads faster than they can be taken in; some "
                              "may be missed",
                              target->pid);
    }
    return 0;
}

int session_attach_tasks(struct sampler *sampler, struct sprof_error *error)
{
    return scan_all(sampler, open_thread, note_inherited, error);
}

int session_attach_filter(struct sampler *sampler, struct sprof_error *error)
{
    if (!sampler->targets.only_thread)
        return scan_all(sampler, add_to_filter, add_member, error);
    const int result = filter_bpf_add(&sampler->filter, sampler->targets.only_thread);
    return result ? permission_explain(0, true, -result, error) : 0;
}

/* The counters of one thread; *full says that no more can be had. */
static int add_counter(struct sampler *sampler, pid_t pid, pid_t tid, size_t ring_bytes, bool *full)
{
    struct ring ring;
    const bool is_command = sampler->launch.pid > 0;
    const int result = counters_add(&sampler->cpu_time, pid, tid, !sampler->targets.only_thread,
                                    is_command, ring_bytes, &ring);
    *full = result == -EMFILE || result == -ENFILE || result == -ENOMEM;
    if (result && result != -ESRCH)
        sprof_log_message(
            sampler->log, SPROF_LOG_WARNING, "CPU time of thread %d cannot be counted%s", tid,
            *full ? ", nor that of later ones: too many threads for `ulimit -n`" : "");
    return !result && ring.base && merge_add(&sampler->merge, &ring) ? SPROF_ENOMEM : 0;
}

int session_open_counters(struct sampler *sampler, struct sprof_error *error)
{
    bool full = false;
    int result = 0;
    const pid_t only = sampler->targets.only_thread;
    if (sampler->launch.pid)
        return add_counter(sampler, sampler->launch.pid, sampler->launch.pid, COMMAND_RING_BYTES,
                           &full)
                   ? sprof_error_memory(error)
                   : 0;
    for (size_t i = 0; i < sampler->attached.count; i++) {
        const pid_t pid = sampler->attached.items[i].pid;
        struct id_list threads = {0};
        proc_threads(pid, &threads);
        for (size_t j = 0; !result && !full && j < threads.count; j++) {
            const pid_t tid = threads.items[j];
            const size_t rings = sampler->merge.rings.count - sampler->cpu_rings;
            if (!only || only == tid)
                result = targets_add_thread(&sampler->targets, pid, tid) ||
                         add_counter(sampler, pid, tid,
                                     rings < COUNTER_RINGS_MAX ? COUNTER_RING_BYTES : 0, &full);
        }
        sprof_vec_release(&threads);
    }
    return result ? sprof_error_memory(error) : 0;
}
