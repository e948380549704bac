/* Internal: traces a process that listens (agent/probe/listen.c), by its agent instead of
 * ptrace(2). */
#ifndef SPROF_INJECT_LISTENING_H
#define SPROF_INJECT_LISTENING_H

#include "inject/process.h"

/* 1: connected and locked; 0: it does not listen; else an error. */
int inject_listening_connect(pid_t pid, int *agent_fd, int *lock_fd, struct sprof_error *error);

/* The hello brings process->code_fd. */
int inject_listening_meet(struct inject_process *process, struct sprof_error *error);

/* Makes the agent measure. SPROF_ESTATE: it is gone. */
int inject_listening_go(struct inject_process *process, struct sprof_error *error);

#endif
