/* The calls of all blocks as a table `call`, for SQL. */
#ifndef SPROF_STORE_CALLS_TABLE_H
#define SPROF_STORE_CALLS_TABLE_H

#include <sqlite3.h>

/* Offers the table to statements of a connection. Returns SQLite's code. */
int store_offer_calls(sqlite3 *database);

#endif
