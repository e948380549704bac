/* The summary of a file that `sprof probes` prints. */
#ifndef SPROF_CLI_PROBES_SUMMARY_H
#define SPROF_CLI_PROBES_SUMMARY_H

#include "plan/plan.h"
#include "trace/trace.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a true start of a function gets no probe. */
bool cli_is_refused(const struct plan_function *function);

/* Why uprobes cannot be at a place that is good for a jump, or NULL. */
const char *cli_uprobe_objection(const struct plan_function *function);

/* Writes its lines to the standard output: how many functions and places for probes there are, by
 * which mechanism and why not, and the first names of what is refused. */
void cli_print_probes_summary(const struct plan *plan);

#endif
