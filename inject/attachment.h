/* inject, inside: the agent in a process, and the way to reach it. */
#ifndef SPROF_INJECT_ATTACHMENT_H
#define SPROF_INJECT_ATTACHMENT_H

#include "inject/attach.h"
#include "inject/borrowed.h"
#include "inject/inside.h"

struct inject_attachment {
    struct inject_entrance entrance;
    struct inject_raw_agent mapped; /* where no loader has loaded it */
    struct inject_borrowed borrowed;
    int memory_fd;  /* /proc/PID/mem: leads nowhere after an execve */
    uint64_t asked; /* address of sprof_probe_asked; 0: the agent is not in the process */
    uint64_t handle;
    char library[TARGET_PATH_MAX];
};

/* Makes the process's attachment, opens the process, and reads its code for the ways in. Freed with
 * inject_attachment_free, also after an error. */
int inject_attach(struct inject_process *process, struct sprof_error *error);

/* Borrows a thread; `any_place`: wherever it is, to map, not to load. */
int inject_take_thread(struct inject_attachment *attachment, pid_t pid, bool any_place,
                       struct sprof_error *error);

/* Has the borrowed thread get the agent's hello. */
int inject_say_hello(struct inject_process *process, struct sprof_error *error);

/* Copies the descriptor `there` of the process's new memory. Errors as of inject_make_memory;
 * SPROF_ENOTFOUND, without a message, where the process has ended. */
int inject_memory_copy(struct inject_process *process, int there, struct sprof_error *error);

#endif
