/* Internal: the agent in a process. */
#ifndef SPROF_INJECT_ATTACHMENT_H
#define SPROF_INJECT_ATTACHMENT_H

#include "inject/attach.h"
#include "inject/borrowed.h"
#include "inject/inside.h"

struct inject_attachment {
    struct inject_entrance entrance;
    struct inject_raw_agent mapped; /* without a loader */
    struct inject_borrowed borrowed;
    int memory_fd;  /* /proc/PID/mem, void after an execve */
    uint64_t asked; /* address of sprof_probe_asked, or 0 */
    uint64_t handle;
    char library[TARGET_PATH_MAX];
};

/* inject_process_release frees it, even after an error. */
int inject_attach(struct inject_process *process, struct sprof_error *error);

/* `any_place`: accepts a thread wherever it is, for mapping but not for loading. */
int inject_take_thread(struct inject_attachment *attachment, pid_t pid, bool any_place,
                       struct sprof_error *error);

int inject_say_hello(struct inject_process *process, struct sprof_error *error);

/* Copies descriptor `there` of the process. Errors as of inject_make_memory; SPROF_ENOTFOUND,
 * without a message: it has ended. */
int inject_memory_copy(struct inject_process *process, int there, struct sprof_error *error);

#endif
