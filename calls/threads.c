/* Names traced threads and adds their rows. */
#include "calls/figures.h"
#include "calls/program.h"

#include <stdio.h>
#include <string.h>

void calls_thread_name(pid_t pid, int32_t tid, char name[16])
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    *name = '\0';
    if (file && fgets(name, 16, file))
        name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
}

int calls_thread_rename(struct calls_program *program, uint32_t slab)
{
    struct calls_thread *thread = program->threads.of_slab[slab];
    const struct counters_pages pages = calls_pages(program);
    char name[16];
    counters_slab_name(&pages, slab, name);
    if (!*name || !strcmp(name, thread->name) || thread->shares || thread->is_idle)
        return 0;
    memcpy(thread->name, name, sizeof name);
    const struct model_record named = {.type = MODEL_RECORD_COMM,
                                       .time_ns = sprof_clock_monotonic_ns(),
                                       .pid = thread->pid,
                                       .tid = thread->tid,
                                       .cpu = -1,
                                       .comm.name = sprof_arena_text(&program->arena, name)};
    return !named.comm.name || recording_event(program->recording, &named) ? SPROF_ENOMEM : 0;
}

/* A thread id that was used before is another thread's now: a fork record separates them. */
int calls_thread_add_row(struct calls_program *program, struct calls_thread *thread)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const struct model_record fork = {.type = MODEL_RECORD_FORK,
                                      .time_ns = now_ns,
                                      .pid = thread->pid,
                                      .tid = thread->tid,
                                      .fork = {thread->pid, thread->pid}};
    const uint64_t key = (uint32_t)thread->tid;
    const char *name = sprof_arena_text(&program->arena, thread->name);
    if (!name || (sprof_map_get(&program->threads.ended_tids, key) &&
                  recording_event(program->recording, &fork)))
        return SPROF_ENOMEM;
    const struct model_thread *row = recording_thread(
        program->recording, thread->pid, thread->tid, *name ? name : NULL,
        thread->tid == program->process.pid || !thread->tid ? program->times.start.ns : now_ns);
    thread->row = row ? row->id : 0;
    return row ? 0 : SPROF_ENOMEM;
}

struct calls_cell *calls_cell_of(struct calls_thread *thread, uint32_t function)
{
    const uint64_t *known = sprof_map_get(&thread->index, function);
    const struct calls_cell cell = {.function = function};
    if (known)
        return &thread->cells.items[*known];
    if (sprof_vec_reserve(&thread->cells, thread->cells.count + 1) ||
        sprof_map_put(&thread->index, function, thread->cells.count))
        return NULL;
    thread->cells.items[thread->cells.count++] = cell;
    return &thread->cells.items[thread->cells.count - 1];
}

/* The tid of the shared row is 0. */
int calls_shared_row_begin(struct calls_program *program)
{
    struct calls_thread *rest = &program->threads.others;
    if (rest->row)
        return 0;
    rest->pid = program->process.pid;
    snprintf(rest->name, sizeof rest->name, "[more threads]");
    for (uint32_t i = 0; i < program->capacity; i++) {
        const struct calls_cell cell = {.function = i};
        if (sprof_vec_push(&rest->cells, cell))
            return SPROF_ENOMEM;
    }
    program->threads.others_figures =
        calloc(program->capacity, sizeof *program->threads.others_figures);
    return program->threads.others_figures ? calls_thread_add_row(program, rest) : SPROF_ENOMEM;
}

static int begin_thread(struct calls_program *program, uint32_t slab, uint32_t tid)
{
    struct calls_thread *thread = calloc(1, sizeof *thread);
    if (!thread)
        return SPROF_ENOMEM;
    program->threads.of_slab[slab] = thread;
    thread->slab_tid = tid;
    thread->pid =
        calls_process_seen(program, atomic_load(&program->process.shared->slabs[slab].pid));
    if (!thread->pid)
        return SPROF_ENOMEM;
    thread->tid = calls_process_thread(program, thread->pid, tid);
    const size_t most = program->options.children ? 8 * CALLS_THREADS : CALLS_THREADS;
    thread->shares = program->threads.count++ >= most;
    if (thread->shares)
        return calls_shared_row_begin(program);
    const struct calls_process *process = calls_process_find(program, thread->pid);
    /* the process may be gone or run a later program; then the forking thread's name stays */
    if ((!process || !process->is_over) && thread->pid != program->leaves)
        calls_thread_name(thread->pid, thread->tid, thread->name);
    /* a name that is read after an exec is the later program's, which has not connected yet */
    const struct counters_pages pages = calls_pages(program);
    if (!*thread->name || calls_executed_other(program, thread->pid))
        counters_slab_name(&pages, slab, thread->name);
    return calls_thread_add_row(program, thread);
}

static int resume_slab(struct calls_program *program, uint32_t slab, uint32_t tid)
{
    struct calls_thread *thread = program->threads.of_slab[slab];
    thread->is_idle = false;
    thread->slab_tid = tid;
    thread->pid =
        calls_process_seen(program, atomic_load(&program->process.shared->slabs[slab].pid));
    thread->tid = calls_process_thread(program, thread->pid, tid);
    program->threads.count++;
    return thread->pid ? 0 : SPROF_ENOMEM;
}

int calls_thread_see(struct calls_program *program, uint32_t slab, uint32_t tid)
{
    const struct calls_thread *known = program->threads.of_slab[slab];
    return !known           ? begin_thread(program, slab, tid)
           : known->is_idle ? resume_slab(program, slab, tid)
                            : 0;
}

int calls_meet_thread(struct calls_program *program, uint32_t slab)
{
    const struct counters_pages pages = calls_pages(program);
    const bool is_taken = slab < counters_slab_count(&pages);
    const uint32_t tid = is_taken ? counters_slab_holder(&pages, slab) : 0;
    return tid ? calls_thread_see(program, slab, tid) : 0;
}
