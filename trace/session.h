/* A tracing session: puts probes into a launched command or running processes and records their
 * calls. Functions return 0 or a negative SPROF_E code. */
#ifndef SPROF_TRACE_SESSION_H
#define SPROF_TRACE_SESSION_H

#include "base/base.h"
#include "probing/probing.h"

#include <stdbool.h>
#include <sys/types.h>

struct trace_result {
    bool has_wait_status;
    int wait_status; /* as from waitpid */
    uint32_t run_id;
    size_t probes;
    size_t entry_only; /* only counted */
    size_t refused;    /* chosen, without a probe */
    size_t points;
    uint64_t point_calls;                /* of ended threads */
    size_t governed_count, governed_off; /* counted only, or off, by max_overhead */
    double overhead;                     /* probes' share of CPU time, estimated; 0: unknown */
    uint64_t calls;
    uint64_t in_flight;
    uint64_t abnormal; /* calls left without a return */
    size_t functions;  /* looked for, in mode coverage: one may have several probes */
    size_t covered;    /* of these, called */
    size_t left;       /* probes of these that were removed */
    uint64_t logged;
    uint64_t unlogged;           /* no room in the log */
    uint64_t kept, kept_callers; /* calls that met a --keep rule; their callers */
    uint64_t kept_cut;           /* of these and the calls, some whose callers had no room */
    uint64_t remarks_lost;       /* requests and notes of <sprof.h> */
    uint64_t requests_unread;    /* calls of --request whose value could not be read */
    uint64_t kept_unread;        /* calls with unreadable values, once for each rule */
    uint64_t kept_dropped;       /* calls without room, once for each rule they met */
    bool is_unreliable;          /* impossible figures of a program */
    uint64_t untracked;          /* threads without room */
    uint64_t warnings;
    uint64_t warnings_lost;  /* no room, function or thread */
    uint64_t unplaced_calls; /* no rows: module not seen */
    size_t unplaced;         /* their functions, even uncalled */
    size_t programs, processes;
    size_t left_out;            /* executed programs that could not be traced */
    uint64_t no_percentiles_ns; /* when percentiles stopped, for `memory`; 0: never */
    uint64_t beyond_calls;      /* only counted, for `memory` */
    uint32_t beyond_functions;
    uint64_t memory_bytes;       /* most seen for figures */
    uint64_t lost;               /* no room in the kernel */
    const char *uprobes_because; /* why not the agent; NULL: agent, or uprobes chosen */
    double probe_ns;             /* subtracted from timed calls; 0: unknown */
    uint64_t duration_ns;        /* since measuring began, or the last clear */
    uint64_t stopped_ns;         /* longest stop of threads */
};

struct trace_session;

/* Lines of text, valid until trace_free. NULL: none. */
const char *trace_drill_answer(const struct trace_session *session);

/* Checks what needs no running command, creates the database and forks the command, which waits.
 * SPROF_EUNSUPPORTED: the program cannot be traced; else errors as of target_open and store_create.
 * The caller frees. */
int trace_open(struct trace_session **session, const struct trace_options *options,
               struct sprof_error *error);

pid_t trace_command_pid(const struct trace_session *session);

/* Runs or traces to the end, removes the probes and writes the results. Without possible probes the
 * command ends before its first instruction (SPROF_ENOTFOUND: no such function). */
int trace_run(struct trace_session *session, struct trace_result *result,
              struct sprof_error *error);

void trace_free(struct trace_session *session);

#endif
