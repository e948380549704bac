/* Ways to measure calls. Each is a struct probe_backend in trace/backend/; trace/backend.c selects
 * one. */
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
    const char *mechanism; /* of all probes; NULL: as planned */

    /* == Facts == */

    bool has_agent;      /* else the kernel counts, in mode stats only */
    bool borrows;        /* enters through a thread of the running program */
    bool only_embedded;  /* only probes in its files; a byte switches each, without a stop */
    bool is_live;        /* the program may run code while its jumps are written */
    bool can_rest;       /* probes that are off can rest */
    bool sees_loads;     /* libraries that are loaded later get probes */
    bool needs_lease;    /* the agent does not notice the end of sprof */
    bool needs_keeper;   /* sprof's code must be removed if sprof dies */
    bool in_nanoseconds; /* else ticks; only the kernel writes nanoseconds */

    /* == Steps of a trace, in order. NULL: nothing to do. They return 0 or a negative code. == */

    /* Before the fork of the command. */
    int (*open)(struct trace_session *session, struct sprof_error *error);
    void (*in_child)(void); /* struct target_options */
    void (*meanwhile)(void *);
    /* Changes the environment of the forked command, which waits. */
    int (*prepare)(struct trace_session *session, struct sprof_error *error);
    /* Before the command starts. */
    int (*expect)(struct trace_session *session, struct sprof_error *error);
    /* Waits until the program can be planned. */
    int (*meet)(struct trace_session *session, struct sprof_error *error);
    /* Finds chosen functions' thunks. */
    int (*number)(struct trace_session *session, struct sprof_error *error);
    /* Places the probes and lets the program go. Not NULL. */
    int (*place)(struct trace_session *session, struct sprof_error *error);
    /* Parts of trace_place_by_agent: `enter` makes the shared memory; `begin` starts measuring. */
    int (*enter)(struct trace_session *session, struct sprof_error *error);
    int (*begin)(struct trace_session *session, struct sprof_error *error);
    /* Returns a descriptor of the program's memory; the caller closes it. */
    int (*open_code)(struct trace_session *session, struct sprof_error *error);

    /* == While the program runs. NULL: the agent does it. Functions with int return 0 or
     * SPROF_ENOMEM. == */

    /* Whether a function without room for a jump can have a probe. */
    bool (*may_stand)(const struct plan_function *function);
    /* Copies figures to the shared memory, as the agent would. */
    int (*read)(struct trace_session *session, bool at_once);
    int (*clear)(struct trace_session *session);
    bool (*has_ended)(const struct trace_session *session, uint32_t tid);
    struct probe_cost (*cost)(const struct trace_session *session, uint32_t function);
    /* Called after changes of session->process.shared->tiers. */
    void (*switched)(struct trace_session *session);
    int (*govern)(struct trace_session *session);
    uint64_t (*lost)(const struct trace_session *session);
    /* Removes the probes. The process goes on, and figures stay. */
    void (*take_out)(struct trace_session *session);
    void (*free)(struct trace_session *session);
};

extern const struct probe_backend probe_backend_preload, probe_backend_attach, probe_backend_held,
    probe_backend_listening, probe_backend_uprobe;

#endif
