/* The options of `sprof trace` for drill-downs. */
#ifndef SPROF_CLI_DRILL_H
#define SPROF_CLI_DRILL_H

#include "cli/terminal.h"
#include "cli/values.h"
#include "trace/trace.h"

struct cli_drill {
    bool adaptive, observe, uncalled;
    uint64_t step_ns;
    struct cli_texts roots;
    struct cli_conditions {
        SPROF_VEC(struct rules_condition) list;
    } over;
    SPROF_VEC(char *) owned; /* texts for --root without --adaptive */
};

int cli_add_condition(void *field, const char *text, struct sprof_error *error);
int cli_set_uncalled(void *field, const char *text, struct sprof_error *error);

/* Sets what the options mean in those of the trace, and checks that they go together. Without
 * --adaptive, roots are added to `children_of` with what they call directly; that is borrowed until
 * cli_drill_release. */
int cli_drill_apply(struct cli_drill *drill, struct cli_texts *children_of,
                    struct trace_options *trace, struct sprof_error *error);
void cli_drill_release(struct cli_drill *drill);

/* Writes a file of options to standard output: a section for the program (a path) with this
 * drill-down's options, and what --observe has found, as comments. */
int cli_print_drill_config(const struct cli_drill *drill, const struct cli_texts *modules,
                           const char *program, const char *answer, struct sprof_error *error);

/* Prints the answer of a drill-down, line by line; NULL: there was none. */
void cli_say_drilled(struct cli_terminal *terminal, const char *answer);

#endif
