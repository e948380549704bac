/* inject, inside: a process that listens (agent/probe/listen.c). It is traced without ptrace: the
 * agent sends a descriptor of its memory, and one byte switches each probe of its files. */
#ifndef SPROF_INJECT_LISTENING_H
#define SPROF_INJECT_LISTENING_H

#include "inject/process.h"

/* Connects to a process, and locks it. 1: it listens, 0: it does not; else an error: the peer is
 * another process, or must not be spoken to. */
int inject_listening_connect(pid_t pid, int *agent_fd, int *lock_fd, struct sprof_error *error);

/* Waits for the agent's hello, with which the memory comes: process->code_fd. */
int inject_listening_meet(struct inject_process *process, struct sprof_error *error);

/* Has the agent measure. SPROF_ESTATE: it is gone. */
int inject_listening_go(struct inject_process *process, struct sprof_error *error);

#endif
