/* Finds in a traced process the data that the agent keeps for each thread. */
#ifndef SPROF_INJECT_THREAD_DATA_H
#define SPROF_INJECT_THREAD_DATA_H

#include "agent/probe.h"

#include <sys/types.h>

/* Address of the data (hello->thread_bytes) of the thread with this thread pointer and this id in
 * its control block (0: any id), as a slab has it. 0: the thread has none yet, which happens with a
 * table alone. */
uint64_t inject_thread_data(const struct probe_hello *hello, pid_t pid, uint64_t pointer,
                            uint32_t tid);

/* The same while all threads stand still; gives data to a thread without. 0: that is impossible, or
 * the memory cannot be read or written. */
uint64_t inject_thread_give_data(const struct probe_hello *hello, pid_t pid, int memory_fd,
                                 uint64_t pointer);

#endif
