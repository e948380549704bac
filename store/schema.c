#include "store/schema.h"

#include "store/database.h"

#include <stdio.h>

/* The step at [version] leads from that version to the next. */
static const struct migration {
    const char *tables, *views;
} migrations[STORE_SCHEMA_VERSION] = {
    {store_schema_sql, store_views_sql},
};

static int step(struct store *store, int version, struct sprof_error *error)
{
    char set_version[64];
    snprintf(set_version, sizeof set_version, "PRAGMA user_version = %d", version + 1);
    int status = store_begin(store, error);
    if (!status)
        status = store_exec(store, migrations[version].tables, error);
    if (!status)
        status = store_exec(store, migrations[version].views, error);
    if (!status)
        status = store_exec(store, set_version, error);
    return store_end(store, status, error);
}

int store_migrate(struct store *store, struct sprof_error *error)
{
    int64_t version = 0;
    int status = store_scalar(store, "PRAGMA user_version", &version, error);
    for (; !status && version < STORE_SCHEMA_VERSION; version++)
        status = step(store, (int)version, error);
    return status;
}

int store_check_version(struct store *store, struct sprof_error *error)
{
    int64_t version = 0;
    int status = store_scalar(store, "PRAGMA user_version", &version, error);
    if (status)
        return status;
    if (version > STORE_SCHEMA_VERSION)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s was written by a newer sprof: its schema is version %lld, this "
                               "sprof knows up to %d; read it with the sprof that wrote it, or a "
                               "newer one",
                               store->path, (long long)version, STORE_SCHEMA_VERSION);
    if (version < 1)
        return sprof_error_set(error, SPROF_EFORMAT, 0,
                               "%s holds no recording: its recorder was killed before it began; "
                               "record again",
                               store->path);
    return 0;
}
