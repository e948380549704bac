/* Sends requests to a program's agent. */
#ifndef SPROF_TRACE_REQUESTS_H
#define SPROF_TRACE_REQUESTS_H

#include "trace/tracing.h"

/* Sends `fd` with the request, unless it is -1. Returns an address or -errno. */
int64_t trace_ask(struct probing_program *program, enum probe_request_kind kind, uint64_t address,
                  uint64_t size, int fd);

#endif
