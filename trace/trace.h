/* trace: every call of chosen functions, by probes at their entries.
 *
 * What is here: where a file's probes can be, and where not, and why (the plan); and copies of
 * function beginnings that do the same at another address. Nothing here touches a process. */
#ifndef SPROF_TRACE_TRACE_H
#define SPROF_TRACE_TRACE_H

#include "trace/plan.h"
#include "trace/relocate.h"

#endif
