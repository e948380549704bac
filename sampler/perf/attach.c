/* Taking in processes that already run, while they go on starting threads. */
#include "sampler/perf/perf_source.h"
#include "sampler/perf/permission.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum {
    ROUNDS_MAX = 100, /* of scanning a process that starts threads all the time */
    COUNTER_RING_BYTES = 4 << 10,
    COMMAND_RING_BYTES = 64 << 10,
    COUNTER_RINGS_MAX = 64, /* each is a mapping, and memory that stays locked */
    NAP_NS_MAX = 10000000,
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
    for (size_t i = 0; i < source->rings.merge.rings.count; i++) {
        struct sampler_ring *ring = &source->rings.merge.rings.items[i];
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
    const int result = perf_filter_bpf_add(&source->programs.filter, fork->tid);
    return result || !sprof_map_put(known, (uint64_t)fork->tid, fork->time_ns) ? result : -ENOMEM;
}

/* An event of the newest generation. */
static int bind_newest(struct perf_source *source, uint64_t event_id)
{
    struct perf_thread_events *threads = &source->thread_events;
    const uint64_t newest = threads->generations.count - 1;
    return sprof_map_put(&threads->event_generation, event_id, newest) ||
           sampler_layouts_bind(&source->layouts, event_id, threads->layout);
}

static uint64_t own_key(uint64_t generation, pid_t tid)
{
    return generation << 32 | (uint32_t)tid;
}

uint64_t perf_attach_key(const struct perf_thread_events *events, uint64_t event_id, pid_t tid)
{
    const uint64_t *generation = sprof_map_get(&events->event_generation, event_id);
    return own_key(generation ? *generation : 0, tid);
}

/* Opens one event of a thread on each CPU, into that CPU's ring: a sampling event where `number`,
 * its index in config.events, is not SIZE_MAX. A thread that ended is no error. */
static int open_on_cpus(struct perf_source *source, struct perf_event_attr *attr, pid_t tid,
                        size_t number)
{
    struct sprof_id_list *list = number == SIZE_MAX ? &source->trackers : &source->events;
    for (size_t i = 0; i < source->cpus.count; i++) {
        const int fd =
            perf_open_dropping(attr, tid, source->cpus.items[i],
                               source->rings.merge.rings.items[source->rings.of_events + i].fd);
        if (fd == -ESRCH)
            return 0;
        if (fd < 0)
            return fd;
        if (sprof_vec_push(list, fd)) {
            close(fd);
            return -ENOMEM;
        }
        const uint64_t id = perf_event_id(fd);
        if (sprof_map_put(&source->thread_events.event_tid, id, (uint64_t)tid) ||
            (number != SIZE_MAX && perf_source_number_event(source, fd, number)) ||
            (source->thread_events.generations.count && bind_newest(source, id)))
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
    const size_t generations = source->thread_events.generations.count;
    int result = 0;
    if (only && !generations) {
        perf_config_ring_event(&attr, true);
        perf_config_take_switches(&source->config, &attr);
        attr.watermark = 0;
        attr.wakeup_watermark = 0;
        attr.disabled = 0;
        attr.inherit = 1;
        result = open_on_cpus(source, &attr, tid, SIZE_MAX);
    }
    for (size_t i = 0; i < source->config.events.count && !result && (!only || only == tid); i++) {
        perf_config_sampling_event(&source->config, i, &attr, false, !only && i == 0);
        attr.disabled = 0;
        attr.inherit = !only;
        result = open_on_cpus(source, &attr, tid, i);
    }
    if (!result &&
        (sprof_map_put(&source->taken_in.tids, (uint64_t)tid, sprof_clock_monotonic_ns()) ||
         sprof_map_put(&source->thread_events.tids, own_key(generations ? generations - 1 : 0, tid),
                       1)))
        result = -ENOMEM;
    return result;
}

static int add_to_filter(struct perf_source *source, pid_t pid, pid_t tid)
{
    (void)pid;
    const int result = perf_filter_bpf_add(&source->programs.filter, tid);
    if (result)
        return result;
    return sprof_map_put(&source->taken_in.tids, (uint64_t)tid, 0) ? -ENOMEM : 0;
}

/* One look at the threads of a process; takes in the unknown ones. Returns how many, or a
 * negative errno. */
static int scan_process(struct perf_source *source, pid_t pid, const struct intake *intake)
{
    struct sprof_id_list threads = {0};
    int result = sprof_proc_threads(pid, &threads), taken = 0;
    if (result == -ENOENT || result == -ESRCH)
        result = 0;
    if (!result && threads.count && intake->known->count) {
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
    const struct intake intake = {&source->taken_in.tids, open_thread, note_inherited};
    return scan_all(source, &intake, error);
}

/* == Once more == */

/* As note_inherited; and a new process is looked at in the next round. */
static int note_forked(struct perf_source *source, struct sprof_map *known,
                       const struct model_record *fork)
{
    if (perf_members_add_process(&source->members, fork->pid) ||
        perf_members_add_thread(&source->members, fork->pid, fork->tid))
        return -ENOMEM;
    return note_inherited(source, known, fork);
}

/* One look at all processes with threads alive; returns how many threads were taken in, or a
 * negative errno. */
static int scan_members(struct perf_source *source, const struct intake *intake)
{
    struct sprof_map pids = {0};
    const struct sprof_map *threads = &source->members.threads;
    int result = 0, taken = 0;
    for (size_t i = 0; !result && i < threads->capacity; i++)
        if (threads->slots[i].key && threads->slots[i].value)
            result = sprof_map_put(&pids, threads->slots[i].value, 1) ? -ENOMEM : 0;
    for (size_t i = 0; result >= 0 && i < pids.capacity; i++) {
        if (!pids.slots[i].key)
            continue;
        result = scan_process(source, (pid_t)pids.slots[i].key, intake);
        taken += result > 0 ? result : 0;
    }
    sprof_map_release(&pids);
    return result < 0 ? result : taken;
}

static int take_in_again(struct perf_source *source)
{
    const struct intake intake = {&source->taken_in.tids, open_thread, note_forked};
    if (source->members.only_thread)
        return open_thread(source, 0, source->members.only_thread);
    int taken = 1;
    for (int round = 0; taken > 0 && round < ROUNDS_MAX; round++)
        taken = scan_members(source, &intake);
    return taken < 0 ? taken : 0;
}

/* The events that there are become a generation, and so do those to come. */
static int begin_generation(struct perf_source *source)
{
    struct perf_thread_events *threads = &source->thread_events;
    static const struct perf_generation always = {0, UINT64_MAX};
    if (sprof_vec_reserve(&threads->generations, threads->generations.count + 2))
        return -ENOMEM;
    if (!threads->generations.count) {
        for (size_t i = 0; i < source->events.count; i++)
            if (sprof_map_put(&threads->event_generation, perf_event_id(source->events.items[i]),
                              0))
                return -ENOMEM;
        threads->generations.items[threads->generations.count++] = always;
    }
    threads->generations.items[threads->generations.count++] = always;
    sprof_map_release(&source->taken_in.tids);
    return 0;
}

static void close_events(struct perf_source *source, size_t first, size_t count)
{
    struct sprof_id_list *events = &source->events;
    for (size_t i = first; i < first + count; i++)
        perf_event_disable(events->items[i]);
    for (size_t i = first; i < first + count; i++) {
        perf_losses_close_event(source, SIZE_MAX, events->items[i]);
        close(events->items[i]);
    }
    events->count -= count;
    memmove(events->items + first, events->items + first + count,
            (events->count - first) * sizeof *events->items);
}

/* Until a period of the new events has begun anywhere at random for each thread: then those cut off
 * and those begun make up for each other. */
static uint64_t random_moment(struct perf_source *source)
{
    const uint64_t period_ns = 1000000000 / perf_config_samples_per_second(&source->config);
    uint64_t word = 0;
    if (getrandom(&word, sizeof word, GRND_NONBLOCK) < 0)
        word = sprof_clock_monotonic_ns();
    const struct timespec nap = {
        .tv_nsec = (long)(word % (period_ns < NAP_NS_MAX ? period_ns + 1 : NAP_NS_MAX))};
    nanosleep(&nap, NULL);
    return sprof_clock_monotonic_ns();
}

int perf_attach_again(struct perf_source *source, const struct perf_config *config, int layout)
{
    struct perf_thread_events *threads = &source->thread_events;
    const struct perf_config former = source->config;
    const int former_layout = threads->layout;
    const size_t before = source->events.count;
    int result = begin_generation(source);
    if (result)
        return result;
    source->config = *config;
    threads->layout = layout;
    result = take_in_again(source);
    const size_t newest = threads->generations.count - 1;
    struct perf_generation *generations = threads->generations.items;
    if (result) {
        generations[newest].from_ns = UINT64_MAX;
        close_events(source, before, source->events.count - before);
        source->config = former;
        threads->layout = former_layout;
        return result;
    }
    /* The last that was not given up. */
    size_t last = newest - 1;
    while (generations[last].from_ns == UINT64_MAX)
        last--;
    generations[newest].from_ns = generations[last].to_ns = random_moment(source);
    close_events(source, 0, before);
    return 0;
}

/* Events of both generations report births and deaths while both run. */
static bool is_told_twice(struct perf_thread_events *events, const struct model_record *record)
{
    const uint64_t now = record->type == MODEL_RECORD_FORK ? 1 : 2;
    const uint64_t *before = sprof_map_get(&events->told, (uint64_t)record->tid);
    if (before && *before == now)
        return true;
    sprof_map_put(&events->told, (uint64_t)record->tid, now); /* without memory it comes twice */
    return false;
}

bool perf_attach_counts(struct perf_thread_events *events, const struct model_record *record,
                        uint64_t event_id)
{
    const uint64_t *index = sprof_map_get(&events->event_generation, event_id);
    if (!index)
        return true;
    const struct perf_generation *generation = &events->generations.items[*index];
    if (record->type == MODEL_RECORD_SAMPLE)
        return record->time_ns >= generation->from_ns && record->time_ns < generation->to_ns;
    const bool is_life = record->type == MODEL_RECORD_FORK || record->type == MODEL_RECORD_EXIT;
    return !is_life || !is_told_twice(events, record);
}

/* == Whole CPUs == */

int perf_attach_filter(struct perf_source *source, struct sprof_error *error)
{
    const struct intake intake = {&source->taken_in.tids, add_to_filter, add_member};
    if (!source->members.only_thread)
        return scan_all(source, &intake, error);
    const int result = perf_filter_bpf_add(&source->programs.filter, source->members.only_thread);
    return result ? perf_explain(0, true, -result, error) : 0;
}

/* A thread that forks while the records of forks are looked through is a member already, and so are
 * its children; one that did so before has left a record by then. */
int perf_attach_filter_later(struct perf_source *source)
{
    const struct intake intake = {&source->taken_in.tids, add_to_filter, add_member};
    const struct sprof_map *threads = &source->members.threads;
    int result = 0;
    for (size_t i = 0; !result && i < threads->capacity; i++)
        if (threads->slots[i].key && threads->slots[i].value)
            result =
                add_to_filter(source, (pid_t)threads->slots[i].value, (pid_t)threads->slots[i].key);
    for (size_t before = SIZE_MAX; !result && before != source->taken_in.tids.count;) {
        before = source->taken_in.tids.count;
        result = note_forks(source, &intake);
    }
    return result ? SPROF_ENOMEM : 0;
}

/* == Counters == */

static void open_spares(struct perf_source *source)
{
    for (size_t i = 0; i < sizeof source->taken_in.spare_fds / sizeof *source->taken_in.spare_fds;
         i++)
        source->taken_in.spare_fds[i] =
            fcntl(source->rings.merge.rings.items->fd, F_DUPFD_CLOEXEC, 0);
}

static void close_spares(struct perf_source *source)
{
    for (size_t i = 0; i < sizeof source->taken_in.spare_fds / sizeof *source->taken_in.spare_fds;
         i++) {
        if (source->taken_in.spare_fds[i] >= 0)
            close(source->taken_in.spare_fds[i]);
        source->taken_in.spare_fds[i] = -1;
    }
}

/* The counters of one thread. What cannot be counted is said once and left out. */
static int count_thread(struct perf_source *source, pid_t pid, pid_t tid)
{
    const bool is_command = target_command(source->target) > 0;
    const size_t rings = source->rings.merge.rings.count - source->rings.of_cpus;
    const size_t ring_bytes = is_command                  ? COMMAND_RING_BYTES
                              : rings < COUNTER_RINGS_MAX ? COUNTER_RING_BYTES
                                                          : 0;
    struct sampler_ring ring = {.fd = -1};
    const int result =
        source->taken_in.counters_full
            ? -EMFILE
            : perf_counters_add(&source->counters, pid, tid, !source->members.only_thread,
                                is_command && !source->pauses.now, ring_bytes, &ring);
    if (result && result != -ESRCH && !source->taken_in.counters_full) {
        source->taken_in.counters_full = true;
        close_spares(source);
        sprof_log_message(source->log, SPROF_LOG_WARNING,
                          "the CPU time of thread %d and later ones cannot be counted: %s%s", tid,
                          strerror(-result), result == -EMFILE ? "; see `ulimit -n`" : "");
    }
    if (!result && ring.mapping && sampler_merge_add(&source->rings.merge, &ring))
        return -ENOMEM;
    const uint64_t before_ns = result ? sprof_proc_cpu_time_ns(pid, tid) : 0;
    return perf_members_add_thread(&source->members, pid, tid) ||
                   sprof_map_put(&source->taken_in.tids_with_counter, (uint64_t)tid,
                                 sprof_clock_monotonic_ns()) ||
                   (before_ns &&
                    sprof_map_put(&source->taken_in.cpu_before_start, (uint64_t)tid, before_ns))
               ? -ENOMEM
               : 0;
}

int perf_attach_counters(struct perf_source *source, struct sprof_error *error)
{
    const struct intake intake = {&source->taken_in.tids_with_counter, count_thread,
                                  note_inherited};
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
