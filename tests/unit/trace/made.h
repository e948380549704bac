/* The session of a program of hand-made functions. */
#ifndef TESTS_UNIT_TRACE_MADE_H
#define TESTS_UNIT_TRACE_MADE_H

#include "trace/tracing.h"

#define MADE_PROGRAM(made) (&(made)->session.probing)
#include "tests/unit/calls/made.h"

/* Zero is a valid start. It is large, and must not move. */
struct made {
    struct trace_session session;
    struct trace trace;
    struct made_log log;
};

/* Makes a program without functions, with shared memory for so many, and one thread: the test. */
static inline void made_begin(struct made *made, const struct probe_backend *backend,
                              uint32_t capacity)
{
    *made = (struct made){0};
    made->session.common = &made->session;
    trace_session_join(&made->session, &made->trace, backend);
    made_program_begin(&made->session.probing, &made->trace.probing, &backend->way, &made->log,
                       capacity);
    made_calls_begin(&made->session.calls, &made->trace.calls, &backend->reader);
}

/* made_begin, with a file of so many functions, each of which has a probe. */
static inline void made_begin_with(struct made *made, const struct probe_backend *backend,
                                   struct plan_function *functions, size_t count)
{
    made_begin(made, backend, (uint32_t)count);
    made_program_functions(&made->session.probing, functions, count);
}

static inline void made_end(struct made *made)
{
    made_calls_end(&made->session.calls);
    made_program_end(&made->session.probing, &made->log);
}

/* Writes a call path of the first thread as the agent does: calls of a function below the path
 * `parent`, all of which have ended, and the ticks of their self time. */
static inline void made_path(struct made *made, uint32_t index, uint32_t parent, uint32_t function,
                             uint64_t calls, int64_t self)
{
    const struct counters_pages pages = calls_pages(&made->session.calls);
    struct probe_node *nodes =
        (struct probe_node *)((uint8_t *)pages.shared + counters_nodes_offset(&pages, 0));
    nodes[index] = (struct probe_node){(uint64_t)parent << 32 | (function + 1), calls, calls, self};
}

#define made_stat(made, number) made_stat_of(&(made)->session.calls, number)

#endif
