/* model: what a recording consists of, and the one place where counts are added up. Pure: no I/O,
 * no clock, no other library but base. Numbers given as `id` count from 1 in order of creation, so
 * that they serve as row ids; 0 means none. */
#ifndef SPROF_MODEL_MODEL_H
#define SPROF_MODEL_MODEL_H

#include "model/difference.h"
#include "model/fields.h"
#include "model/kinds.h"
#include "model/paths.h"
#include "model/process_table.h"
#include "model/records.h"
#include "model/speed.h"
#include "model/stacks.h"
#include "model/vocabulary.h"

#endif
