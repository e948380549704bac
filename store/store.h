/* store: the recording as one SQLite file. Only this library speaks to SQLite.
 *
 * The tables are listed in store/table_list.h; their rows are the structs of
 * store/rows.h, their columns are in store/tables.c, the views in store/views.sql; docs/schema.md
 * describes all of them for users. Producers fill a struct store_batch: runs, events (several a run
 * are fine, each has costs of its own), phases (one a run at least: its mode, rate and slice),
 * processes, stacks, samples. What is derived from these is written by store_write_derived, run by
 * run. Reports read derived rows; reading samples is for lists of samples and ranges of time. */
#ifndef SPROF_STORE_STORE_H
#define SPROF_STORE_STORE_H

#include "store/calls.h"
#include "store/crowd.h"
#include "store/merge.h"
#include "store/moved.h"
#include "store/places.h"
#include "store/reader.h"
#include "store/rows.h"
#include "store/writer.h"

#endif
