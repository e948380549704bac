/* trace, inside: conditions of kept calls that the tracer decides: by classes, when probes are
 * made; by texts, fields and what has changed, when calls that may meet them are in the rings. */
#ifndef SPROF_TRACE_FIGURES_KEEP_LATE_H
#define SPROF_TRACE_FIGURES_KEEP_LATE_H

#include "trace/figures/values.h"

/* Those of the rules, a bit each, that read values for a condition. */
uint64_t trace_late_rules(const struct trace_session *session, uint64_t rules);

/* Appends the paths of these rules to a list of so many; returns how many there are then, at most
 * TRACE_CAPTURED_MOST. */
uint32_t trace_late_paths(const struct trace_session *session, uint64_t rules,
                          const struct symbolize_path **list, uint32_t count);

/* Notes what of a function is captured for rules, behind what is for the --captures. `rules`: those
 * about which its values or class decide. `signature` NULL: there is no debug information. *unmet:
 * those that none of its calls can meet. Returns 0 or SPROF_ENOMEM. */
int trace_late_note(struct trace_session *session, uint64_t rules, uint32_t captures,
                    const struct plan_function *function,
                    const struct symbolize_signature *signature, struct trace_noted *noted,
                    uint64_t *unmet);

/* Why some function cannot meet a rule, with the place in it. Returns 0: that is not known; or
 * SPROF_EUSAGE. */
int trace_late_explain(const struct trace_session *session, size_t rule, struct sprof_error *error);

/* Of the rules that a call has met by what the agent knows, those that it has met. `values` NULL:
 * they had no room. *unread: rules about which values decide that could not be read. */
uint64_t trace_late_meets(struct trace_session *session, const struct probe_kept *call,
                          const struct trace_taken_values *values, uint64_t met, uint64_t *unread);

#endif
