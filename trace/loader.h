/* Serves the program's dynamic loader. A thread of it waits in the agent (agent/probe/loaded.c)
 * until new libraries have probes. */
#ifndef SPROF_TRACE_LOADER_H
#define SPROF_TRACE_LOADER_H

#include "agent/probe.h"
#include "base/base.h"
#include "plan/plan.h"

#include <pthread.h>
#include <stdbool.h>

struct trace_session;

struct trace_loader {
    struct probe_loading *shared; /* NULL: the loader is not followed */
    pthread_t thread;             /* raises the beat, waits for requests */
    bool has_thread;
    bool is_serving; /* for a thread of the command */
    _Atomic bool ends;
    int event_fd; /* readable for such a thread's request */
};

/* SPROF_ELIMIT: no thread. */
int trace_loader_begin(struct trace_loader *loader, struct probe_loading *shared,
                       struct sprof_error *error);

/* Drains the event. Returns 1 if a thread of the command waits, else 0, or SPROF_ENOMEM. */
int trace_loader_take(struct trace_loader *loader);

void trace_loader_done(struct trace_loader *loader);

/* The waiting thread executes the request. Returns the answer or -EPIPE. */
int64_t trace_loader_ask(struct trace_session *session, const struct probe_request *request);

/* -1: none. */
int trace_loader_fd(const struct trace_loader *loader);

/* Ends all waiting in the command. */
void trace_loader_close(struct trace_loader *loader);
void trace_loader_release(struct trace_loader *loader);

#endif
