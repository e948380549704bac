/* Finds the agent's data of a thread. */
#ifndef SPROF_INJECT_THREAD_DATA_H
#define SPROF_INJECT_THREAD_DATA_H

#include "agent/probe.h"

#include <sys/types.h>

/* Address of hello->thread_bytes; tid 0: any id. 0: no data yet, only with a table. */
uint64_t inject_thread_data(const struct probe_hello *hello, pid_t pid, uint64_t pointer,
                            uint32_t tid);

/* The same in a stop; gives data to a thread without. 0: impossible. */
uint64_t inject_thread_give_data(const struct probe_hello *hello, pid_t pid, int memory_fd,
                                 uint64_t pointer);

#endif
