/* trace, inside: the ways in which calls of a program are measured. A new way is a file in
 * trace/backend/, which defines one of these, and a line in trace/backend.c. */
#ifndef SPROF_TRACE_PROBE_BACKEND_H
#define SPROF_TRACE_PROBE_BACKEND_H

#include "agent/probe.h"
#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

struct plan_function;
struct trace_session;

struct probe_backend {
    const char *source;    /* in the run's row: "probes preloaded" */
    const char *mechanism; /* of all probes; NULL: each has that of its plan */

    /* == Facts == */
    bool has_agent; /* the program has the agent. Else the kernel counts, in mode stats alone */
    bool borrows;   /* a thread of the program, which runs, is borrowed to enter it */
    bool
        only_embedded; /* only probes in its files are used; a byte switches each, without a stop */
    bool is_live;      /* its code may run while jumps are written */
    bool can_rest;     /* the original bytes can come back while a probe is off */
    bool sees_loads;   /* libraries that are loaded later get probes */
    bool needs_lease;  /* the agent does not see when sprof is killed */
    bool needs_keeper; /* a killed sprof leaves code in the program that must be taken out */
    bool in_nanoseconds; /* times are in nanoseconds, and only the kernel can write them */

    /* == Steps of a trace, in this order. Each may be NULL: there is nothing to do. They return 0
     * or a negative code. == */

    /* Before the command is forked. */
    int (*open)(struct trace_session *session, struct sprof_error *error);
    void (*in_child)(void);    /* see struct target_options */
    void (*meanwhile)(void *); /* the same */
    /* Changes the environment of the forked command, which waits. */
    int (*prepare)(struct trace_session *session, struct sprof_error *error);
    /* Before the command starts. */
    int (*expect)(struct trace_session *session, struct sprof_error *error);
    /* Waits until the program can be planned. */
    int (*meet)(struct trace_session *session, struct sprof_error *error);
    /* Once functions are chosen: finds their thunks. */
    int (*number)(struct trace_session *session, struct sprof_error *error);
    /* Puts the probes in, and lets the program go. Not NULL. */
    int (*place)(struct trace_session *session, struct sprof_error *error);
    /* The first and the last part of trace_place_by_agent: makes the shared memory; has probes
     * measure. */
    int (*enter)(struct trace_session *session, struct sprof_error *error);
    int (*begin)(struct trace_session *session, struct sprof_error *error);
    /* Returns a descriptor of the program's memory that the caller closes, or a negative code. */
    int (*open_code)(struct trace_session *session, struct sprof_error *error);

    /* == While it runs. Each may be NULL: the agent does that. == */

    /* Whether a function that has no place for a jump can have a probe all the same. */
    bool (*may_stand)(const struct plan_function *function);
    /* Copies figures to where the agent would have put them. Returns 0 or SPROF_ENOMEM. */
    int (*read)(struct trace_session *session, bool at_once);
    int (*clear)(struct trace_session *session);
    bool (*has_ended)(const struct trace_session *session, uint32_t tid);
    /* The cost of a call of that function. */
    struct probe_cost (*cost)(const struct trace_session *session, uint32_t function);
    /* session->process.shared->tiers have changed. */
    void (*switched)(struct trace_session *session);
    /* Holds max_overhead in its own way, when it is time. Returns 0 or SPROF_ENOMEM. */
    int (*govern)(struct trace_session *session);
    /* Calls without room. */
    uint64_t (*lost)(const struct trace_session *session);
    /* Takes the probes out in its own way. The process goes on, and figures stay. */
    void (*take_out)(struct trace_session *session);
    void (*free)(struct trace_session *session);
};

extern const struct probe_backend probe_backend_preload, probe_backend_attach, probe_backend_held,
    probe_backend_listening, probe_backend_uprobe;

#endif
