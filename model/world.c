/* Processes and threads: who lives when, under which number and name. */
#include "model/world.h"

#include "model/world_parts.h"

#include <string.h>

/* How long after its end a bearer of a number still answers to it. Longer than the kernel samples a
 * thread after its EXIT, far shorter than it takes to use up all numbers. */
static const uint64_t linger_ns = 100 * 1000 * 1000;

void model_world_release(struct model_world *world)
{
    for (size_t i = 0; i < world->processes.count; i++) {
        sprof_vec_release(&world->processes.items[i]->mapped);
        sprof_vec_release(&world->processes.items[i]->history);
    }
    sprof_vec_release(&world->processes);
    sprof_vec_release(&world->threads);
    sprof_vec_release(&world->modules);
    sprof_vec_release(&world->mappings);
    sprof_vec_release(&world->kernel_mapped);
    sprof_vec_release(&world->kernel_history);
    sprof_map_release(&world->live_processes);
    sprof_map_release(&world->live_threads);
    sprof_map_release(&world->module_index);
    sprof_arena_release(&world->arena);
    *world = (struct model_world){0};
}

void world_touch(struct model_world *world, struct model_process *process)
{
    if (!++world->next_generation)
        world->next_generation = 1;
    process->generation = world->next_generation;
}

/* An end of 0 would mean "still there". */
static uint64_t end_time(uint64_t time_ns)
{
    return time_ns ? time_ns : 1;
}

static bool gone(uint64_t end_ns, uint64_t time_ns)
{
    return end_ns && time_ns > end_ns + linger_ns;
}

static struct model_process *newest_process(const struct model_world *world, int pid)
{
    const uint64_t *id = sprof_map_get(&world->live_processes, (uint64_t)(int64_t)pid);
    return id ? world_process_by_id(world, (uint32_t)*id) : NULL;
}

static struct model_thread *newest_thread(const struct model_world *world, int tid)
{
    const uint64_t *id = sprof_map_get(&world->live_threads, (uint64_t)(int64_t)tid);
    return id ? world->threads.items[*id - 1 - world->first_thread] : NULL;
}

static void process_end(struct model_world *world, struct model_process *process, uint64_t time_ns)
{
    if (process->end_ns)
        return;
    process->end_ns = end_time(time_ns);
    process->dirty = true;
    world_unmap_all(world, process, time_ns);
    sprof_vec_release(&process->mapped);
}

static void thread_end(struct model_world *world, struct model_thread *thread, uint64_t time_ns)
{
    if (thread->end_ns)
        return;
    thread->end_ns = end_time(time_ns);
    thread->dirty = true;
    struct model_process *process = world_process_by_id(world, thread->process);
    process->threads_alive--;
    if (!process->threads_alive)
        process_end(world, process, time_ns);
}

static struct model_process *process_new(struct model_world *world, int pid, uint64_t time_ns)
{
    struct model_process *process = sprof_arena_alloc(&world->arena, sizeof *process);
    if (!process || sprof_vec_reserve(&world->processes, world->processes.count + 1))
        return NULL;
    const uint32_t id = world->first_process + (uint32_t)world->processes.count + 1;
    if (sprof_map_put(&world->live_processes, (uint64_t)(int64_t)pid, id))
        return NULL;
    *process = (struct model_process){
        .id = id, .pid = pid, .start_ns = time_ns, .exec_seen = true, .dirty = true};
    world->processes.items[world->processes.count++] = process;
    world_touch(world, process);
    return process;
}

static struct model_thread *thread_new(struct model_world *world, struct model_process *process,
                                       int tid, uint64_t time_ns)
{
    struct model_thread *thread = sprof_arena_alloc(&world->arena, sizeof *thread);
    if (!thread || sprof_vec_reserve(&world->threads, world->threads.count + 1))
        return NULL;
    const uint32_t id = world->first_thread + (uint32_t)world->threads.count + 1;
    if (sprof_map_put(&world->live_threads, (uint64_t)(int64_t)tid, id))
        return NULL;
    *thread = (struct model_thread){
        .id = id, .process = process->id, .tid = tid, .start_ns = time_ns, .dirty = true};
    world->threads.items[world->threads.count++] = thread;
    process->threads_alive++;
    return thread;
}

struct model_process *model_world_process(struct model_world *world, int pid, uint64_t time_ns)
{
    struct model_process *process = newest_process(world, pid);
    if (process && !gone(process->end_ns, time_ns))
        return process;
    return process_new(world, pid, time_ns);
}

struct model_thread *model_world_thread(struct model_world *world, int pid, int tid,
                                        uint64_t time_ns)
{
    struct model_process *process = model_world_process(world, pid, time_ns);
    if (!process)
        return NULL;
    struct model_thread *thread = newest_thread(world, tid);
    if (thread && thread->process == process->id && !gone(thread->end_ns, time_ns))
        return thread;
    if (thread)
        thread_end(world, thread, time_ns);
    return thread_new(world, process, tid, time_ns);
}

static int name_set(struct model_world *world, const char **name, const char *text)
{
    if (!text || (*name && !strcmp(*name, text)))
        return 0;
    const char *copy = sprof_arena_copy(&world->arena, text, strlen(text));
    if (!copy)
        return SPROF_ENOMEM;
    *name = copy;
    return 0;
}

/* Whether a bearer of a number is what a record spoke of before its FORK arrived, so that the FORK
 * means this one. Nothing but the mention is known of such a one. */
static bool only_mentioned(const struct model_process *process)
{
    return process && !process->end_ns && !process->parent && !process->name &&
           !process->history.count;
}

/* The process that a FORK announces. */
static struct model_process *forked_process(struct model_world *world, int pid, uint64_t time_ns)
{
    struct model_process *process = newest_process(world, pid);
    if (only_mentioned(process)) {
        process->start_ns = time_ns < process->start_ns ? time_ns : process->start_ns;
        return process;
    }
    if (process)
        process_end(world, process, time_ns);
    return process_new(world, pid, time_ns);
}

static struct model_thread *forked_thread(struct model_world *world, struct model_process *process,
                                          int tid, uint64_t time_ns)
{
    struct model_thread *thread = newest_thread(world, tid);
    if (thread && !thread->end_ns && thread->process == process->id && !thread->name) {
        thread->start_ns = time_ns < thread->start_ns ? time_ns : thread->start_ns;
        return thread;
    }
    if (thread)
        thread_end(world, thread, time_ns);
    return thread_new(world, process, tid, time_ns);
}

static int fork_process(struct model_world *world, const struct model_process *parent,
                        struct model_process *child, uint64_t time_ns)
{
    child->parent = parent->id;
    child->name = parent->name;
    child->main_module = parent->main_module;
    child->exec_seen = parent->exec_seen;
    child->dirty = true;
    return world_inherit(world, parent, child, time_ns);
}

int model_world_fork(struct model_world *world, int parent_pid, int parent_tid, int pid, int tid,
                     uint64_t time_ns)
{
    struct model_process *parent = model_world_process(world, parent_pid, time_ns);
    if (!parent)
        return SPROF_ENOMEM;
    const struct model_thread *forker = newest_thread(world, parent_tid);
    const char *name = forker && forker->process == parent->id ? forker->name : parent->name;
    struct model_process *process = parent;
    if (pid != parent_pid) {
        process = forked_process(world, pid, time_ns);
        if (!process || fork_process(world, parent, process, time_ns))
            return SPROF_ENOMEM;
        process->name = name;
        process->command = parent->command;
    }
    struct model_thread *thread = forked_thread(world, process, tid, time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    thread->name = name;
    thread->dirty = true;
    return 0;
}

int model_world_comm(struct model_world *world, int pid, int tid, const char *name, bool exec,
                     uint64_t time_ns)
{
    struct model_thread *thread = model_world_thread(world, pid, tid, time_ns);
    if (!thread || name_set(world, &thread->name, name))
        return SPROF_ENOMEM;
    thread->dirty = true;
    struct model_process *process = world_process_by_id(world, thread->process);
    if (pid == tid && name) {
        process->name = thread->name;
        process->dirty = true;
    }
    if (!exec)
        return 0;
    world_unmap_all(world, process, time_ns);
    process->exec_ns = process->exec_ns ? process->exec_ns : end_time(time_ns);
    process->main_module = 0;
    process->exec_seen = true;
    return 0;
}

int model_world_exit(struct model_world *world, int pid, int tid, uint64_t time_ns)
{
    struct model_thread *thread = model_world_thread(world, pid, tid, time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    thread_end(world, thread, time_ns);
    return 0;
}

int model_world_cpu_time(struct model_world *world, int pid, int tid, uint64_t cpu_time_ns,
                         uint64_t time_ns)
{
    struct model_thread *thread = model_world_thread(world, pid, tid, time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    thread->cpu_time_ns = cpu_time_ns;
    thread->dirty = true;
    return 0;
}
