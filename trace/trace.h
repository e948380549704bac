/* trace: every call of chosen functions, by probes at their entries.
 *
 * What is here: where a file's probes can be, and where not, and why (the plan). It touches no process. */
#ifndef SPROF_TRACE_TRACE_H
#define SPROF_TRACE_TRACE_H

#include "trace/plan.h"

#endif
