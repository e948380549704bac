/* trace, inside: the rules of `--keep` and of `sprof ctl keep`, which hold for all programs of a
 * trace and may come and go while it runs. */
#ifndef SPROF_TRACE_FIGURES_KEEP_RULES_H
#define SPROF_TRACE_FIGURES_KEEP_RULES_H

#include "trace/tracing.h"

/* Whether the rules are fine, before anything is done. */
int trace_keep_check(const struct trace_options *options, struct sprof_error *error);

/* Takes the rules of the options. Returns 0 or a negative code. */
int trace_keep_open(struct trace *trace, const struct trace_options *options,
                    struct sprof_error *error);
void trace_keep_release(struct trace *trace);

/* Whether there are rules, or were. */
static inline bool trace_keeps(const struct trace_session *session)
{
    return session->trace->kept.rules.count > 0;
}

/* Whether a rule is in force. */
static inline bool trace_keep_is_on(const struct trace_session *session, size_t rule)
{
    return !session->trace->kept.rules.items[rule].is_over;
}

/* Writes into new shared memory that no call meets a rule. */
void trace_keep_make(struct trace_session *session);

/* Writes the rules for the probes from `first` on. */
int trace_keep_begin(struct trace_session *session, size_t first, struct sprof_error *error);

/* Carries out `keep`: adds the rule (a + may be before it), ends one ("-#N", or "-" and its text),
 * or lists all ("").
 * All figures have been read just before: earlier calls are not tested. */
int trace_keep_change(struct trace_session *session, const char *change, struct sprof_str *answer,
                      struct sprof_error *error);

#endif
