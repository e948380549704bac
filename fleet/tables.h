/* The tables of a fleet in ClickHouse: made, upgraded and audited. */
#ifndef SPROF_FLEET_TABLES_H
#define SPROF_FLEET_TABLES_H

#include "fleet/link.h"

struct fleet_made {
    unsigned version; /* of the server, as in clickhouse.h */
    unsigned tables;  /* that were missing */
    struct sprof_str
        added; /* "cost.total, run.chance": columns that were; released by the caller */
};

/* Makes what is missing of the tables that suit the server's version (docs/fleet/clickhouse.sql, or
 * clickhouse-18.sql for servers before 24) and adds columns to older ones. Errors as
 * fleet_clickhouse_ask. */
int fleet_tables_make(struct fleet_link *link, struct fleet_made *made, struct sprof_error *error);

/* What there is of one service, version, host and event. Texts are valid during the call. */
struct fleet_audit {
    const char *service, *version, *host, *event;
    uint64_t recorded, stored; /* samples, as `run` and as `cost` have them */
    uint64_t lost;             /* when recording */
    bool at_edge;              /* a run is partly outside of the time that is looked at */
    bool is_recent;            /* rows of the last two minutes are there: more may be on its way */
};

/* Compares the samples of runs with those of their costs, for runs that began from `from_s` (since
 * 1970) on and before `until_s`. Calls for each service, version, host and event in order; what it
 * returns ends the audit where it is not 0. */
int fleet_tables_audit(struct fleet_link *link, uint64_t from_s, uint64_t until_s,
                       int (*call)(void *context, const struct fleet_audit *audit), void *context,
                       struct sprof_error *error);

/* The statements, with the database's name; for tests. */
extern const char fleet_sql_clickhouse[], fleet_sql_clickhouse_18[];

#endif
