/* cli, inside: the end of `sprof trace`. */
#ifndef SPROF_CLI_TRACE_SUMMARY_H
#define SPROF_CLI_TRACE_SUMMARY_H

#include "cli/terminal.h"
#include "trace/trace.h"

/* Says what was counted, what was not, and what to do next. */
void cli_say_traced(struct cli_terminal *terminal, const struct trace_options *trace,
                    const struct trace_result *result);

#endif
