/* Evaluates the text of ranges. */
#ifndef SPROF_PROBING_RANGE_TEXT_H
#define SPROF_PROBING_RANGE_TEXT_H

#include "probing/program.h"

/* "0xA-0xB" in the process, or "MODULE!0xA-0xB" in a file. */
struct probing_addresses {
    const char *module; /* or NULL */
    size_t module_length;
    uint64_t from, to;
};

/* `text` has no sign. "operator!=" is an expression. */
bool probing_are_addresses(const char *text);

/* Returns 0 or SPROF_EUSAGE. */
int probing_read_addresses(const char *text, struct probing_addresses *addresses,
                           struct sprof_error *error);

/* Returns true without a module. */
bool probing_is_of_module(const struct probing_file *file,
                          const struct probing_addresses *addresses);

/* Returns the part after "children:", or NULL. "children::RE" is an expression. */
const char *probing_children_text(const char *text);

/* Fills range->holds from probe `first` on. Only range 1 excludes spare probes. Without `error`,
 * names that take too long are skipped. Returns 0 or a negative code. */
int probing_range_hold(struct probing_program *program, struct probing_range *range, size_t first,
                       struct sprof_error *error);

#endif
