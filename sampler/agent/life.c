/* Processes of the target: how they come, what they start, and what is left to say when they end.
 */
#include "sampler/agent/sigprof_source.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CALLERS_A_LOOK = 64, EVENTS_A_LOOK = 64, LAST_CLOCK_NS = 1000000000, ANCESTORS_MAX = 64 };

static struct sigprof_process *process_of(const struct sigprof_source *source, pid_t pid)
{
    for (size_t i = source->processes.count; i-- > 0;)
        if (source->processes.items[i]->pid == pid && !source->processes.items[i]->left)
            return source->processes.items[i];
    return NULL;
}

/* == The end of a process == */

/* The main thread, and threads that ended with the process, said nothing: their CPU time is that of
 * their last sample, or the process's where there was but one. */
static uint64_t cpu_ns_of_thread(const struct sigprof_process *process, size_t ring)
{
    const pid_t tid = sigprof_process_tid(process, process->rings[ring].tid);
    const uint64_t live_ns = sprof_proc_cpu_time_ns(process->pid, tid); /* 0 once it is gone */
    if (live_ns)
        return live_ns;
    const uint64_t sampled_ns =
        atomic_load_explicit(&process->shared->slots[ring].cpu_ns, memory_order_relaxed);
    const uint64_t used_ns = process->cpu_ns + process->cpu_base_ns;
    if (sampled_ns > process->cpu_ns + process->cpu_base_ns + LAST_CLOCK_NS)
        return 0; /* more than the whole process: not true */
    return process->ring_count == 1 && used_ns > sampled_ns ? used_ns : sampled_ns;
}

/* Says of each thread that has not said so itself what it used, and that it ended. A process that
 * execve replaced goes on as its main thread. */
static int leave(struct sigprof_source *source, struct sigprof_process *process, uint64_t now_ns,
                 bool has_ended, bool is_replaced)
{
    int result = sigprof_process_refresh(process);
    if (!result)
        result = sigprof_tell_losses(source, process, now_ns);
    source->counts.unsampled_threads += sigprof_count_strangers(process);
    process->ended = process->left = true;
    bool ends_without_slot = has_ended && !is_replaced;
    for (size_t i = 0; !result && i < process->ring_count; i++) {
        const pid_t tid = sigprof_process_tid(process, process->rings[i].tid);
        if (tid <= 0 || tid == process->rings[i].gone_tid)
            continue;
        const bool goes_on = !has_ended || (is_replaced && tid == process->pid);
        ends_without_slot &= tid != process->pid;
        struct model_record used =
            sigprof_record_of(MODEL_RECORD_CPU_TIME, process->pid, tid, now_ns);
        used.cpu_time.cpu_time_ns = cpu_ns_of_thread(process, i);
        const struct model_record exited =
            sigprof_record_of(MODEL_RECORD_EXIT, process->pid, tid, now_ns);
        if (used.cpu_time.cpu_time_ns && !is_replaced)
            result = sigprof_events_add(&source->events, &used);
        if (!result && !goes_on)
            result = sigprof_events_add(&source->events, &exited);
    }
    if (!result && ends_without_slot) {
        const struct model_record exited =
            sigprof_record_of(MODEL_RECORD_EXIT, process->pid, process->pid, now_ns);
        result = sigprof_events_add(&source->events, &exited);
    }
    if (process->has_cpu) {
        source->dead_cpu_ns += process->cpu_ns;
        source->counts.helpers_ns += sigprof_process_helper_ns(process);
    }
    process->has_cpu = false;
    return result;
}

static int end_process(struct sigprof_source *source, struct sigprof_process *process,
                       uint64_t now_ns)
{
    sigprof_look_at_clock(process);
    epoll_ctl(source->epoll_fd, EPOLL_CTL_DEL, process->pidfd, NULL);
    return leave(source, process, now_ns, true, false);
}

int sigprof_end_all(struct sigprof_source *source, uint64_t now_ns)
{
    int result = 0;
    for (size_t i = 0; !result && i < source->processes.count; i++) {
        struct sigprof_process *process = source->processes.items[i];
        if (process->left)
            continue;
        sigprof_look_at_clock(process);
        result = leave(source, process, now_ns, false, false);
    }
    return result;
}

void sigprof_drop_ended(struct sigprof_source *source)
{
    size_t kept = 0;
    for (size_t i = 0; i < source->processes.count; i++) {
        struct sigprof_process *process = source->processes.items[i];
        if (process->left && sigprof_process_drained(process) && !source->stopped)
            sigprof_process_free(process);
        else
            source->processes.items[kept++] = process;
    }
    source->processes.count = kept;
}

/* == The beginning == */

/* Whether sprof is below this process, which then takes in those whose parent has ended: it is the
 * first one, or a service manager, or a container's. */
static bool takes_in(pid_t pid)
{
    struct sprof_proc_stat stat = {.parent = getpid()};
    bool found = pid == 1;
    for (int hops = 0; hops < ANCESTORS_MAX && !found; hops++) {
        found = stat.parent == pid;
        if (!found && !sprof_proc_stat_read(stat.parent, &stat))
            return false;
    }
    return found;
}

/* A parent that has ended has left its children to another process. Numbers of another pid
 * namespace say nothing here. */
static pid_t parent_of(const struct sigprof_source *source, const struct sigprof_caller *caller,
                       pid_t present)
{
    const struct agent_hello *hello = &caller->hello;
    const bool is_known = hello->pid == (uint32_t)caller->pid && hello->parent &&
                          sprof_map_get(&source->pids, hello->parent);
    if (is_known)
        return (pid_t)hello->parent;
    const bool is_left = !sprof_map_get(&source->pids, (uint32_t)present) && takes_in(present);
    return is_left ? target_command(source->target) : present;
}

static void note_program(struct sigprof_process *process)
{
    char path[64];
    struct stat file;
    struct sprof_proc_stat facts;
    if (sprof_proc_stat_read(process->pid, &facts))
        process->stack = facts.stack;
    sprof_proc_shared_path(path, sizeof path, process->pid, "exe");
    if (stat(path, &file))
        return;
    process->device = file.st_dev;
    process->inode = file.st_ino;
}

static int tell_beginning(struct sigprof_source *source, const struct sigprof_caller *caller,
                          struct sigprof_process *process, bool is_known, uint64_t now_ns)
{
    struct sprof_proc_stat stat;
    char name[16];
    int result = 0;
    note_program(process);
    if (!is_known && process->pid != target_command(source->target) &&
        sprof_proc_stat_read(process->pid, &stat)) {
        struct model_record fork =
            sigprof_record_of(MODEL_RECORD_FORK, process->pid, process->pid, process->begin_ns);
        fork.fork.parent_pid = parent_of(source, caller, stat.parent);
        /* Its parent may have ended before this process came to say so. */
        if (!sprof_map_get(&source->pids, (uint32_t)fork.fork.parent_pid))
            fork.fork.parent_tid = fork.fork.parent_pid;
        result = sigprof_events_add(&source->events, &fork);
    }
    if (!result)
        result = sprof_map_put(&source->pids, (uint32_t)process->pid, 1);
    if (result || caller->hello.flags & AGENT_HELLO_FORKED)
        return result;
    struct model_record comm =
        sigprof_record_of(MODEL_RECORD_COMM, process->pid, process->pid, process->begin_ns);
    sprof_proc_comm(process->pid, process->pid, name);
    comm.comm.name = name;
    comm.comm.exec = true;
    result = sigprof_events_add(&source->events, &comm);
    return result ? result : sigprof_maps_tell(source, process, process->begin_ns, now_ns);
}

/* Processes share the memory for rings: where much of it is given away, further ones get less. */
static unsigned ring_shift(const struct sigprof_source *source)
{
    size_t bytes = 0;
    for (size_t i = 0; i < source->processes.count; i++)
        bytes += sigprof_process_ring_bytes(source->processes.items[i]);
    return bytes * 2 < source->ring_budget_bytes       ? 0
           : bytes * 4 < source->ring_budget_bytes * 3 ? 2
                                                       : 4;
}

static int add_process(struct sigprof_source *source, const struct sigprof_caller *caller,
                       struct sigprof_process *process, uint64_t now_ns)
{
    struct sigprof_process *before = process_of(source, caller->pid);
    struct epoll_event end = {.events = EPOLLIN, .data.ptr = process};
    int result = 0;
    if (process->begin_ns > now_ns || process->begin_ns < source->last_ns)
        process->begin_ns = source->last_ns;
    process->lost_until_ns = process->begin_ns;
    process->standing = caller->hello.standing;
    sigprof_count_standing(source, process->standing);
    atomic_store(&process->shared->control.standing, process->standing);
    process->cpu_base_ns =
        caller->pid == target_command(source->target) ? source->command_cpu_ns : 0;
    if (before) {
        before->has_cpu = false; /* the clock goes on through execve: the new image counts it all */
        process->helper_ns = sigprof_process_helper_ns(before);
        epoll_ctl(source->epoll_fd, EPOLL_CTL_DEL, before->pidfd, NULL);
        result = leave(source, before, process->begin_ns, true, true);
    }
    if (process->pidfd >= 0)
        epoll_ctl(source->epoll_fd, EPOLL_CTL_ADD, process->pidfd, &end);
    source->tick_ns = caller->hello.tick_ns ? caller->hello.tick_ns : source->tick_ns;
    return result ? result : tell_beginning(source, caller, process, before != NULL, now_ns);
}

/* The caller waits for its welcome: what /proc shows of it now was so when it began. */
static int answer(struct sigprof_source *source, const struct sigprof_caller *caller,
                  uint64_t now_ns)
{
    int memory_fd;
    if (caller->hello.standing == AGENT_NO_DESCRIPTORS) {
        source->counts.programs_without_descriptors++;
        return 0;
    }
    if (sprof_vec_reserve(&source->processes, source->processes.count + 1))
        return SPROF_ENOMEM;
    struct sigprof_process *process =
        sigprof_process_new(caller->pid, &caller->hello, ring_shift(source), &memory_fd);
    if (!process)
        return 0; /* it goes on without, and what it uses is known from its parent's account */
    atomic_store(&process->shared->control.tails, (uint32_t)AGENT_TAILS >> process->ring_shift);
    sigprof_control_process(source, process);
    const int result = add_process(source, caller, process, now_ns);
    source->processes.items[source->processes.count++] = process;
    source->counts.agents++;
    if (!result)
        sigprof_rendezvous_welcome(&source->rendezvous, caller, memory_fd, process->ring_shift);
    close(memory_fd);
    return result;
}

int sigprof_look_for_processes(struct sigprof_source *source, uint64_t now_ns)
{
    struct epoll_event events[EVENTS_A_LOOK];
    const int count = epoll_wait(source->epoll_fd, events, EVENTS_A_LOOK, 0);
    int result = 0;
    struct sigprof_caller caller;
    for (int i = 0; i < CALLERS_A_LOOK && !result && !source->stopped &&
                    sigprof_rendezvous_accept(&source->rendezvous, &caller);
         i++) {
        result = answer(source, &caller, sprof_clock_monotonic_ns());
        close(caller.fd);
    }
    source->busy |= source->rendezvous.silent_count > 0;
    for (int i = 0; i < count && !result; i++) {
        struct sigprof_process *process = events[i].data.ptr;
        if (process && !process->left)
            result = end_process(source, process, now_ns);
    }
    return result;
}
