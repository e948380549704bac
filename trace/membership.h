/* The programs of a trace: one, those of a command and its children, or several processes. */
#ifndef SPROF_TRACE_MEMBERSHIP_H
#define SPROF_TRACE_MEMBERSHIP_H

#include "base/base.h"

#include <poll.h>
#include <stdbool.h>

struct trace_result;
struct trace_session;

struct trace_polls {
    SPROF_VEC(struct pollfd) list;
};

/* All functions take the common session. Those that return int return 0 or a negative code. */
struct trace_membership {
    bool is_one;           /* the common session is the only program */
    bool ends_with_target; /* the trace lasts until the command or process ends */

    /* Prepares before the target is opened. */
    int (*open)(struct trace_session *session, struct sprof_error *error);
    int (*set_up)(struct trace_session *session, struct sprof_error *error);

    /* The following may be NULL. */

    /* Begins and ends programs. */
    int (*serve)(struct trace_session *session);
    /* Adds descriptors that wake `serve`. */
    int (*polls)(const struct trace_session *session, struct trace_polls *polls);
    /* Finds processes that have not called anything yet. */
    int (*find)(struct trace_session *session);
    bool (*are_over)(struct trace_session *session);
    void (*close)(struct trace_session *session);
    void (*count)(const struct trace_session *session, struct trace_result *result);
    void (*free)(struct trace_session *session);
};

extern const struct trace_membership trace_of_one, trace_of_children, trace_of_several;

#endif
