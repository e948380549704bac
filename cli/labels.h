/* Labels from the environment, in the variables of OpenTelemetry's specification. */
#ifndef SPROF_CLI_OTEL_LABELS_H
#define SPROF_CLI_OTEL_LABELS_H

#include "base/base.h"
#include "cli/values.h"
#include "report/report.h"

/* Adds what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say to `labels`, which prevail, as the
 * former does over the latter (OpenTelemetry: SDK environment variables; resource SDK). A malformed
 * variable is left out with a warning. The texts live in `arena`. 0 or SPROF_ENOMEM. */
int cli_add_otel_labels(struct cli_texts *labels, struct sprof_arena *arena,
                        const struct sprof_log *log, struct sprof_error *error);

/* Whether one has this name; "service" is brief for service.name, as version and host are. */
bool cli_labels_have(const struct report_labels *labels, const char *name);

#endif
