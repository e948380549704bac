/* Looks at the threads of processes from outside: what they are called, which of them the agent
 * does not sample, and which have ended without its notice. */
#include "sampler/agent/sigprof_source.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    NAMES_NS = 200000000,    /* between two looks at names */
    NAMED_MAX = 64,          /* of more threads the names come with their ends */
    SCAN_NS = 20000000,      /* between two scans where threads are unknown … */
    SCAN_MAX_NS = 160000000, /* … which grows up to this while none of those does anything */
    SURE_NS = 15000000,      /* what a second look must still see: births and ends take a moment */
    BEGUN_NS = 2000000,      /* CPU time: more than a thread uses before it has its timer */
    STRANGERS_MAX = 1024,
};

/* Between its FORK and its EXIT, which it writes itself: a name before or after them would be that
 * of another thread of the same number. */
static bool is_under_way(const struct sigprof_process *process, pid_t tid)
{
    if (tid != process->pid && !sprof_map_get(&process->tids, (uint64_t)tid))
        return false;
    for (size_t i = 0; i < process->ring_count; i++)
        if (sigprof_process_tid(process, (pid_t)atomic_load_explicit(&process->shared->slots[i].tid,
                                                                     memory_order_acquire)) == tid)
            return true;
    return false;
}

/* Whether it runs another program already, whose agent has not called yet. */
static bool has_executed(const struct sigprof_process *process)
{
    char path[64];
    struct stat file;
    struct sprof_proc_stat facts;
    if (process->stack && sprof_proc_stat_read(process->pid, &facts) && facts.stack &&
        facts.stack != process->stack)
        return true; /* one file is several programs, or is executed again */
    sprof_proc_shared_path(path, sizeof path, process->pid, "exe");
    return process->inode && !stat(path, &file) &&
           (file.st_dev != process->device || file.st_ino != process->inode);
}

static int tell_name(struct sigprof_source *source, struct sigprof_process *process, pid_t tid,
                     uint64_t now_ns)
{
    char name[16];
    struct model_record comm = sigprof_record_of(MODEL_RECORD_COMM, process->pid, tid, now_ns);
    sprof_proc_comm(process->pid, tid, name);
    comm.comm.name = name;
    if (tid == process->pid && has_executed(process)) /* the name may be the later program's */
        return 0;
    return *name && is_under_way(process, tid) ? sigprof_events_add(&source->events, &comm) : 0;
}

/* == Requests to the agent == */

/* False: all earlier requests are still open. */
static bool request(struct sigprof_process *process, uint32_t what)
{
    struct agent_control *control = &process->shared->control;
    for (size_t i = 0; i < AGENT_REQUESTS; i++) {
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&control->requests[i], &none, what))
            continue;
        atomic_store(&control->has_requests, 1);
        return true;
    }
    return false;
}

/* == Threads unknown to the agent == */

static struct sigprof_stranger *stranger_of(struct sigprof_process *process, pid_t tid)
{
    for (size_t i = 0; i < process->strangers.count; i++)
        if (process->strangers.items[i].tid == tid)
            return &process->strangers.items[i];
    return NULL;
}

/* Records have spoken of it meanwhile. */
static void forget_acquainted(struct sigprof_process *process)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->strangers.count; i++)
        if (!sprof_map_get(&process->tids, (uint64_t)process->strangers.items[i].tid))
            process->strangers.items[kept++] = process->strangers.items[i];
    process->strangers.count = kept;
}

/* The agent's own thread; 0: there is none. */
static pid_t helper_of(const struct sigprof_process *process)
{
    return (pid_t)atomic_load_explicit(&process->shared->control.helper_tid, memory_order_relaxed);
}

/* No record spoke of it, and it uses more than a thread does before it has its timer. The main
 * thread is the agent's from the beginning, and no record but samples speaks of it. */
static bool is_stranger(const struct sigprof_process *process, pid_t tid)
{
    return tid != process->pid && tid != helper_of(process) &&
           !sprof_map_get(&process->tids, (uint64_t)tid) &&
           sprof_proc_cpu_time_ns(process->pid, tid) > BEGUN_NS;
}

static int look_at_stranger(struct sigprof_process *process, pid_t tid, uint64_t now_ns)
{
    struct sigprof_stranger *stranger = stranger_of(process, tid);
    if (!stranger && !is_stranger(process, tid))
        return 0;
    if (!stranger)
        return process->strangers.count == STRANGERS_MAX
                   ? 0
                   : sprof_vec_push(&process->strangers,
                                    (struct sigprof_stranger){tid, now_ns, false});
    if (!stranger->asked && now_ns - stranger->seen_ns >= SURE_NS)
        stranger->asked = request(process, (uint32_t)tid);
    return 0;
}

/* Those that the agent was to take in and did not. */
size_t sigprof_count_strangers(struct sigprof_process *process)
{
    size_t count = 0;
    forget_acquainted(process);
    for (size_t i = 0; i < process->strangers.count; i++)
        count += process->strangers.items[i].asked;
    return count;
}

/* == Threads that ended past the agent == */

static int tell_end(struct sigprof_source *source, struct sigprof_process *process, size_t ring,
                    uint64_t now_ns)
{
    const pid_t tid = process->rings[ring].tid;
    struct model_record used = sigprof_record_of(MODEL_RECORD_CPU_TIME, process->pid, tid, now_ns);
    const struct model_record exited =
        sigprof_record_of(MODEL_RECORD_EXIT, process->pid, tid, now_ns);
    used.cpu_time.cpu_time_ns =
        atomic_load_explicit(&process->shared->slots[ring].cpu_ns, memory_order_relaxed);
    if (used.cpu_time.cpu_time_ns > now_ns) /* since the machine began: not true */
        used.cpu_time.cpu_time_ns = 0;
    process->rings[ring].gone_tid = tid;
    request(process, (uint32_t)tid | AGENT_REQUEST_GONE);
    const int result = used.cpu_time.cpu_time_ns ? sigprof_events_add(&source->events, &used) : 0;
    return result ? result : sigprof_events_add(&source->events, &exited);
}

static int look_at_ring(struct sigprof_source *source, struct sigprof_process *process,
                        size_t index, const struct sprof_map *alive, uint64_t now_ns)
{
    struct sigprof_ring *ring = &process->rings[index];
    if (ring->tid <= 0 || ring->tid == ring->gone_tid)
        return 0;
    ring->gone_tid = 0;
    if (sprof_map_get(alive, (uint64_t)ring->tid)) {
        ring->missing_ns = 0;
        return 0;
    }
    if (!ring->missing_ns)
        ring->missing_ns = now_ns;
    return now_ns - ring->missing_ns < SURE_NS ? 0 : tell_end(source, process, index, now_ns);
}

/* == The scan == */

/* Of the kernel's directory of threads, two of whose links are its own. */
static size_t count_threads(const struct sigprof_process *process)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/task", process->pid);
    return stat(path, &status) || status.st_nlink < 2 ? 0 : (size_t)status.st_nlink - 2;
}

static size_t count_slots(const struct sigprof_process *process)
{
    size_t count = helper_of(process) > 0;
    for (size_t i = 0; i < process->ring_count; i++)
        count += process->rings[i].tid > 0;
    return count;
}

static int list_threads(const struct sigprof_process *process, struct sprof_id_list *threads,
                        struct sprof_map *alive, struct sprof_map *known)
{
    int result = sprof_proc_threads(process->pid, threads) == -ENOMEM ? SPROF_ENOMEM : 0;
    for (size_t i = 0; !result && i < threads->count; i++)
        result = sprof_map_put(alive, (uint64_t)threads->items[i], 1);
    for (size_t i = 0; !result && i < process->ring_count; i++)
        if (process->rings[i].tid > 0)
            result = sprof_map_put(
                known, (uint64_t)sigprof_process_tid(process, process->rings[i].tid), 1);
    return result;
}

static int scan(struct sigprof_source *source, struct sigprof_process *process, bool names,
                uint64_t now_ns)
{
    struct sprof_id_list threads = {0};
    struct sprof_map alive = {0}, known = {0};
    const bool speaks_our_numbers = process->pid == process->inner_pid;
    forget_acquainted(process);
    int result = list_threads(process, &threads, &alive, &known);
    for (size_t i = 0; !result && i < threads.count; i++) {
        const pid_t tid = threads.items[i];
        const bool is_known = sprof_map_get(&known, (uint64_t)tid);
        if (is_known && names && threads.count <= NAMED_MAX)
            result = tell_name(source, process, tid, now_ns);
        else if (!is_known && speaks_our_numbers)
            result = look_at_stranger(process, tid, now_ns);
    }
    for (size_t i = 0; !result && speaks_our_numbers && threads.count && i < process->ring_count;
         i++)
        result = look_at_ring(source, process, i, &alive, now_ns);
    sprof_vec_release(&threads);
    sprof_map_release(&alive);
    sprof_map_release(&known);
    return result;
}

/* Soon looks at threads unknown to the agent; where those do nothing, less and less often. */
static int look_for_strangers(struct sigprof_source *source, struct sigprof_process *process,
                              uint64_t now_ns)
{
    const size_t before = process->thread_count, strangers = process->strangers.count;
    const uint64_t waited_ns = process->scan_again_ns - process->scanned_ns;
    process->scanned_ns = now_ns;
    process->thread_count = count_threads(process);
    uint64_t wait_ns = SCAN_NS;
    int result = 0;
    if (process->thread_count && process->thread_count != count_slots(process)) {
        result = scan(source, process, false, now_ns);
        if (process->thread_count == before && process->strangers.count == strangers)
            wait_ns = waited_ns * 2 < SCAN_MAX_NS ? waited_ns * 2 : (uint64_t)SCAN_MAX_NS;
    }
    process->scan_again_ns = now_ns + (wait_ns > SCAN_NS ? wait_ns : (uint64_t)SCAN_NS);
    return result;
}

static int scan_process(struct sigprof_source *source, struct sigprof_process *process,
                        uint64_t now_ns)
{
    const bool names = now_ns - process->named_ns >= NAMES_NS;
    if (!names && now_ns < process->scan_again_ns)
        return 0;
    int result = sigprof_process_refresh(process);
    if (!result && !names)
        return look_for_strangers(source, process, now_ns);
    process->named_ns = now_ns;
    if (!result)
        result = scan(source, process, true, now_ns);
    return result ? result : sigprof_tell_losses(source, process, now_ns);
}

int sigprof_scan_threads(struct sigprof_source *source, uint64_t now_ns)
{
    int result = 0;
    for (size_t i = 0; !result && i < source->processes.count; i++)
        if (!source->processes.items[i]->left)
            result = scan_process(source, source->processes.items[i], now_ns);
    return result;
}
