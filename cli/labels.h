/* Labels from -l and from the environment, in the variables of OpenTelemetry's specification. */
#ifndef SPROF_CLI_LABELS_H
#define SPROF_CLI_LABELS_H

#include "base/base.h"
#include "cli/values.h"
#include "report/report.h"

/* Zero is valid: none. */
struct cli_labels {
    SPROF_VEC(const char *) list; /* "NAME=VALUE" */
    struct sprof_arena texts;     /* of those that the command line does not hold */
};

/* Adds what -l gives: of "service", "version" and "host", which are brief there, the whole name. 0,
 * SPROF_EUSAGE or SPROF_ENOMEM. */
int cli_add_label(void *labels, const char *value, struct sprof_error *error);

/* Adds what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say to `labels`, which prevail, as the
 * former does over the latter (OpenTelemetry: SDK environment variables; resource SDK). A malformed
 * variable is left out with a warning. 0 or SPROF_ENOMEM. */
int cli_add_otel_labels(struct cli_labels *labels, const struct sprof_log *log,
                        struct sprof_error *error);

struct report_labels cli_labels_of(const struct cli_labels *labels); /* borrowed */
bool cli_labels_have(const struct report_labels *labels, const char *name);
void cli_labels_release(struct cli_labels *labels);

#endif
