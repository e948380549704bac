/* Detects programs that compile code while they run. */
#ifndef SPROF_TRACE_COMPILED_H
#define SPROF_TRACE_COMPILED_H

#include <stdint.h>

struct trace_session;

struct trace_compiled {
    uint64_t wait_ns, next_ns; /* between checks; the next one */
};

/* Reports once that the program compiles code. Reads the process's mappings, at growing intervals.
 */
void trace_compiled_refresh(struct trace_session *session);

#endif
