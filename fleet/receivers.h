/* What is particular to a kind of receiver. */
#ifndef SPROF_FLEET_RECEIVERS_H
#define SPROF_FLEET_RECEIVERS_H

#include "fleet/batch.h"
#include "fleet/link.h"

/* What was found out of the receiver at hand. Zero is valid: nothing yet. */
struct fleet_receiver {
    const struct fleet_receiver_kind *kind;
    struct fleet_link *link;
    bool is_known;            /* `learn` has succeeded */
    unsigned version;         /* of ClickHouse: 1816 for 18.16 */
    struct sprof_map columns; /* of its tables: hash of "table.column" */
};

struct fleet_receiver_kind {
    /* Queries what the receiver is, before anything is sent; NULL: nothing is queried. Returns 0 or
     * a negative code. */
    int (*learn)(struct fleet_receiver *receiver, struct sprof_error *error);

    /* Whether it has a place for this batch: 0, or SPROF_ESTATE with what is to be done. NULL: it
     * has. */
    int (*check)(const struct fleet_receiver *receiver, const struct fleet_batch *batch,
                 struct sprof_error *error);

    /* The address of a piece, and its type and header. Returns 0 or SPROF_ENOMEM. */
    int (*address)(const struct fleet_receiver *receiver, const struct fleet_batch *batch,
                   size_t piece, struct sprof_str *url, struct fleet_request *request);
    enum fleet_verdict (*judge)(struct fleet_answer *answer);

    /* Whether a piece that is sent again counts once. */
    bool (*counts_once)(const struct fleet_receiver *receiver, const struct fleet_piece *piece);
};

extern const struct fleet_receiver_kind fleet_receiver_clickhouse, fleet_receiver_pyroscope,
    fleet_receiver_otlp;

#endif
