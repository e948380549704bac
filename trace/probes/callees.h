/* trace, inside: what chosen functions call. */
#ifndef SPROF_TRACE_PROBES_CALLEES_H
#define SPROF_TRACE_PROBES_CALLEES_H

#include "trace/tracing.h"

struct trace_callees;

/* Finds the functions of each "RE" or "RE:DEPTH" and what they call, in all files of the session.
 * SPROF_ENOTFOUND, with names that are near, where `must_find` and one finds none. The caller
 * frees, also on failure. */
int trace_callees_find(struct trace_callees **callees, struct trace_session *session,
                       const char *const *roots, size_t count, bool must_find,
                       struct sprof_error *error);

/* Finds what one function calls: of callees that have no probe, what these call. Calls through
 * pointers are not followed; *open: there are such. *foreign: functions of other modules are
 * called, which may call back. Returns 0 or SPROF_ENOMEM; the caller frees, also on failure. */
int trace_callees_of(struct trace_callees **callees, struct trace_session *session, uint32_t file,
                     size_t function, bool *open, bool *foreign);

/* Marks, by file and function, what the code of some function calls or jumps to: for
 * trace_callees_wants. Returns as trace_callees_of. */
int trace_callees_called(struct trace_callees **callees, struct trace_session *session);

/* The part of "RE:DEPTH" before the depth, in the session's arena; NULL: out of memory. */
const char *trace_callees_expression(struct trace_session *session, const char *text);

/* Whether a function of a file's plan was found; NULL: none. */
bool trace_callees_wants(const struct trace_callees *callees, uint32_t file, size_t function);

/* Reports calls whose targets the code does not show. */
void trace_callees_report_open(const struct trace_callees *callees);

void trace_callees_free(struct trace_callees *callees);

#endif
