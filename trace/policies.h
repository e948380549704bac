/* Policies are what a trace does beside counting. Each is a row of the table in policies.c and owns
 * its state. */
#ifndef SPROF_TRACE_POLICIES_H
#define SPROF_TRACE_POLICIES_H

#include "trace/tracing.h"

/* Members may be NULL. Functions return 0 or a negative code. */
struct trace_policy {
    int (*often)(struct trace_session *program);

    /* Each round, at least every 0.1 s. */
    int (*serve)(struct trace_session *program);
    void (*refresh)(struct trace_session *program);

    /* Before probes from `first` on are switched on: writes the agent's data for them. */
    int (*probes_added)(struct trace_session *program, size_t first, struct sprof_error *error);
};

int trace_policies_serve(struct trace_session *program, bool is_round);

int trace_policies_probes_added(struct trace_session *program, size_t first,
                                struct sprof_error *error);

#endif
