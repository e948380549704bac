/* trace, inside: jumps that the program has given back with pages of its code. */
#ifndef SPROF_TRACE_PROBES_GONE_JUMPS_H
#define SPROF_TRACE_PROBES_GONE_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

struct trace_session;

struct trace_gone_jumps {
    uint64_t next_ns; /* the next search for them */
    bool is_reported; /* it was reported that some were found */
};

/* Once a second has jumps put back that the program has given back with pages of its code; not
 * where no probe may rest. */
void trace_gone_jumps_refresh(struct trace_session *session);

#endif
