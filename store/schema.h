/* The schema, its version, and the steps from older versions to it. */
#ifndef SPROF_STORE_SCHEMA_H
#define SPROF_STORE_SCHEMA_H

#include "base/base.h"

struct store;

enum {
    STORE_SCHEMA_VERSION = 1,          /* PRAGMA user_version */
    STORE_APPLICATION_ID = 0x73707266, /* PRAGMA application_id: "sprf" */
};

/* store/schema.sql and store/views.sql. */
extern const char store_schema_sql[];
extern const char store_views_sql[];

/* Brings the open database from its version (0: empty) to STORE_SCHEMA_VERSION, each step in a
 * transaction of its own. */
int store_migrate(struct store *store, struct sprof_error *error);

/* SPROF_EUNSUPPORTED where the database is of a newer version than this sprof knows. */
int store_check_version(struct store *store, struct sprof_error *error);

#endif
