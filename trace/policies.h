/* Policies are what a trace does beside counting. Each is a row of the table in policies.c and owns
 * its state. */
#ifndef SPROF_TRACE_POLICIES_H
#define SPROF_TRACE_POLICIES_H

#include "trace/tracing.h"

/* Members may be NULL. Functions return 0 or a negative code. */
#define TRACE_POLICY(program_type)                                                                 \
    {                                                                                              \
        int (*often)(struct program_type *);                                                       \
        /* Each round, at least every 0.1 s. */                                                    \
        int (*serve)(struct program_type *);                                                       \
        void (*refresh)(struct program_type *);                                                    \
        /* Before probes from `first` on are switched on: writes the agent's data for them. */     \
        int (*probes_added)(struct program_type *, size_t first, struct sprof_error * error);      \
    }

/* Functions of one library in each row. */
struct trace_policy {
    struct TRACE_POLICY(probing_program) probing;
    struct TRACE_POLICY(calls_program) calls;
    struct TRACE_POLICY(trace_session) session;
};

int trace_policies_serve(struct trace_session *program, bool is_round);

int trace_policies_probes_added(struct trace_session *program, size_t first,
                                struct sprof_error *error);

#endif
