/* Finds in a traced process what the agent keeps for each of its threads. */
#ifndef SPROF_TRACE_THREAD_DATA_H
#define SPROF_TRACE_THREAD_DATA_H

#include "agent/probe.h"

#include <sys/types.h>

/* The address of the data (hello->thread_bytes) of the thread with this thread pointer, whose id is
 * what its control block says, as a slab of the agent's has it; 0: any thread's with that pointer.
 * 0: the thread has none yet, which only an agent with a table says. */
uint64_t trace_thread_data(const struct probe_hello *hello, pid_t pid, uint64_t pointer,
                           uint32_t tid);

/* The same while all threads stand; gives data to one that has none. 0: that cannot be, or the
 * memory is not to be read or written. */
uint64_t trace_thread_give_data(const struct probe_hello *hello, pid_t pid, int memory_fd,
                                uint64_t pointer);

#endif
