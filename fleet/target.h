/* Receivers as URLs name them: clickhouse+https://host:8443/database?service=shop */
#ifndef SPROF_FLEET_TARGET_H
#define SPROF_FLEET_TARGET_H

#include "base/base.h"

#include <stdbool.h>

enum fleet_kind { FLEET_CLICKHOUSE, FLEET_PYROSCOPE, FLEET_OTLP, FLEET_KINDS };

struct fleet_parameter {
    char *name, *value; /* decoded */
};

/* Borrowed: what is known of rows or a profile as a whole, such as container.id. */
struct fleet_label {
    const char *name, *value;
};

/* Zero is a valid empty value. */
struct fleet_target {
    enum fleet_kind kind;
    char *url;      /* http://host:port, for ClickHouse; with the path, for others; no query */
    char *database; /* of ClickHouse: "sprof" unless the path names one */
    SPROF_VEC(struct fleet_parameter) parameters;
};

/* Whether a text is meant to be one: KIND+http:// or KIND+https:// of a kind that there is. */
bool fleet_is_url(const char *text);

/* Undoes %XX in place. False where no two hexadecimal digits follow a %, or for %00: the text is
 * then of no use. */
bool fleet_unescape(char *text);

/* "clickhouse", "pyroscope", "otlp" */
const char *fleet_kind_text(enum fleet_kind kind);

/* SPROF_EUSAGE with the form that is right; also of names and passwords, which others can see in
 * the list of processes. The caller releases, also on failure. */
int fleet_target_parse(struct fleet_target *target, const char *url, struct sprof_error *error);
void fleet_target_release(struct fleet_target *target);

#endif
