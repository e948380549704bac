/* store: the recording as one SQLite file. The schema is in store/schema.sql and described for users
 * in docs/schema.md. Only this library speaks to SQLite. */
#ifndef SPROF_STORE_STORE_H
#define SPROF_STORE_STORE_H

#include "store/reader.h"
#include "store/rows.h"
#include "store/writer.h"

#endif
