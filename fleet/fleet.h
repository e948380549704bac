/* fleet: what receives the recordings of many hosts, reached by HTTP: a ClickHouse database with
 * the tables of docs/fleet, or a store of profiles.
 *
 * A target is parsed from a URL (target.h), and reached by a link (link.h), which tries again. What
 * is to be sent becomes a batch (batch.h): some requests in an order. Batches lie in a spool
 * (spool.h), a directory from which fleet_push (push.h) sends them, each once where the receiver
 * can recognize a repetition. Tables are made and audited by tables.h, and read by fetch.h. */
#ifndef SPROF_FLEET_FLEET_H
#define SPROF_FLEET_FLEET_H

#include "fleet/batch.h"
#include "fleet/clickhouse.h"
#include "fleet/fetch.h"
#include "fleet/link.h"
#include "fleet/push.h"
#include "fleet/pyroscope.h"
#include "fleet/spool.h"
#include "fleet/tables.h"
#include "fleet/target.h"

#endif
