/* trace, inside: a session that counts and times calls by the kernel's uprobes, with nothing of
 * sprof's in the process: no agent, no thunks, no changed return address. */
#ifndef SPROF_TRACE_UPROBE_UPROBES_H
#define SPROF_TRACE_UPROBE_UPROBES_H

#include "trace/tracing.h"

struct trace_uprobes;

/* The first option that only the agent can fulfil; NULL: there is none. */
const char *trace_uprobes_excluded(const struct trace_options *options);

/* Whether options go with uprobes (SPROF_EUSAGE), and processes can have any from here. */
int trace_uprobes_check(const struct trace_options *options, struct sprof_error *error);

/* Loads the program, and finds out what uprobes take. The caller frees. */
int trace_uprobes_open(struct trace_uprobes **uprobes, struct sprof_error *error);

/* Takes the probes out, too. */
void trace_uprobes_free(struct trace_uprobes *uprobes);

/* For target_open: the command goes on by itself should sprof die while it is held. */
void trace_uprobes_in_child(void);

/* Before the command is let go: it stops when it has executed its program. */
int trace_uprobes_expect(struct trace_session *session, struct sprof_error *error);

/* Has the command run until its loader is done, and holds it there: constructors of libraries have
 * run by then, none of its own code has. */
int trace_uprobes_hold(struct trace_session *session, struct sprof_error *error);

/* Places the probes that are chosen, and lets the command go. */
int trace_uprobes_place(struct trace_session *session, struct sprof_error *error);

/* Copies what was counted to where the agent would have put it, unless that was done lately and is
 * not wanted at once. Returns 0 or SPROF_ENOMEM. */
int trace_uprobes_read(struct trace_session *session, bool at_once);

/* Whether a thread has ended, and all of it was copied. */
bool trace_uprobes_has_ended(const struct trace_session *session, uint32_t tid);

/* Says which functions are measured, as session->shared->tiers has it. */
void trace_uprobes_switch(struct trace_session *session);

/* Of calls in flight what came before does not count. Reads what there is until now. Returns 0 or
 * SPROF_ENOMEM. */
int trace_uprobes_clear(struct trace_session *session);

/* The process goes on without probes. What was counted stays. */
void trace_uprobes_take_out(struct trace_session *session);

/* What the probes of a function's calls take, on average. */
struct probe_cost trace_uprobes_cost(const struct trace_session *session, uint32_t function);

/* What the probes of a call take that returns: where the kernel executes its first instruction
 * itself, and where it has the processor do so. */
void trace_uprobes_call_ns(const struct trace_uprobes *uprobes, uint64_t *least, uint64_t *most);

/* Calls for which there was no room. */
uint64_t trace_uprobes_lost(const struct trace_session *session);

#endif
