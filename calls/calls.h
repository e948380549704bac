/* Calls of traced programs, from the memory that an agent writes to rows of a recording: figures,
 * paths, log, kept calls, values, coverage, warnings. It works on a program with probes, without a
 * session. */
#ifndef SPROF_CALLS_CALLS_H
#define SPROF_CALLS_CALLS_H

#include "calls/coverage.h"
#include "calls/figures.h"
#include "calls/history.h"
#include "calls/keep.h"
#include "calls/keep_late.h"
#include "calls/keep_load.h"
#include "calls/keep_quick.h"
#include "calls/keep_requests.h"
#include "calls/keep_rules.h"
#include "calls/log.h"
#include "calls/memory.h"
#include "calls/outside.h"
#include "calls/processes.h"
#include "calls/program.h"
#include "calls/remarks.h"
#include "calls/states.h"
#include "calls/totals.h"
#include "calls/use.h"
#include "calls/values.h"
#include "calls/warn.h"

#endif
