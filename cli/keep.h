/* cli, inside: the rules of `sprof trace --keep`. */
#ifndef SPROF_CLI_KEEP_H
#define SPROF_CLI_KEEP_H

#include "cli/terminal.h"
#include "trace/trace.h"

struct cli_keep_rules {
    SPROF_VEC(struct rules_keep) list;
    bool arguments; /* --args: values of kept calls are wanted, too … */
    SPROF_VEC(struct rules_capture) captures;
    const char *arguments_of; /* … of functions that this expression finds; NULL: of all */
    struct rules_capture requests_of; /* --request; no text: none */
    bool arguments_both;              /* … as they are at the entry and at the end */
    size_t text_bytes;                /* --text; 0: not given */
};

/* As `set` of struct cli_option: adds a rule. */
int cli_add_keep_rule(void *field, const char *text, struct sprof_error *error);

/* As above: adds a --capture. */
int cli_add_capture(void *field, const char *text, struct sprof_error *error);

/* As above: --request. */
int cli_set_request(void *field, const char *text, struct sprof_error *error);

/* As above: --args, with "both", an expression, "both:" and one, or NULL. */
int cli_set_arguments(void *field, const char *expression, struct sprof_error *error);

/* As above: --text, a size. */
int cli_set_text_bytes(void *field, const char *size, struct sprof_error *error);

void cli_keep_rules_release(struct cli_keep_rules *rules);

/* Says how many calls were kept, and what shows them. */
void cli_say_kept(struct cli_terminal *terminal, const struct trace_result *result);

#endif
