/* A receiver that is reached, and tried again while it fails. */
#ifndef SPROF_FLEET_LINK_H
#define SPROF_FLEET_LINK_H

#include "fleet/http.h"
#include "fleet/target.h"

/* All is borrowed. */
struct fleet_link_options {
    const struct fleet_target *target;
    const char *credentials; /* a file; NULL: the environment alone */
    uint64_t patience_ns;    /* how long a receiver that fails is tried; 0: it is tried once */
    int end_fd;              /* readable: patience ends; -1: none */
    const struct sprof_log *log;
};

/* What an answer means for a request. */
enum fleet_verdict {
    FLEET_TAKEN,
    FLEET_AGAIN,   /* what is wrong may pass */
    FLEET_REFUSED, /* this request is wrong, others need not be */
    FLEET_STOP,    /* nothing can be sent until people do something */
};

struct fleet_link {
    struct fleet_link_options options;
    struct fleet_http *http;
    uint64_t again; /* requests that were sent again */
    bool said_that_it_waits;
    uint32_t random;
};

/* Loads libcurl and credentials; nothing is sent. The caller closes, also on failure. */
int fleet_link_open(struct fleet_link *link, const struct fleet_link_options *options,
                    struct sprof_error *error);
void fleet_link_close(struct fleet_link *link);

/* By the status alone: 2xx taken; 408, 429, 5xx and lost connections again; 401, 403, 404, 3xx and
 * wrong certificates stop; others refused. */
enum fleet_verdict fleet_link_judge(const struct fleet_answer *answer);

/* Posts, and again after pauses of 0.1 s doubled up to 30 s, by chance up to half shorter, or as
 * long as the receiver demands. Returns 0 for what is taken, 1 for what is refused with
 * answer->problem, or a negative code: SPROF_EIO where patience ended, SPROF_ESTATE for
 * FLEET_STOP, as fleet_http_post. `uncertain` (NULL is allowed) is set where a request was sent
 * again that may have been taken before. The caller releases the answer's text. */
int fleet_link_post(struct fleet_link *link, const struct fleet_request *request,
                    enum fleet_verdict (*judge)(struct fleet_answer *answer),
                    struct fleet_answer *answer, bool *uncertain, struct sprof_error *error);

#endif
