/* Rules of `--keep` and `sprof ctl keep`, for all programs of a trace. */
#ifndef SPROF_CALLS_KEEP_RULES_H
#define SPROF_CALLS_KEEP_RULES_H

#include "calls/program.h"

int calls_keep_check(const struct trace_options *options, struct sprof_error *error);

/* Returns 0 or a negative code. */
int calls_keep_open(struct calls_trace *trace, const struct trace_options *options,
                    struct sprof_error *error);
void calls_keep_release(struct calls_trace *trace);

/* True also after rules have ended. */
static inline bool calls_keeps(const struct calls_program *program)
{
    return program->all->kept.rules.count > 0;
}

static inline bool calls_keep_is_on(const struct calls_program *program, size_t rule)
{
    return !program->all->kept.rules.items[rule].is_over;
}

/* In new shared memory no call meets a rule. */
void calls_keep_make(struct calls_program *program);

int calls_keep_begin(struct calls_program *program, size_t first, struct sprof_error *error);

/* Adds "RULE" or "+RULE", ends "-#N" or "-RULE", or lists rules for "". Read all figures first:
 * earlier calls are not tested. */
int calls_keep_change(struct calls_program *program, const char *change, struct sprof_str *answer,
                      struct sprof_error *error);

/* Has rules that wait take their next call again; with an expression for functions, the rule "next
 * 1 : RE", which is added if there is none. */
int calls_keep_next(struct calls_program *program, const char *function, struct sprof_str *answer,
                    struct sprof_error *error);

#endif
