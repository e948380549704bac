/* trace, inside: counts and times calls by the kernel's uprobes. The process has nothing of sprof:
 * no agent, no thunks, no changed return address. */
#ifndef SPROF_TRACE_UPROBE_UPROBES_H
#define SPROF_TRACE_UPROBE_UPROBES_H

#include "trace/tracing.h"

struct trace_uprobes;

/* The first option that only the agent can fulfil; NULL: none. */
const char *trace_uprobes_excluded(const struct trace_options *options);

/* Whether options go with uprobes (SPROF_EUSAGE), and can be had here. */
int trace_uprobes_check(const struct trace_options *options, struct sprof_error *error);

/* Loads the program, and measures the cost of uprobes. The caller frees. */
int trace_uprobes_open(struct trace_uprobes **uprobes, struct sprof_error *error);

/* Also takes the probes out. */
void trace_uprobes_free(struct trace_uprobes *uprobes);

/* For target_open: should sprof die, a held command goes on by itself. */
void trace_uprobes_in_child(void);

/* Before the command is let go: has it stop when it has executed its program. */
int trace_uprobes_expect(struct trace_session *session, struct sprof_error *error);

/* Runs the command until its loader is done, and holds it: constructors of libraries have run, its
 * own code has not. */
int trace_uprobes_hold(struct trace_session *session, struct sprof_error *error);

/* Places the chosen probes, and lets the command go. */
int trace_uprobes_place(struct trace_session *session, struct sprof_error *error);

/* Copies figures to where the agent would have put them, unless that was done lately and is not
 * wanted `at_once`. Returns 0 or SPROF_ENOMEM. */
int trace_uprobes_read(struct trace_session *session, bool at_once);

/* Whether a thread has ended, and all its figures were copied. */
bool trace_uprobes_has_ended(const struct trace_session *session, uint32_t tid);

/* Switches functions as session->process.shared->tiers says. */
void trace_uprobes_switch(struct trace_session *session);

/* Reads figures until now; open calls lose their time before. Returns 0 or SPROF_ENOMEM. */
int trace_uprobes_clear(struct trace_session *session);

/* Takes uprobes out of functions that cost more of the CPU time than max_overhead leaves them, when
 * it is time. Returns 0 or SPROF_ENOMEM. */
int trace_uprobes_govern(struct trace_session *session);

/* Takes the probes out. The process goes on, and figures stay. */
void trace_uprobes_take_out(struct trace_session *session);

/* The average cost of a function's calls. */
struct probe_cost trace_uprobes_cost(const struct trace_session *session, uint32_t function);

/* The cost of a call that returns: where the kernel emulates its first instruction, and where the
 * processor steps it. */
void trace_uprobes_call_ns(const struct trace_uprobes *uprobes, uint64_t *least, uint64_t *most);

/* Calls without room. */
uint64_t trace_uprobes_lost(const struct trace_session *session);

#endif
