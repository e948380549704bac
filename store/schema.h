/* The schema, its version, and the way from older versions to it. */
#ifndef SPROF_STORE_SCHEMA_H
#define SPROF_STORE_SCHEMA_H

#include "base/base.h"

struct store;

enum {
    STORE_SCHEMA_VERSION = 20,         /* PRAGMA user_version */
    STORE_APPLICATION_ID = 0x73707266, /* PRAGMA application_id: "sprf" */
};

/* store/views.sql, and store/migrate_1.sql: from the tables of version 1, renamed to v1_*, into
 * today's. */
extern const char store_views_sql[];
extern const char store_migrate_1_sql[];

/* Brings the open database from its version (0: empty) to STORE_SCHEMA_VERSION, in one transaction.
 */
int store_migrate(struct store *store, struct sprof_error *error);

/* SPROF_EUNSUPPORTED where the database is of a version newer than this sprof supports,
 * SPROF_EFORMAT where it has none. */
int store_check_version(struct store *store, int64_t *version, struct sprof_error *error);

#endif
