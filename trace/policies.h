/* trace, inside: what a trace does beside counting: each policy owns its state, and is one line of
 * the table in policies.c. */
#ifndef SPROF_TRACE_POLICIES_H
#define SPROF_TRACE_POLICIES_H

#include "trace/tracing.h"

/* Each may be NULL. Those that return an int return 0 or SPROF_ENOMEM unless said otherwise. */
struct trace_policy {
    /* Whenever sprof wakes up. */
    int (*often)(struct trace_session *program);

    /* At each round: a tenth of a second apart at most. The second kind cannot fail. */
    int (*serve)(struct trace_session *program);
    void (*refresh)(struct trace_session *program);

    /* Writes for the agent what holds for the probes from `first` on, before they are switched on.
     * Returns 0 or a negative code. */
    int (*probes_added)(struct trace_session *program, size_t first, struct sprof_error *error);
};

/* Calls `often` of all, and `serve` and `refresh` where `is_round`. */
int trace_policies_serve(struct trace_session *program, bool is_round);

int trace_policies_probes_added(struct trace_session *program, size_t first,
                                struct sprof_error *error);

#endif
