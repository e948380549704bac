/* Reads a selection of a fleet's rows. */
#ifndef SPROF_FLEET_FETCH_H
#define SPROF_FLEET_FETCH_H

#include "fleet/link.h"

/* NULL and 0: any. */
struct fleet_selection {
    const char *service, *version, *host, *event;
    const char *process;      /* its name */
    uint64_t from_s, until_s; /* since 1970 */
    SPROF_VEC(struct fleet_label) labels;
};

/* Writes the tables of the selection to `out`, as `sprof import -f rows` takes them.
 * SPROF_ENOTFOUND where there are no rows, naming the services that there are; SPROF_ELIMIT for
 * more than `most` rows of cost, with how to choose fewer; others as fleet_clickhouse_ask. */
int fleet_fetch(struct fleet_link *link, const struct fleet_selection *selection, uint64_t most,
                FILE *out, struct sprof_error *error);

#endif
