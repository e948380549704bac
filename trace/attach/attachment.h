/* trace/attach, inside: what is known of the agent in a process, and of the way to have it do
 * something. */
#ifndef SPROF_TRACE_ATTACH_ATTACHMENT_H
#define SPROF_TRACE_ATTACH_ATTACHMENT_H

#include "trace/attach/attach.h"
#include "trace/attach/hand.h"

struct trace_attachment {
    struct trace_entrance entrance;
    struct trace_raw_agent mapped; /* by a way other than a loader */
    struct trace_hand hand;
    int memory_fd;  /* /proc/PID/mem: leads nowhere once the process executes something */
    uint64_t asked; /* address of sprof_probe_asked; 0: the agent is not in the process */
    uint64_t handle;
    char library[TARGET_PATH_MAX];
};

/* Makes the session's, and opens the process for it, whose code is read for the ways in. Freed with
 * trace_attach_free, also after an error. */
int trace_attach_open(struct trace_session *session, struct sprof_error *error);

/* Borrows a thread; `any_place`: wherever it is, to map something, not to load. */
int trace_attach_take(struct trace_attachment *attachment, pid_t pid, bool any_place,
                      struct sprof_error *error);

/* Has the borrowed thread ask the agent who it is. */
int trace_attach_say_hello(struct trace_session *session, struct sprof_error *error);

#endif
