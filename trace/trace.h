/* Traces every call of chosen functions by probes at their entries, in a launched command or a
 * running process. */
#ifndef SPROF_TRACE_TRACE_H
#define SPROF_TRACE_TRACE_H

#include "rules/rules.h"
#include "trace/exec_events.h"
#include "trace/session.h"

#endif
