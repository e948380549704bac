/* trace/attach, inside: the agent in a process, and the way to reach it. */
#ifndef SPROF_TRACE_ATTACH_ATTACHMENT_H
#define SPROF_TRACE_ATTACH_ATTACHMENT_H

#include "trace/attach/attach.h"
#include "trace/attach/hand.h"

struct trace_attachment {
    struct trace_entrance entrance;
    struct trace_raw_agent mapped; /* where no loader has loaded it */
    struct trace_hand hand;
    int memory_fd;  /* /proc/PID/mem: leads nowhere after an execve */
    uint64_t asked; /* address of sprof_probe_asked; 0: the agent is not in the process */
    uint64_t handle;
    char library[TARGET_PATH_MAX];
};

/* Makes the session's attachment, opens the process, and reads its code for the ways in. Freed with
 * trace_attach_free, also after an error. */
int trace_attach_open(struct trace_session *session, struct sprof_error *error);

/* Borrows a thread; `any_place`: wherever it is, to map, not to load. */
int trace_attach_take(struct trace_attachment *attachment, pid_t pid, bool any_place,
                      struct sprof_error *error);

/* Has the borrowed thread get the agent's hello. */
int trace_attach_say_hello(struct trace_session *session, struct sprof_error *error);

#endif
