/* Probes in a program: functions are chosen, jumps and thunks written, probes switched, put to rest
 * and woken, by ranges and rules. It works on a program's files and memory, without a session. */
#ifndef SPROF_PROBING_PROBING_H
#define SPROF_PROBING_PROBING_H

#include "probing/callees.h"
#include "probing/empty_range.h"
#include "probing/gone_jumps.h"
#include "probing/heap.h"
#include "probing/mapped_files.h"
#include "probing/options.h"
#include "probing/outside.h"
#include "probing/outside_slots.h"
#include "probing/points.h"
#include "probing/probes.h"
#include "probing/program.h"
#include "probing/range_text.h"
#include "probing/ranges.h"
#include "probing/rest.h"
#include "probing/switches.h"

#endif
