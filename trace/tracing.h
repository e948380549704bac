/* Internal header of trace: struct trace_session and shared functions. Functions return 0 or a
 * negative SPROF_E code. Zero and NULL in a struct mean none or unknown. */
#ifndef SPROF_TRACE_TRACING_H
#define SPROF_TRACE_TRACING_H

#include "agent/agent.h"
#include "agent/probe.h"
#include "calls/calls.h"
#include "control/control.h"
#include "counters/counters.h"
#include "inject/inject.h"
#include "plan/plan.h"
#include "probing/probing.h"
#include "recording/recording.h"
#include "rules/rules.h"
#include "target/target.h"
#include "trace/compiled.h"
#include "trace/executed.h"
#include "trace/governor.h"
#include "trace/loader.h"
#include "trace/membership.h"
#include "trace/probe_backend.h"
#include "trace/spent.h"
#include "trace/trace.h"

struct trace_choice {
    const struct probe_backend *backend;
    const char *reason; /* why the agent cannot enter ("is linked statically") */
};

/* Shared by all programs of a trace. */
struct trace {
    union {
        struct calls_trace;
        struct calls_trace calls;
    };
    const struct trace_membership *membership;
    struct trace_children *children; /* owned */
    struct inject_hold hold;
    int child_fd; /* the command's end of the agent's socket pair; -1: closed */
    struct control_server control;
    struct sprof_urgency urgency; /* while a control command waits */
    bool ends;                    /* by a command */
    bool pauses;                  /* this phase is to end */
    uint64_t off_ns;              /* when to pause */
    uint64_t cleared_cpu_ns;      /* at the last clear */
    uint64_t own_cpu_start_ns;
    uint64_t next_flush_ns;
    struct probe_cost known_cost; /* from another program */
    struct trace_result ended_probes;
    struct trace_overhead overhead;
    bool has_reported_compiled;
    struct trace_drilling *drilling; /* owned */
    const char *reason;
};

/* The trace of one program: of a process and its forks. trace_open makes the common session; others
 * borrow from it. */
struct trace_session {
    union {
        struct calls_program;
        struct calls_program calls;
    };
    const struct probe_backend *backend;
    struct trace_session *common;      /* maybe this one */
    struct trace *trace;               /* owned by `common` */
    struct trace_below_program *below; /* owned */
    struct trace_uprobes *uprobes;
    struct trace_loads *loads; /* NULL: later libraries are not followed */
    struct trace_loader loader;
    struct trace_governor governor;
    bool has_lease; /* its lease has an end */
    uint64_t next_round_ns;
    struct trace_compiled compiled;
};

/* The session that a library below has as its program. */
static inline struct trace_session *trace_session_of(const struct probing_program *program)
{
    return (struct trace_session *)program;
}

static inline struct trace_session *trace_program_at(const struct trace *trace, size_t index)
{
    return trace_session_of(trace->programs.items[index]);
}

/* The session of trace_open has no options of its own: sets its places in the libraries below. */
static inline void trace_session_join(struct trace_session *session, struct trace *trace,
                                      const struct probe_backend *backend)
{
    session->trace = trace;
    session->all = &trace->calls;
    session->group = &trace->probing;
    session->backend = backend;
    session->reader = &backend->reader;
    session->way = &backend->way;
}

/* == detach.c == */

/* Marks whether the trace is about to end, for tracers that wait for its processes. */
void trace_owner_end(struct trace_session *session, bool is_ending);

/* Removes all probes and their memory. Stops threads for milliseconds; open calls stay open. Errors
 * as of inject_take_out. */
int trace_detach(struct trace_session *session, struct sprof_error *error);

/* Removes the probes from a process that goes on. Logs failures. */
void trace_leave_process(struct trace_session *session);

/* == coverage_return.c == */

/* Places removed probes again in all processes. SPROF_ESTATE: impossible now; else as
 * inject_stop_while. */
int trace_coverage_return(struct trace_session *session, struct sprof_error *error);

/* == lease.c == */

void trace_lease_make(struct trace_session *session);

/* Sets when all programs pause; 0: never. */
void trace_lease_set_deadline(struct trace_session *session, uint64_t off_ns);

/* Renews all leases and restarts probes after a lease ended. Reports unplanned ends. */
int trace_lease_serve(struct trace_session *session, struct sprof_error *error);

/* == phases.c == */

/* The phase starts at session->times.now_ns. `mark` may be NULL. */
int trace_begin_phase(struct trace_session *session, const char *mark, struct sprof_error *error);

int trace_begin_first_phase(struct trace_session *session, struct sprof_error *error);

/* Records the last `gap_ns` as a pause. */
int trace_note_gap(struct trace_session *session, uint64_t gap_ns, struct sprof_error *error);

/* Switches all programs' probes to this session's state. */
void trace_switch_all(struct trace_session *session);

/* == command.c == */

/* Only a trace that starts paused needs a socket. */
int trace_commands_begin(struct trace_session *session, struct sprof_error *error);

int trace_serve_commands(struct trace_session *session, struct sprof_error *error);

/* == flush.c == */

int trace_clear(struct trace_session *session);

/* Writes figures: each second, or less often if that is slow. Later ones are lost if sprof dies. */
int trace_flush(struct trace_session *session, struct sprof_error *error);

int trace_collect_program(struct trace_session *session, enum calls_collecting what);

/* Updates duration and CPU time in the run's row. */
void trace_account(struct trace_session *session, uint64_t target_cpu_ns);

/* == backend.c == */

struct trace_entry {
    struct trace_choice choice;
    int agent_fd, lock_fd; /* -1: none */
};

/* Chooses the way in and locks a process. Changes a process only if a killed trace has left probes
 * in it. */
int trace_entry_open(struct trace_entry *entry, const struct trace_options *options,
                     struct sprof_error *error);
void trace_entry_close(struct trace_entry *entry);

#endif
