/* Requests to a receiver. Certificates are verified, redirections are not followed. */
#ifndef SPROF_FLEET_HTTP_H
#define SPROF_FLEET_HTTP_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

struct fleet_http;

struct fleet_request {
    const char *url;
    const char *type; /* Content-Type; NULL: none */
    const char *more; /* one more header line; NULL: none */
    bool is_gzip;     /* the body */
    struct sprof_bytes body;
    FILE *out;           /* where an answer of status 200 goes; NULL: into its text */
    uint64_t timeout_ns; /* of all; 0: none, as long as bytes come */
};

/* Zero is valid and empty. */
struct fleet_answer {
    long status;             /* 0: there was none */
    bool is_final;           /* none, and trying again would not help: a certificate is wrong */
    uint64_t retry_after_ns; /* as the receiver demands; 0: it does not */
    struct sprof_str text;   /* at most 64 KiB */
    char problem[512];       /* one line: what is wrong; "" where the status is 2xx */
};

/* Loads libcurl and reads credentials (fleet/credentials.h; `file` may be NULL). */
int fleet_http_open(struct fleet_http **http, const char *file, struct sprof_error *error);
void fleet_http_free(struct fleet_http *http);

/* Posts a body. 0 whatever the answer, SPROF_ENOMEM, or SPROF_EIO and SPROF_EFULL where `out`
 * cannot be written. The caller releases the answer's text, also on failure. */
int fleet_http_post(struct fleet_http *http, const struct fleet_request *request,
                    struct fleet_answer *answer, struct sprof_error *error);

/* Appends "?NAME=VALUE", or with & behind others, encoded. */
int fleet_url_add(struct sprof_str *url, const char *name, const char *value);

#endif
