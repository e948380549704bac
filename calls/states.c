/* Finds when calls had no CPU, from the kernel's records of threads. The agent does nothing for
 * this, so calls without rows cost nothing. */
#include "calls/states.h"
#include "calls/program.h"
#include "sampler/sampler.h"

enum {
    FIRST = 1,            /* in `by_tid`: index 0 of `threads`; 0: nothing is known */
    KEPT_NS = 2000000000, /* calls of a thread are read so soon after it has ended */
    SWEEP_NS = 1000000000,
};

struct gapped_thread {
    struct counters_states states;
    int32_t pid, tid;
    uint64_t over_ns; /* when it ended; 0: it has not */
};

struct calls_states {
    struct sampler_gaps *gaps; /* NULL: there are none */
    uint64_t since_ns;         /* gaps before are not known; 0: of a command, which had none */
    uint64_t lost, lost_ns;    /* gaps without room, and up to when there were any */
    uint64_t sweep_ns;         /* when threads that have ended are looked for */
    struct sprof_map by_tid;   /* index in `threads`, + FIRST */
    SPROF_VEC(struct gapped_thread) threads;
    SPROF_VEC(size_t) free;
};

/* == Threads == */

static struct gapped_thread *thread_of(struct calls_states *states, int32_t pid, int32_t tid)
{
    uint64_t *index = sprof_map_at(&states->by_tid, (uint32_t)tid);
    if (!index)
        return NULL;
    if (*index >= FIRST)
        return &states->threads.items[*index - FIRST];
    size_t at = states->threads.count;
    if (states->free.count)
        at = states->free.items[--states->free.count];
    else if (sprof_vec_push(&states->threads, (struct gapped_thread){0}))
        return NULL;
    *index = at + FIRST;
    states->threads.items[at] = (struct gapped_thread){.pid = pid, .tid = tid};
    return &states->threads.items[at];
}

/* Threads that are there write no gap before they have lost their CPU; those that come later write
 * one as they begin. */
static int add_threads(struct calls_states *states, const pid_t *pids, size_t count)
{
    struct sprof_id_list list = {0};
    int result = 0;
    for (size_t i = 0; i < count && !result; i++) {
        list.count = 0;
        sprof_proc_threads(pids[i], &list);
        for (size_t k = 0; k < list.count && !result; k++)
            result = thread_of(states, pids[i], list.items[k]) ? 0 : SPROF_ENOMEM;
    }
    sprof_vec_release(&list);
    return result;
}

/* == Beginning == */

static int processes_of(const struct calls_trace *trace, pid_t **pids, size_t *count)
{
    SPROF_VEC(pid_t) list = {0};
    int result = 0;
    for (size_t i = 0; i < trace->programs.count; i++) {
        const struct calls_processes *processes = &calls_program_at(trace, i)->processes;
        for (size_t k = 0; k < processes->list.count && !result; k++)
            if (!processes->list.items[k].is_over)
                result = sprof_vec_push(&list, processes->list.items[k].pid);
    }
    *pids = list.items;
    *count = list.count;
    return result ? SPROF_ENOMEM : 0;
}

static void say_absent(const struct calls_program *program, const char *reason)
{
    program->run->no_call_states = reason;
    sprof_log_message(program->options.log, SPROF_LOG_NOTE,
                      "how long calls wait is not known, only how long they take: that needs BPF "
                      "(%s)",
                      reason);
}

int calls_states_begin(struct calls_program *program)
{
    struct calls_trace *trace = program->all;
    const bool is_wanted = program->mode == TRACE_LOG || trace->kept.rules.count;
    const bool has_begun = trace->programs.count > 0;
    const pid_t command = has_begun ? 0 : target_command(trace->target);
    const char *reason = NULL;
    pid_t *pids = NULL;
    size_t count = 0;
    if (trace->states || program->options.no_states || !is_wanted)
        return 0;
    trace->states = calloc(1, sizeof *trace->states);
    if (!trace->states || (has_begun && processes_of(trace, &pids, &count))) {
        free(pids);
        return SPROF_ENOMEM;
    }
    const pid_t *const all = has_begun ? pids : target_processes(trace->target, &count);
    int result = 0;
    if (sampler_gaps_open(&trace->states->gaps, command, all, count, &reason))
        say_absent(program, reason);
    else
        result = command ? add_threads(trace->states, &command, 1)
                         : add_threads(trace->states, all, count);
    trace->states->since_ns = command ? 0 : sprof_clock_monotonic_ns();
    free(pids);
    return result;
}

/* == Reading == */

static int take(struct calls_states *states, const struct sampler_gap *gap)
{
    struct gapped_thread *thread = thread_of(states, gap->pid, gap->tid);
    if (!thread)
        return SPROF_ENOMEM;
    if (thread->over_ns || thread->pid != gap->pid) { /* another thread of the same number */
        thread->states.seen_waiting_ns = thread->states.seen_ready_ns = 0;
        thread->pid = gap->pid;
    }
    thread->over_ns = gap->is_last ? gap->ended_ns : 0;
    const struct counters_gap taken = {gap->begun_ns, gap->ended_ns, gap->waiting_ns,
                                       gap->ready_ns};
    return counters_states_add(&thread->states, &taken);
}

static int sweep(struct calls_states *states, uint64_t now_ns)
{
    bool has_gone = false;
    for (size_t i = 0; i < states->threads.count; i++) {
        struct gapped_thread *thread = &states->threads.items[i];
        if (!thread->over_ns || now_ns < thread->over_ns + KEPT_NS)
            continue;
        counters_states_release(&thread->states);
        *thread = (struct gapped_thread){0};
        has_gone = true;
        if (sprof_vec_push(&states->free, i))
            return SPROF_ENOMEM;
    }
    if (has_gone)
        sprof_map_clear(&states->by_tid);
    for (size_t i = 0; i < states->threads.count && has_gone; i++)
        if (states->threads.items[i].tid &&
            sprof_map_put(&states->by_tid, (uint32_t)states->threads.items[i].tid, i + FIRST))
            return SPROF_ENOMEM;
    return 0;
}

int calls_states_read(struct calls_program *program)
{
    struct calls_states *states = program->all->states;
    const uint64_t now_ns = program->times.now_ns;
    struct sampler_gap gap;
    int result = 0;
    if (!states || !states->gaps)
        return 0;
    while (!result && sampler_gaps_next(states->gaps, &gap))
        result = take(states, &gap);
    const uint64_t lost = sampler_gaps_lost(states->gaps);
    if (lost != states->lost) { /* they came before now */
        states->lost = lost;
        states->lost_ns = sprof_clock_monotonic_ns();
    }
    if (!result && now_ns > states->sweep_ns + SWEEP_NS) {
        states->sweep_ns = now_ns;
        result = sweep(states, now_ns);
    }
    return result;
}

/* == Calls == */

struct calls_call_states calls_states_between(const struct calls_program *program,
                                              const struct calls_thread *thread, uint64_t from_ns,
                                              uint64_t to_ns, uint64_t duration_ns)
{
    const struct calls_states *states = program->all->states;
    const uint64_t begin_ns = program->run->start_monotonic_ns;
    struct calls_call_states found = {0};
    if (!states || !states->gaps || begin_ns + from_ns < states->since_ns)
        return found;
    const uint64_t *index = sprof_map_get(&states->by_tid, (uint32_t)thread->tid);
    const struct gapped_thread *known =
        index && *index ? &states->threads.items[*index - FIRST] : NULL;
    found.is_known = known && known->pid == thread->pid &&
                     counters_states_are_known(&known->states, begin_ns + from_ns, begin_ns + to_ns,
                                               states->lost_ns);
    if (found.is_known)
        counters_states_between(&known->states, begin_ns + from_ns, begin_ns + to_ns,
                                &found.waiting_ns, &found.ready_ns);
    counters_states_limit(duration_ns, &found.waiting_ns, &found.ready_ns);
    return found;
}

void calls_states_free(struct calls_states *states)
{
    if (!states)
        return;
    sampler_gaps_free(states->gaps);
    for (size_t i = 0; i < states->threads.count; i++)
        counters_states_release(&states->threads.items[i].states);
    sprof_vec_release(&states->threads);
    sprof_vec_release(&states->free);
    sprof_map_release(&states->by_tid);
    free(states);
}
