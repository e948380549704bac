/* plan: where a file's probes can be, and where not, and why.
 *
 * A plan depends on the bytes of one file. Beside it stand what a probe consists of (the thunk,
 * copies of function beginnings that do the same at another address), the list of probes that a
 * file already holds, and the plans of the files that a live process has mapped. No function here
 * changes a process or a recording. */
#ifndef SPROF_PLAN_PLAN_H
#define SPROF_PLAN_PLAN_H

#include "arch/probe.h"
#include "plan/embedded.h"
#include "plan/expressions.h"
#include "plan/function_plan.h"
#include "plan/process_plan.h"
#include "plan/relocate.h"

#endif
