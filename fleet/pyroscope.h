/* What Pyroscope's push API takes. */
#ifndef SPROF_FLEET_PYROSCOPE_H
#define SPROF_FLEET_PYROSCOPE_H

#include "fleet/batch.h"
#include "fleet/target.h"

/* Adds a request with one profile (gzip'd pprof) to a batch: a PushRequest of push.v1 as JSON
 * (grafana/pyroscope, api/push/v1/push.proto). Names of labels are as in "service.name",
 * whose dots become "_"; those without a value are left out. */
int fleet_batch_add_profile(struct fleet_batch *batch, const struct fleet_label *labels,
                            size_t count, struct sprof_bytes profile, struct sprof_error *error);

#endif
