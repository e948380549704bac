/* Jumps lost with dropped pages of code. */
#ifndef SPROF_TRACE_PROBES_GONE_JUMPS_H
#define SPROF_TRACE_PROBES_GONE_JUMPS_H

#include <stdbool.h>
#include <stdint.h>

struct trace_session;

struct trace_gone_jumps {
    uint64_t next_ns;
    bool is_reported;
};

/* Writes lost jumps again each second, if probes may rest. */
void trace_gone_jumps_refresh(struct trace_session *session);

#endif
