/* trace, inside: which probes a range holds. */
#ifndef SPROF_TRACE_PROBES_RANGE_TEXT_H
#define SPROF_TRACE_PROBES_RANGE_TEXT_H

#include "trace/tracing.h"

/* "0xA-0xB", behind "MODULE!" where addresses are those of a file. */
struct trace_addresses {
    const char *module; /* NULL: addresses of the process */
    size_t module_length;
    uint64_t from, to;
};

/* Whether the text of a range, without its sign, is one of addresses. Else it is an expression, as
 * "operator!=" is. */
bool trace_are_addresses(const char *text);

/* Returns 0 or SPROF_EUSAGE. */
int trace_read_addresses(const char *text, struct trace_addresses *addresses,
                         struct sprof_error *error);

/* Whether a module is that of the addresses; true where they have none. */
bool trace_is_of_module(const struct trace_file *file, const struct trace_addresses *addresses);

/* Behind "children:" in the text of a range without its sign, "RE[:DEPTH]"; NULL: it has no such
 * word. "children::RE" is an expression. */
const char *trace_children_text(const char *text);

/* Finds the probes from `first` on that a range holds: range 1 those that were chosen, others also
 * spare ones. Without `error`, a name that takes too long is not held. Returns 0 or a negative
 * code. */
int trace_range_hold(struct trace_session *session, struct trace_range *range, size_t first,
                     struct sprof_error *error);

#endif
