/* trace: every call of chosen functions, by probes at their entries: a session, which launches a
 * command or attaches to a process, puts probes there and records what they measure. */
#ifndef SPROF_TRACE_TRACE_H
#define SPROF_TRACE_TRACE_H

#include "trace/condition.h"
#include "trace/exec_events.h"
#include "trace/capture.h"
#include "trace/keep_rule.h"
#include "trace/session.h"

#endif
