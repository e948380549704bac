/* The data of the agent that its C files and assembly share. */
#include "agent/probe/table.h"

struct probe_inside probe_inside;

#ifndef PROBE_MAPPED
_Thread_local TLS_MODEL struct thread probe_thread;
#endif

/* Of the calibration. */
uint32_t probe_below;
void (*probe_called)(void);
