/* Ways to measure calls. Each is a struct probe_backend in trace/backend/; trace/backend.c selects
 * one. */
#ifndef SPROF_TRACE_PROBE_BACKEND_H
#define SPROF_TRACE_PROBE_BACKEND_H

#include "agent/probe.h"
#include "base/base.h"
#include "calls/calls.h"

#include <stdbool.h>
#include <sys/types.h>

struct plan_function;
struct trace_session;

struct probe_backend {
    union {
        struct probing_way;
        struct probing_way way;
    };
    union {
        struct calls_reader;
        struct calls_reader reader;
    };
    const char *source; /* in the run's row: "probes preloaded" */
    bool needs_lease;   /* the agent does not notice the end of sprof */
    bool needs_keeper;  /* sprof's code must be removed if sprof dies */

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

    /* == While the program runs. NULL: the agent does it. Functions with int return 0 or
     * SPROF_ENOMEM. == */

    int (*govern)(struct trace_session *session);
    uint64_t (*lost)(const struct trace_session *session);
    /* Removes the probes. The process goes on, and figures stay. */
    void (*take_out)(struct trace_session *session);
    void (*free)(struct trace_session *session);
};

extern const struct probe_backend probe_backend_preload, probe_backend_attach, probe_backend_held,
    probe_backend_listening, probe_backend_uprobe;

#endif
