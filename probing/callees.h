/* Finds callees of chosen functions. */
#ifndef SPROF_PROBING_CALLEES_H
#define SPROF_PROBING_CALLEES_H

#include "probing/program.h"

struct trace_callees;

/* Finds functions by "RE" or "RE:DEPTH", and their callees. SPROF_ENOTFOUND, with similar names, if
 * `must_find` and one matches nothing. The caller frees, also on failure. */
int trace_callees_find(struct trace_callees **callees, struct probing_program *session,
                       const char *const *roots, size_t count, bool must_find,
                       struct sprof_error *error);

/* Finds a function's callees, and those of callees without probes. *open: it calls through
 * pointers. *foreign: it calls other modules, which may call back. Returns 0 or SPROF_ENOMEM. The
 * caller frees, also on failure. */
int trace_callees_of(struct trace_callees **callees, struct probing_program *session, uint32_t file,
                     size_t function, bool *open, bool *foreign);

/* Marks callees of all functions. Otherwise as above. */
int trace_callees_called(struct trace_callees **callees, struct probing_program *session);

/* Cuts off ":DEPTH", in the arena. NULL: out of memory. */
const char *trace_callees_expression(struct probing_program *session, const char *text);

/* `callees` may be NULL. */
bool trace_callees_wants(const struct trace_callees *callees, uint32_t file, size_t function);

void trace_callees_report_open(const struct trace_callees *callees);

void trace_callees_free(struct trace_callees *callees);

#endif
