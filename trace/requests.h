/* trace, inside: requests to the agent of a program. */
#ifndef SPROF_TRACE_REQUESTS_H
#define SPROF_TRACE_REQUESTS_H

#include "trace/tracing.h"

/* Sends a request to the agent, with `fd` where it is not -1. Returns the address, or minus an
 * errno. */
int64_t trace_ask(struct trace_session *session, enum probe_request_kind kind, uint64_t address,
                  uint64_t size, int fd);

#endif
