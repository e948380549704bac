/* A program of hand-made functions, with a recording. */
#ifndef TESTS_UNIT_CALLS_MADE_H
#define TESTS_UNIT_CALLS_MADE_H

#include "calls/calls.h"

#ifndef MADE_PROGRAM
#define MADE_CALLS
#define MADE_PROGRAM(made) (&(made)->session.probing)
#endif
#include "tests/unit/probing/made.h"

static inline void made_calls_begin(struct calls_program *program, struct calls_trace *all,
                                    const struct calls_reader *reader)
{
    const struct recording_options options = {.view = {.mode = MODEL_MODE_FULL}, .no_cache = true};
    program->all = all;
    program->reader = reader;
    all->phase = 1;
    CU_ASSERT_EQUAL_FATAL(recording_open(&program->recording, &options, NULL), 0);
    program->run = recording_run(program->recording);
    struct calls_thread *thread = program->threads.of_slab[0] = calloc(1, sizeof *thread);
    CU_ASSERT_PTR_NOT_NULL_FATAL(thread);
    thread->pid = thread->tid = getpid();
}

static inline void made_calls_end(struct calls_program *program)
{
    calls_figures_release(program);
    calls_processes_release(program);
    calls_history_release(&program->all->history);
    recording_free(program->recording);
    free(program->history.states);
}

static inline struct probe_stat *made_stat_of(const struct calls_program *program, uint32_t number)
{
    const struct counters_pages pages = calls_pages(program);
    return (struct probe_stat *)counters_slab_stats(&pages, 0) + number;
}

#ifdef MADE_CALLS
/* Facts as a back end has them. */
struct made_way {
    union {
        struct probing_way;
        struct probing_way way;
    };
    union {
        struct calls_reader;
        struct calls_reader reader;
    };
};

/* Zero is a valid start. It is large, and must not move. */
struct made {
    struct calls_program session;
    struct calls_trace trace;
    struct made_log log;
};

static inline void made_begin(struct made *made, const struct made_way *way, uint32_t capacity)
{
    *made = (struct made){0};
    made_program_begin(&made->session.probing, &made->trace.probing, &way->way, &made->log,
                       capacity);
    made_calls_begin(&made->session, &made->trace, &way->reader);
    made->trace.clock.tick_ns = 1;
}

static inline void made_begin_with(struct made *made, const struct made_way *way,
                                   struct plan_function *functions, size_t count)
{
    made_begin(made, way, (uint32_t)count);
    made_program_functions(&made->session.probing, functions, count);
}

static inline void made_end(struct made *made)
{
    made_calls_end(&made->session);
    made_program_end(&made->session.probing, &made->log);
}

#define made_stat(made, number) made_stat_of(&(made)->session, number)
#endif

#endif
