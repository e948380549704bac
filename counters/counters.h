/* Reads the memory in which a traced program's agent counts calls, and adds up what is there. The
 * program can write anything into that memory, so each reader checks what it returns. Nothing here
 * depends on a session or a recording. */
#ifndef SPROF_COUNTERS_COUNTERS_H
#define SPROF_COUNTERS_COUNTERS_H

#include "counters/clocks.h"
#include "counters/figures.h"
#include "counters/pages.h"
#include "counters/rings.h"
#include "counters/states.h"

#endif
