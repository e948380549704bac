/* trace, inside: which programs a trace has: one, those of a command and its children, or several
 * processes. */
#ifndef SPROF_TRACE_MEMBERSHIP_H
#define SPROF_TRACE_MEMBERSHIP_H

#include "base/base.h"

#include <poll.h>
#include <stdbool.h>

struct trace_result;
struct trace_session;

/* Descriptors to wait for. */
struct trace_polls {
    SPROF_VEC(struct pollfd) list;
};

/* All functions take the common session. */
struct trace_membership {
    bool is_one;           /* the common session is the only program */
    bool may_grow;         /* programs may come later, with functions that none has now */
    bool ends_with_target; /* not before the command or process has ended */

    /* Makes what is needed before the target is opened. Returns 0 or a negative code. */
    int (*open)(struct trace_session *session, struct sprof_error *error);
    /* Puts probes into the programs that are there. Returns 0 or a negative code. */
    int (*set_up)(struct trace_session *session, struct sprof_error *error);

    /* The others may be NULL: there is nothing to do. */

    /* Begins programs that come, and ends those without live processes. Returns 0 or SPROF_ENOMEM.
     */
    int (*serve)(struct trace_session *session);
    /* Adds descriptors that are readable when `serve` has work. Returns 0 or SPROF_ENOMEM. */
    int (*polls)(const struct trace_session *session, struct trace_polls *polls);
    /* Finds processes that have not called anything yet. Returns 0 or SPROF_ENOMEM. */
    int (*find)(struct trace_session *session);
    /* Whether all have ended. */
    bool (*are_over)(struct trace_session *session);
    /* Lets no program come any more. */
    void (*close)(struct trace_session *session);
    /* Adds programs and processes to the outcome. */
    void (*count)(const struct trace_session *session, struct trace_result *result);
    void (*free)(struct trace_session *session);
};

extern const struct trace_membership trace_of_one, trace_of_children, trace_of_several;

#endif
