/* Ranges without functions. */
#ifndef SPROF_PROBING_EMPTY_RANGE_H
#define SPROF_PROBING_EMPTY_RANGE_H

#include "probing/program.h"

/* Sets SPROF_EUSAGE, with similar names or addresses. `text` has no sign. */
int probing_refuse_empty_range(struct probing_program *program, const char *text,
                               struct sprof_error *error);

/* Appends new ranges that are empty in all programs, and similar names. */
int probing_ranges_append_empty(const struct probing_program *program, uint64_t since_ns,
                                struct sprof_str *answer, struct sprof_error *error);

#endif
