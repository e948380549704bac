/* Data shared by the tracing agent's C files and assembly. */
#include "agent/probe/table.h"

struct probe_inside probe_inside;

#ifndef PROBE_MAPPED
_Thread_local TLS_MODEL struct thread probe_thread;
#endif

uint32_t probe_below;
void (*probe_called)(void);
