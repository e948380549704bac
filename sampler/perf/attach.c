/* Taking in processes that already run, while they go on starting threads. */
#include "sampler/perf/perf_source.h"
#include "sampler/perf/permission.h"

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
    int (*take_in)(struct perf_source *source, pid_t pid, pid_t tid);
    int (*note_fork)(struct perf_source *source, struct sprof_map *known,
                     const struct model_record *fork);
};

/* Shows an intake the FORK records that lie unread in the rings. */
static int note_forks(struct perf_source *source, const struct intake *intake)
{
    for (size_t i = 0; i < source->cpu_rings; i++) {
        struct sampler_ring *ring = &source->merge.rings.items[i];
        sampler_ring_refresh(ring);
        struct perf_event_header header;
        for (uint64_t at = ring->tail; sampler_ring_header(ring, at, &header); at += header.size) {
            if (header.type != PERF_RECORD_FORK)
                continue;
            bool copied;
            uint64_t event_id;
            struct model_record record;
            const struct perf_event_header *whole =
                sampler_ring_record(ring, at, &header, source->buffer, &copied);
            if (sampler_decode_record(&source->layouts, whole, &record, &event_id) !=
                SAMPLER_DECODED_RECORD)
                continue;
            const int result = intake->note_fork(source, intake->known, &record);
            if (result)
                return result;
        }
    }
    return 0;
}

/* A thread forked by one that had all it needs has inherited that. */
static int note_inherited(struct perf_source *source, struct sprof_map *known,
                          const struct model_record *fork)
{
    (void)source;
    const uint64_t *complete_ns = sprof_map_get(known, (uint64_t)fork->fork.parent_tid);
    if (!complete_ns || fork->time_ns < *complete_ns || sprof_map_get(known, (uint64_t)fork->tid))
        return 0;
    return sprof_map_put(known, (uint64_t)fork->tid, fork->time_ns) ? -ENOMEM : 0;
}

/* What a target forked before it was in the kernel's set is not there either. */
static int add_member(struct perf_source *source, struct sprof_map *known,
                      const struct model_record *fork)
{
    const uint64_t *target =
        sprof_map_get(&source->members.processes, (uint64_t)fork->fork.parent_pid);
    if (!target || !*target || sprof_map_get(known, (uint64_t)fork->tid))
        return 0;
    if (fork->pid != fork->fork.parent_pid && perf_members_add_process(&source->members, fork->pid))
        return -ENOMEM;
    const int result = perf_filter_bpf_add(&source->filter, fork->tid);
    return result || !sprof_map_put(known, (uint64_t)fork->tid, fork->time_ns) ? result : -ENOMEM;
}

/* Opens one event of a thread on each CPU, into that CPU's ring. A thread that ended is no error.
 */
static int open_on_cpus(struct perf_source *source, struct perf_event_attr *attr, pid_t tid,
                        struct sprof_id_list *list)
{
    for (size_t i = 0; i < source->cpus.count; i++) {
        const int fd =
            perf_open_dropping(attr, tid, source->cpus.items[i], source->merge.rings.items[i].fd);
        if (fd == -ESRCH)
            return 0;
        if (fd < 0)
            return fd;
        if (sprof_vec_push(list, fd)) {
            close(fd);
            return -ENOMEM;
        }
        if (sprof_map_put(&source->event_tid, perf_event_id(fd), (uint64_t)tid))
            return -ENOMEM;
    }
    return 0;
}

/* Events that work at once, so that no fork goes unseen. Samples before the start are dropped. */
static int open_thread(struct perf_source *source, pid_t pid, pid_t tid)
{
    (void)pid;
    struct perf_event_attr attr;
    const pid_t only = source->members.only_thread;
    int result = 0;
    if (only) {
        perf_config_ring_event(&attr, true);
        attr.watermark = 0;
        attr.wakeup_watermark = 0;
        attr.disabled = 0;
        attr.inherit = 1;
        result = open_on_cpus(source, &attr, tid, &source->trackers);
    }
    if (!result && (!only || only == tid)) {
        perf_config_sampling_event(&source->config, &attr, false, !only);
        attr.disabled = 0;
        attr.inherit = !only;
        result = open_on_cpus(source, &attr, tid, &source->events);
    }
    if (!result &&
        (sprof_map_put(&source->tids_taken_in, (uint64_t)tid, sprof_clock_monotonic_ns()) ||
         sprof_map_put(&source->tids_with_events, (uint64_t)tid, 1)))
        result = -ENOMEM;
    return result;
}

static int add_to_filter(struct perf_source *source, pid_t pid, pid_t tid)
{
    (void)pid;
    const int result = perf_filter_bpf_add(&source->filter, tid);
    if (result)
        return result;
    return sprof_map_put(&source->tids_taken_in, (uint64_t)tid, 0) ? -ENOMEM : 0;
}

/* One look at the threads of a process; takes in those nobody knows. Returns how many, or a
 * negative errno. */
static int scan_process(struct perf_source *source, pid_t pid, const struct intake *intake)
{
    struct sprof_id_list threads = {0};
    int result = sprof_proc_threads(pid, &threads), taken = 0;
    if (result == -ENOENT || result == -ESRCH)
        result = 0;
    if (!result && intake->known->count) {
        nanosleep(&fork_gap, NULL);
        result = note_forks(source, intake);
    }
    for (size_t i = 0; !result && i < threads.count; i++) {
        if (sprof_map_get(intake->known, (uint64_t)threads.items[i]))
            continue;
        result = intake->take_in(source, pid, threads.items[i]);
        taken++;
    }
    sprof_vec_release(&threads);
    return result ? result : taken;
}

/* Scans until nothing new is found. */
static int scan_all(struct perf_source *source, const struct intake *intake,
                    struct sprof_error *error)
{
    const pid_t thread = target_thread(source->target);
    size_t count;
    const pid_t *pids = target_processes(source->target, &count);
    for (size_t i = 0; i < count; i++) {
        int taken = 1;
        for (int round = 0; taken > 0 && round < ROUNDS_MAX; round++)
            taken = scan_process(source, pids[i], intake);
        if (taken < 0)
            return perf_explain(thread ? thread : pids[i], thread > 0, -taken, error);
        if (taken > 0)
            sprof_log_message(source->log, SPROF_LOG_WARNING,
                              "process %d starts threads faster than they can be taken in; some "
                              "may be missed",
                              pids[i]);
    }
    return 0;
}

int perf_attach_tasks(struct perf_source *source, struct sprof_error *error)
{
    const struct intake intake = {&source->tids_taken_in, open_thread, note_inherited};
    return scan_all(source, &intake, error);
}

int perf_attach_filter(struct perf_source *source, struct sprof_error *error)
{
    const struct intake intake = {&source->tids_taken_in, add_to_filter, add_member};
    if (!source->members.only_thread)
        return scan_all(source, &intake, error);
    const int result = perf_filter_bpf_add(&source->filter, source->members.only_thread);
    return result ? perf_explain(0, true, -result, error) : 0;
}

static void open_spares(struct perf_source *source)
{
    for (size_t i = 0; i < sizeof source->spare_fds / sizeof *source->spare_fds; i++)
        source->spare_fds[i] = fcntl(source->merge.rings.items->fd, F_DUPFD_CLOEXEC, 0);
}

static void close_spares(struct perf_source *source)
{
    for (size_t i = 0; i < sizeof source->spare_fds / sizeof *source->spare_fds; i++) {
        if (source->spare_fds[i] >= 0)
            close(source->spare_fds[i]);
        source->spare_fds[i] = -1;
    }
}

/* The counters of one thread. What cannot be counted is said once and left out. */
static int count_thread(struct perf_source *source, pid_t pid, pid_t tid)
{
    const bool is_command = target_command(source->target) > 0;
    const size_t rings = source->merge.rings.count - source->cpu_rings;
    const size_t ring_bytes = is_command                  ? COMMAND_RING_BYTES
                              : rings < COUNTER_RINGS_MAX ? COUNTER_RING_BYTES
                                                          : 0;
    struct sampler_ring ring = {.fd = -1};
    const int result =
        source->counters_full
            ? -EMFILE
            : perf_counters_add(&source->counters, pid, tid, !source->members.only_thread,
                                is_command && !source->paused, ring_bytes, &ring);
    if (result && result != -ESRCH && !source->counters_full) {
        source->counters_full = true;
        close_spares(source);
        sprof_log_message(source->log, SPROF_LOG_WARNING,
                          "the CPU time of thread %d and later ones cannot be counted: %s%s", tid,
                          strerror(-result), result == -EMFILE ? "; see `ulimit -n`" : "");
    }
    if (!result && ring.mapping && sampler_merge_add(&source->merge, &ring))
        return -ENOMEM;
    const uint64_t before_ns = result ? sprof_proc_cpu_time_ns(pid, tid) : 0;
    return perf_members_add_thread(&source->members, pid, tid) ||
                   sprof_map_put(&source->tids_with_counter, (uint64_t)tid,
                                 sprof_clock_monotonic_ns()) ||
                   (before_ns && sprof_map_put(&source->cpu_before_start, (uint64_t)tid, before_ns))
               ? -ENOMEM
               : 0;
}

int perf_attach_counters(struct perf_source *source, struct sprof_error *error)
{
    const struct intake intake = {&source->tids_with_counter, count_thread, note_inherited};
    const pid_t command = target_command(source->target), only = source->members.only_thread;
    if (!command && !only) {
        open_spares(source);
        const int scanned = scan_all(source, &intake, error);
        close_spares(source);
        return scanned;
    }
    size_t one;
    const int result = command
                           ? count_thread(source, command, command)
                           : count_thread(source, *target_processes(source->target, &one), only);
    return result ? sprof_error_memory(error) : 0;
}
