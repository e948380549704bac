/* trace: every call of chosen functions, by probes at their entries.
 *
 * What is here: where a file's probes can be, and where not, and why (the plan); copies of function
 * beginnings that do the same at another address; and a session, which launches a command with
 * probes and records what they measure. */
#ifndef SPROF_TRACE_TRACE_H
#define SPROF_TRACE_TRACE_H

#include "trace/attach/owner.h"
#include "trace/embed/embed.h"
#include "trace/plan/plan.h"
#include "trace/plan/relocate.h"
#include "trace/session.h"

#endif
