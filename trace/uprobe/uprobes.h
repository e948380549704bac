/* Counts and times calls with uprobes. The process gets no agent, thunks or changed return
 * addresses. Functions without `error` return 0 or SPROF_ENOMEM. */
#ifndef SPROF_TRACE_UPROBE_UPROBES_H
#define SPROF_TRACE_UPROBE_UPROBES_H

#include "trace/tracing.h"

struct trace_uprobes;

/* Returns an option that needs the agent, or NULL. */
const char *trace_uprobes_excluded(const struct trace_options *options);

/* SPROF_EUSAGE: the options do not fit. Else: uprobes are impossible here. */
int trace_uprobes_check(const struct trace_options *options, struct sprof_error *error);

/* Also measures costs. The caller frees, also on failure. */
int trace_uprobes_open(struct trace_uprobes **uprobes, struct sprof_error *error);

/* Also removes the probes. */
void trace_uprobes_free(struct trace_uprobes *uprobes);

/* A held command continues if sprof dies. */
void trace_uprobes_in_child(void);

/* The command will stop at its execve. */
int trace_uprobes_expect(struct trace_session *session, struct sprof_error *error);

/* Holds the command after its loader and library constructors. */
int trace_uprobes_hold(struct trace_session *session, struct sprof_error *error);

/* Also releases the command. */
int trace_uprobes_place(struct trace_session *session, struct sprof_error *error);

/* Copies figures to the shared memory, as an agent would, now and then or `at_once`. */
int trace_uprobes_read(struct trace_session *session, bool at_once);

bool trace_uprobes_has_ended(const struct trace_session *session, uint32_t tid);

/* Applies session->process.shared->tiers. */
void trace_uprobes_switch(struct trace_session *session);

/* Reads figures until now. Open calls lose earlier time. */
int trace_uprobes_clear(struct trace_session *session);

/* Removes expensive uprobes now and then. */
int trace_uprobes_govern(struct trace_session *session);

/* Keeps the figures. */
void trace_uprobes_take_out(struct trace_session *session);

struct probe_cost trace_uprobes_cost(const struct trace_session *session, uint32_t function);

/* Of calls with an emulated and with a stepped first instruction. */
void trace_uprobes_call_ns(const struct trace_uprobes *uprobes, uint64_t *least, uint64_t *most);

/* Returns calls without room. */
uint64_t trace_uprobes_lost(const struct trace_session *session);

#endif
