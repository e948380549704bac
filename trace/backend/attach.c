/* Traces a running process: a borrowed thread loads the agent. */
#include "trace/backend/borrowed.h"
#include "trace/requests.h"

const struct probe_backend probe_backend_attach = {
    .source = "probes injected",
    .has_agent = true,
    .borrows = true,
    .is_live = true,
    .can_rest = true,
    .sees_loads = true,
    .needs_lease = true,
    .needs_keeper = true,
    .meet = trace_loads_note,
    .place = trace_place_by_agent,
    .enter = trace_borrowed_enter,
    .begin = trace_borrowed_begin,
    .open_code = trace_borrowed_open_code,
    .ask = trace_ask,
};
