/* Finds callees of chosen functions. */
#ifndef SPROF_PROBING_CALLEES_H
#define SPROF_PROBING_CALLEES_H

#include "probing/program.h"

struct probing_callees;

/* Finds functions by "RE" or "RE:DEPTH", and their callees. SPROF_ENOTFOUND, with similar names, if
 * `must_find` and one matches nothing. The caller frees, also on failure. */
int probing_callees_find(struct probing_callees **callees, struct probing_program *program,
                         const char *const *roots, size_t count, bool must_find,
                         struct sprof_error *error);

/* Finds a function's callees, and those of callees without probes. *open: it calls through
 * pointers. *foreign: it calls other modules, which may call back. Returns 0 or SPROF_ENOMEM. The
 * caller frees, also on failure. */
int probing_callees_of(struct probing_callees **callees, struct probing_program *program,
                       uint32_t file, size_t function, bool *open, bool *foreign);

/* Marks callees of all functions. Otherwise as above. */
int probing_callees_called(struct probing_callees **callees, struct probing_program *program);

/* Cuts off ":DEPTH", in the arena. NULL: out of memory. */
const char *probing_callees_expression(struct probing_program *program, const char *text);

/* `callees` may be NULL. */
bool probing_callees_wants(const struct probing_callees *callees, uint32_t file, size_t function);

void probing_callees_report_open(const struct probing_callees *callees);

void probing_callees_free(struct probing_callees *callees);

#endif
