/* Conditions of kept calls that the tracer tests, by class, text, field or change. */
#ifndef SPROF_CALLS_KEEP_LATE_H
#define SPROF_CALLS_KEEP_LATE_H

#include "calls/values.h"

/* Selects rules that need values. */
uint64_t calls_late_rules(const struct calls_program *program, uint64_t rules);

/* Appends paths of rules to `list`. Returns the new count, at most CALLS_CAPTURED_MOST. */
uint32_t calls_late_paths(const struct calls_program *program, uint64_t rules,
                          const struct symbolize_path **list, uint32_t count);

/* Records values to capture for rules, after those of --capture. `signature` NULL: no debug
 * information. *unmet: rules that no call can meet. Returns 0 or SPROF_ENOMEM. */
int calls_late_note(struct calls_program *program, uint64_t rules, uint32_t captures,
                    const struct plan_function *function,
                    const struct symbolize_signature *signature, struct calls_noted *noted,
                    uint64_t *unmet);

/* Sets SPROF_EUSAGE with the reason why no function meets a rule; 0: unknown. */
int calls_late_explain(const struct calls_program *program, size_t rule, struct sprof_error *error);

/* Returns the rules in `met` that a call's values meet. `values` NULL: no room. *unread: rules with
 * unreadable values. */
uint64_t calls_late_meets(struct calls_program *program, const struct probe_kept *call,
                          const struct calls_taken_values *values, uint64_t met, uint64_t *unread);

/* The value of a call, captured as number `captured`, as a number; of a text its hash, and the
 * text. False: it was not read. */
bool calls_late_number(const struct calls_call_values *call, uint32_t captured, uint64_t *number,
                       struct sprof_str *text);

/* Suggests the name of a class or parameter for the one that a rule names, in any program. */
void calls_late_offer(struct calls_program *program, uint32_t number, const char *wanted,
                      const char *name);

#endif
