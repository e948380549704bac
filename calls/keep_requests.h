/* Calls that are requests by their function (`--request`). */
#ifndef SPROF_CALLS_KEEP_REQUESTS_H
#define SPROF_CALLS_KEEP_REQUESTS_H

#include "calls/program.h"

int calls_requests_check(const struct trace_options *options, struct sprof_error *error);

/* Whether values name requests. */
static inline bool calls_requests_by_value(const struct trace_options *options)
{
    return options->kept.requests_of && options->kept.requests_of->path_count;
}

/* Whether --request finds the function. */
static inline bool calls_requests_is(const struct calls_program *program, uint32_t function)
{
    return function < program->kept.requests.count && program->kept.requests.items[function];
}

/* Notes which request an open call is, where its value names it. `values` NULL: not read. */
void calls_requests_name(struct calls_program *program, struct calls_open_caller *call,
                         uint32_t function, const struct calls_taken_values *values);

/* From probe `first` on. */
int calls_requests_begin(struct calls_program *program, size_t first, struct sprof_error *error);
void calls_requests_release(struct calls_program *program);

/* The open caller with a row of that number, which is looked for from a place in the list on, both
 * ways: callers are mostly neighbours. NULL: none has. */
struct calls_open_caller *calls_requests_open(struct calls_thread *thread, size_t near,
                                              uint32_t row);

/* The request that a call belongs to, by its function, row, and the row of its caller, 0 of none:
 * the innermost of itself and its open callers. Its number is that of the row, or what its value
 * is; 0: none, or its value was not read. */
uint64_t calls_requests_of(const struct calls_program *program, struct calls_thread *thread,
                           const struct calls_open_caller *call, uint32_t function,
                           uint32_t caller);

/* Adds a row if the call is a request. `values` may be NULL. Returns 0 or SPROF_ENOMEM. */
int calls_requests_put(struct calls_program *program, const struct calls_thread *thread,
                       uint32_t function, const struct store_kept_call *call,
                       const struct calls_taken_values *values);

#endif
