/* ClickHouse over HTTP. */
#ifndef SPROF_FLEET_CLICKHOUSE_H
#define SPROF_FLEET_CLICKHOUSE_H

#include "fleet/link.h"

/* Versions as 100 * year + number: 18.16 is 1816. */
enum {
    FLEET_CLICKHOUSE_TOKENS = 2202, /* from then on inserts have tokens */
    FLEET_CLICKHOUSE_TODAY = 2400,  /* from then on docs/fleet/clickhouse.sql */
};

/* Sends a statement. `out` NULL: a text answer is in *text, which the caller releases. Returns 0,
 * or a negative code with the server's message. */
int fleet_clickhouse_ask(struct fleet_link *link, const char *sql, FILE *out,
                         struct sprof_str *text, struct sprof_error *error);

/* The server's version. SPROF_ESTATE where it is no ClickHouse. */
int fleet_clickhouse_version(struct fleet_link *link, unsigned *version, struct sprof_error *error);

/* Appends 'TEXT' as a string of SQL. */
int fleet_clickhouse_quote(struct sprof_str *sql, const char *text);

#endif
