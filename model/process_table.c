/* Processes and threads: which live when, under which number and name. */
#include "model/process_table.h"

#include "model/path_names.h"

#include <string.h>

/* How long after its end a bearer of a number still answers to it. Longer than the kernel samples a
 * thread after its EXIT, far shorter than it takes to use up all numbers. */
static const uint64_t linger_ns = 100 * 1000 * 1000;

void model_process_table_release(struct model_process_table *table)
{
    for (size_t i = 0; i < table->processes.count; i++)
        model_address_space_release(&table->processes.items[i]->space);
    model_address_space_release(&table->kernel_space);
    model_mappings_release(&table->mappings);
    sprof_vec_release(&table->processes);
    sprof_vec_release(&table->threads);
    sprof_vec_release(&table->modules);
    sprof_map_release(&table->live_processes);
    sprof_map_release(&table->live_threads);
    sprof_map_release(&table->module_index);
    sprof_arena_release(&table->arena);
    *table = (struct model_process_table){0};
}

static struct model_process *process_by_id(const struct model_process_table *table, uint32_t id)
{
    return table->processes.items[id - 1 - table->first_process];
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

static struct model_thread *thread_by_id(const struct model_process_table *table, uint64_t id)
{
    return table->threads.items[id - 1 - table->first_thread];
}

/* Where the id of the newest bearer of a number is kept; 0 there: the number had no bearer yet. */
static uint64_t *newest(struct sprof_map *live, int number)
{
    return sprof_map_at(live, (uint64_t)(int64_t)number);
}

static void process_end(struct model_process_table *table, struct model_process *process,
                        uint64_t time_ns)
{
    if (process->end_ns)
        return;
    process->end_ns = end_time(time_ns);
    process->dirty = true;
    model_address_space_clear(&table->mappings, &process->space, false, time_ns);
    sprof_vec_release(&process->space.mapped);
}

static void thread_end(struct model_process_table *table, struct model_thread *thread,
                       uint64_t time_ns)
{
    if (thread->end_ns)
        return;
    thread->end_ns = end_time(time_ns);
    thread->dirty = true;
    struct model_process *process = process_by_id(table, thread->process);
    process->threads_alive--;
    if (!process->threads_alive)
        process_end(table, process, time_ns);
}

static struct model_process *process_new(struct model_process_table *table, uint64_t *newest_id,
                                         int pid, uint64_t time_ns)
{
    struct model_process *process = sprof_arena_alloc(&table->arena, sizeof *process);
    if (!process || sprof_vec_reserve(&table->processes, table->processes.count + 1))
        return NULL;
    const uint32_t id = table->first_process + (uint32_t)table->processes.count + 1;
    *newest_id = id;
    *process = (struct model_process){
        .id = id, .pid = pid, .start_ns = time_ns, .exec_seen = true, .dirty = true};
    process->space.process = id;
    process->space.generation = model_mappings_generation(&table->mappings);
    table->processes.items[table->processes.count++] = process;
    return process;
}

static struct model_thread *thread_new(struct model_process_table *table, uint64_t *newest_id,
                                       struct model_process *process, int tid, uint64_t time_ns)
{
    struct model_thread *thread = sprof_arena_alloc(&table->arena, sizeof *thread);
    if (!thread || sprof_vec_reserve(&table->threads, table->threads.count + 1))
        return NULL;
    const uint32_t id = table->first_thread + (uint32_t)table->threads.count + 1;
    *newest_id = id;
    *thread = (struct model_thread){
        .id = id, .process = process->id, .tid = tid, .start_ns = time_ns, .dirty = true};
    table->threads.items[table->threads.count++] = thread;
    process->threads_alive++;
    return thread;
}

struct model_process *model_process_table_process(struct model_process_table *table, int pid,
                                                  uint64_t time_ns)
{
    uint64_t *id = newest(&table->live_processes, pid);
    struct model_process *process = id && *id ? process_by_id(table, (uint32_t)*id) : NULL;
    if (!id || (process && !gone(process->end_ns, time_ns)))
        return process;
    return process_new(table, id, pid, time_ns);
}

struct model_thread *model_process_table_thread(struct model_process_table *table, int pid, int tid,
                                                uint64_t time_ns)
{
    struct model_process *process = model_process_table_process(table, pid, time_ns);
    uint64_t *id = newest(&table->live_threads, tid);
    if (!process || !id)
        return NULL;
    struct model_thread *thread = *id ? thread_by_id(table, *id) : NULL;
    if (thread && thread->process == process->id && !gone(thread->end_ns, time_ns))
        return thread;
    struct model_thread *successor = thread_new(table, id, process, tid, time_ns);
    if (thread && successor)
        thread_end(table, thread, time_ns);
    return successor;
}

static int name_set(struct model_process_table *table, const char **name, const char *text)
{
    if (!text || (*name && !strcmp(*name, text)))
        return 0;
    const char *copy = sprof_arena_copy(&table->arena, text, strlen(text));
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
           !process->space.history.count;
}

static bool descends_from(const struct model_process_table *table,
                          const struct model_process *process, const struct model_process *ancestor)
{
    while (process != ancestor && process->parent)
        process = process_by_id(table, process->parent);
    return process == ancestor;
}

/* The process that a FORK announces. An agent's word can name a descendant as the parent: the child
 * is a row of its own then, as parents must have an end. */
static struct model_process *forked_process(struct model_process_table *table,
                                            const struct model_process *parent, int pid,
                                            uint64_t time_ns)
{
    uint64_t *id = newest(&table->live_processes, pid);
    if (!id)
        return NULL;
    struct model_process *process = *id ? process_by_id(table, (uint32_t)*id) : NULL;
    if (only_mentioned(process) && !descends_from(table, parent, process)) {
        process->start_ns = time_ns < process->start_ns ? time_ns : process->start_ns;
        return process;
    }
    if (process)
        process_end(table, process, time_ns);
    return process_new(table, id, pid, time_ns);
}

static struct model_thread *forked_thread(struct model_process_table *table,
                                          struct model_process *process, int tid, uint64_t time_ns)
{
    uint64_t *id = newest(&table->live_threads, tid);
    if (!id)
        return NULL;
    struct model_thread *thread = *id ? thread_by_id(table, *id) : NULL;
    if (thread && !thread->end_ns && thread->process == process->id && !thread->name) {
        thread->start_ns = time_ns < thread->start_ns ? time_ns : thread->start_ns;
        return thread;
    }
    if (thread)
        thread_end(table, thread, time_ns);
    return thread_new(table, id, process, tid, time_ns);
}

static int fork_process(struct model_process_table *table, const struct model_process *parent,
                        struct model_process *child, uint64_t time_ns)
{
    child->parent = parent->id;
    child->name = parent->name;
    child->main_module = parent->main_module;
    child->exec_seen = parent->exec_seen;
    child->dirty = true;
    return model_address_space_inherit(&table->mappings, &parent->space, &child->space, time_ns);
}

/* The process that a FORK names as the parent: the newest bearer of the number, or, where a thread
 * of it has forked just now, one that has not been gone for long. */
static struct model_process *forking_process(struct model_process_table *table, int parent_pid,
                                             int parent_tid, uint64_t time_ns)
{
    const uint64_t *id = sprof_map_get(&table->live_processes, (uint64_t)(int64_t)parent_pid);
    return id && *id && !parent_tid ? process_by_id(table, (uint32_t)*id)
                                    : model_process_table_process(table, parent_pid, time_ns);
}

int model_process_table_fork(struct model_process_table *table, int parent_pid, int parent_tid,
                             int pid, int tid, uint64_t time_ns)
{
    struct model_process *parent = forking_process(table, parent_pid, parent_tid, time_ns);
    if (!parent)
        return SPROF_ENOMEM;
    const uint64_t *forker_id = sprof_map_get(&table->live_threads, (uint64_t)(int64_t)parent_tid);
    const struct model_thread *forker =
        forker_id && *forker_id ? thread_by_id(table, *forker_id) : NULL;
    const char *name = forker && forker->process == parent->id ? forker->name : parent->name;
    struct model_process *process = parent;
    if (pid != parent_pid) {
        process = forked_process(table, parent, pid, time_ns);
        if (!process || fork_process(table, parent, process, time_ns))
            return SPROF_ENOMEM;
        process->name = name;
        process->command = parent->command;
        process->origin = parent->origin;
    }
    struct model_thread *thread = forked_thread(table, process, tid, time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    thread->name = name;
    thread->dirty = true;
    return 0;
}

/* The same process as another row, which has no threads yet. */
static struct model_process *replace(struct model_process_table *table, uint64_t *newest_id,
                                     struct model_process *before, uint64_t time_ns)
{
    process_end(table, before, time_ns);
    struct model_process *process = process_new(table, newest_id, before->pid, time_ns);
    if (!process)
        return NULL;
    process->parent = before->parent;
    process->name = before->name;
    process->origin = before->origin;
    return process;
}

int model_process_table_replace(struct model_process_table *table, int pid, uint64_t time_ns)
{
    struct model_process *before = model_process_table_process(table, pid, time_ns);
    uint64_t *id = newest(&table->live_processes, pid);
    return before && id && replace(table, id, before, time_ns) ? 0 : SPROF_ENOMEM;
}

/* Ends the threads of a process but one. Returns one that was still alive, which is the one that
 * executes when the others have had their EXIT; 0: none was. */
static uint32_t end_threads(struct model_process_table *table, const struct model_process *process,
                            const struct model_thread *but, uint64_t time_ns)
{
    const uint32_t left = but->process == process->id && !but->end_ns;
    uint32_t alive = 0;
    for (size_t i = table->threads.count; i-- > 0 && process->threads_alive > left;) {
        struct model_thread *thread = table->threads.items[i];
        if (thread->process != process->id || thread == but || thread->end_ns)
            continue;
        alive = thread->id;
        thread_end(table, thread, time_ns);
    }
    return alive;
}

/* The thread that goes on behind an exec, with the process's number whichever thread called it. A
 * process without samples keeps its row: there is nothing to report of the program before. */
static struct model_thread *exec(struct model_process_table *table, int pid, int tid,
                                 uint64_t time_ns)
{
    struct model_process *process = model_process_table_process(table, pid, time_ns);
    uint64_t *process_id = newest(&table->live_processes, pid);
    uint64_t *thread_id = newest(&table->live_threads, tid);
    if (!process || !process_id || !thread_id)
        return NULL;
    struct model_thread *leader = *thread_id ? thread_by_id(table, *thread_id) : NULL;
    const bool is_own = leader && leader->process == process->id && !leader->end_ns;
    if (!process->sampled && is_own) {
        end_threads(table, process, leader, time_ns);
        return leader;
    }
    struct model_process *before = process;
    if (before->sampled && !(process = replace(table, process_id, before, time_ns)))
        return NULL;
    struct model_thread *thread = thread_new(table, thread_id, process, tid, time_ns);
    if (!thread)
        return NULL;
    if (is_own)
        thread_end(table, leader, time_ns);
    thread->former = end_threads(table, before, thread, time_ns);
    if (is_own)
        thread->former = leader->id;
    return thread;
}

int model_process_table_comm(struct model_process_table *table, int pid, int tid, const char *name,
                             bool is_exec, uint64_t time_ns)
{
    struct model_thread *thread = is_exec ? exec(table, pid, tid, time_ns)
                                          : model_process_table_thread(table, pid, tid, time_ns);
    if (!thread || name_set(table, &thread->name, name))
        return SPROF_ENOMEM;
    thread->dirty = true;
    struct model_process *process = process_by_id(table, thread->process);
    if (pid == tid && name) {
        process->name = thread->name;
        process->dirty = true;
    }
    if (!is_exec)
        return 0;
    model_address_space_clear(&table->mappings, &process->space, true, time_ns);
    process->main_module = 0;
    process->exec_seen = true;
    return 0;
}

int model_process_table_exit(struct model_process_table *table, int pid, int tid, uint64_t time_ns)
{
    struct model_thread *thread = model_process_table_thread(table, pid, tid, time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    thread_end(table, thread, time_ns);
    return 0;
}

int model_process_table_cpu_time(struct model_process_table *table, int pid, int tid,
                                 uint64_t cpu_time_ns, uint64_t time_ns)
{
    struct model_thread *thread = model_process_table_thread(table, pid, tid, time_ns);
    if (!thread)
        return SPROF_ENOMEM;
    thread->cpu_time_ns = cpu_time_ns;
    thread->dirty = true;
    return 0;
}

uint64_t model_process_table_own_cpu_ns(const struct model_process_table *table,
                                        const struct model_thread *thread, bool weights_are_time)
{
    uint64_t former_ns = 0;
    for (uint32_t id = thread->former; id && weights_are_time;) {
        const struct model_thread *former = thread_by_id(table, id);
        former_ns += former->sampled_weight;
        id = former->former;
    }
    return thread->cpu_time_ns > former_ns ? thread->cpu_time_ns - former_ns : 0;
}

/* The first file after an exec is the program, except that the dynamic loader may come before it.
 */
static void note_main_executable(struct model_process_table *table, struct model_process *process,
                                 struct model_module *module)
{
    const char *path = module->identity.path;
    const enum model_kind if_main = model_kind_of(NULL, path, true, false);
    const bool is_file = if_main == MODEL_KIND_APP || if_main == MODEL_KIND_SYSTEM;
    if (!process->exec_seen || !is_file || path[0] == '[' || model_path_is_loader(path))
        return;
    process->exec_seen = false;
    process->main_module = module->id;
    process->dirty = true;
    if (module->main_executable)
        return;
    module->main_executable = true;
    module->kind = model_kind_of(&table->rules, path, true, module->in_kernel);
    module->dirty = true;
}

int model_process_table_map(struct model_process_table *table, int pid, uint64_t address,
                            uint64_t size, uint64_t file_offset,
                            const struct sprof_file_id *identity, uint64_t time_ns)
{
    struct model_process *process = NULL;
    if (pid != -1 && !(process = model_process_table_process(table, pid, time_ns)))
        return SPROF_ENOMEM;
    struct model_module *module =
        model_process_table_module(table, identity, !process, process ? process->id : 0);
    if (!module)
        return SPROF_ENOMEM;
    if (process)
        note_main_executable(table, process, module);
    if (!size)
        return 0;
    const struct model_mapping added = {
        .module = module->id,
        .start = address,
        .end = size > UINT64_MAX - address ? UINT64_MAX : address + size,
        .file_offset = file_offset,
        .start_ns = time_ns,
    };
    return model_address_space_map(&table->mappings,
                                   process ? &process->space : &table->kernel_space, &added);
}

const struct model_mapping *model_process_table_find(const struct model_process_table *table,
                                                     const struct model_process *process,
                                                     uint64_t address, uint64_t at_ns)
{
    const struct model_address_space *spaces[] = {process ? &process->space : &table->kernel_space,
                                                  &table->kernel_space};
    const struct model_mapping *found = NULL;
    for (size_t i = 0; i < 2 && !found; i++)
        found = model_address_space_find(&table->mappings, spaces[i], address, at_ns);
    return found;
}
