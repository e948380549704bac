/* Evaluates the text of ranges. */
#ifndef SPROF_PROBING_RANGE_TEXT_H
#define SPROF_PROBING_RANGE_TEXT_H

#include "probing/program.h"

/* "0xA-0xB" in the process, or "MODULE!0xA-0xB" in a file. */
struct trace_addresses {
    const char *module; /* or NULL */
    size_t module_length;
    uint64_t from, to;
};

/* `text` has no sign. "operator!=" is an expression. */
bool trace_are_addresses(const char *text);

/* Returns 0 or SPROF_EUSAGE. */
int trace_read_addresses(const char *text, struct trace_addresses *addresses,
                         struct sprof_error *error);

/* Returns true without a module. */
bool trace_is_of_module(const struct trace_file *file, const struct trace_addresses *addresses);

/* Returns the part after "children:", or NULL. "children::RE" is an expression. */
const char *trace_children_text(const char *text);

/* Fills range->holds from probe `first` on. Only range 1 excludes spare probes. Without `error`,
 * names that take too long are skipped. Returns 0 or a negative code. */
int trace_range_hold(struct probing_program *session, struct trace_range *range, size_t first,
                     struct sprof_error *error);

#endif
