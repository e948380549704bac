/* A back end that only tests use: the program counts its calls by itself
 * (programs/counts_itself.c). */
#ifndef SPROF_TESTS_UNIT_TRACE_SELF_COUNTING_H
#define SPROF_TESTS_UNIT_TRACE_SELF_COUNTING_H

#include "trace/tracing.h"

extern const struct probe_backend probe_backend_self_counting;

/* From now on sessions use this back end; NULL: the one that trace/backend.c chooses. */
void self_counting_use(const struct probe_backend *backend);

/* The test's end of the socket at which a running process waits for its tracer; -1: none. */
void self_counting_meet(pid_t pid, int agent_fd);

#endif
