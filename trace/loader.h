/* trace, inside: the thread of the program's loader that waits in the agent (agent/probe/loaded.c).
 */
#ifndef SPROF_TRACE_LOADER_H
#define SPROF_TRACE_LOADER_H

#include "agent/probe.h"
#include "base/base.h"
#include "plan/plan.h"

#include <pthread.h>
#include <stdbool.h>

struct trace_session;

/* The jump at the function by which the loader reports libraries. It leads to the agent. */
struct trace_hook {
    uint64_t at;     /* 0: it is not there */
    uint64_t wanted; /* where it is to be in a running process; 0: nowhere */
    uint8_t original[PLAN_JUMP_BYTES], jump[PLAN_JUMP_BYTES];
};

struct trace_loader {
    struct probe_loading *shared; /* NULL: the loader is not followed */
    pthread_t thread;             /* raises the beat, and waits for requests */
    bool has_thread;
    bool is_serving; /* a thread of the command waits */
    _Atomic bool ends;
    int event_fd; /* readable: such a thread asks */
    struct trace_hook hook;
};

/* Begins the thread of sprof. SPROF_ELIMIT: there can be none. */
int trace_loader_begin(struct trace_loader *loader, struct probe_loading *shared,
                       struct sprof_error *error);

/* Whether a thread of the command waits to be served. Drains the event. Returns 1, 0, or
 * SPROF_ENOMEM. */
int trace_loader_take(struct trace_loader *loader);

/* Lets the served thread go on. */
void trace_loader_done(struct trace_loader *loader);

/* Has the waiting thread carry out a request of agent/probe.h. Returns the answer, or -EPIPE. */
int64_t trace_loader_ask(struct trace_session *session, const struct probe_request *request);

/* Readable when there is work; -1: never. */
int trace_loader_fd(const struct trace_loader *loader);

/* The command waits no more. */
void trace_loader_close(struct trace_loader *loader);
void trace_loader_release(struct trace_loader *loader);

#endif
