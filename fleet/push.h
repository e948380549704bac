/* Sends what waits in a spool. */
#ifndef SPROF_FLEET_PUSH_H
#define SPROF_FLEET_PUSH_H

#include "fleet/link.h"
#include "fleet/spool.h"

struct fleet_push;

struct fleet_push_result {
    uint64_t batches, rows, bytes; /* sent */
    uint64_t refused, damaged;     /* set aside */
    uint64_t left;                 /* that wait */
    uint64_t uncertain;            /* requests that may count twice */
};

/* The link and the spool must live as long. */
int fleet_push_open(struct fleet_push **push, struct fleet_link *link, struct fleet_spool *spool,
                    struct sprof_error *error);
void fleet_push_free(struct fleet_push *push);

/* Sends batch after batch, the oldest first, until none waits. What was sent goes; what is damaged
 * or refused is set aside and said. Adds to *result. A failure leaves what is not sent in the
 * spool: SPROF_EIO where the receiver does not answer, or not as it should, until patience ends;
 * SPROF_ESTATE where people have to do something, such as to make tables; SPROF_ENOMEM. */
int fleet_push_all(struct fleet_push *push, struct fleet_push_result *result,
                   struct sprof_error *error);

#endif
