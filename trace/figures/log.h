/* trace, inside: the log of calls, in mode log. */
#ifndef SPROF_TRACE_FIGURES_LOG_H
#define SPROF_TRACE_FIGURES_LOG_H

#include "counters/counters.h"
#include "recording/recording.h"

struct trace_options;
struct trace_session;
struct trace_thread;

/* The log of a program. */
struct trace_call_log {
    bool has_rings; /* there may be calls in the rings */
    uint64_t logged, unlogged;
    struct counters_clocks clocks;
    uint64_t next_size_ns; /* when the file's size is read next */
};

/* How a call ended, by the header of a unit. */
static inline enum store_exit trace_log_exit(uint64_t header)
{
    switch (PROBE_LOG_EXIT(header)) {
    case PROBE_EXIT_RETURN: return STORE_EXIT_RETURN;
    case PROBE_EXIT_TAIL: return STORE_EXIT_TAIL;
    case PROBE_EXIT_EXCEPTION: return STORE_EXIT_EXCEPTION;
    case PROBE_EXIT_LONGJMP: return STORE_EXIT_LONGJMP;
    case PROBE_EXIT_THREAD_END: return STORE_EXIT_THREAD_END;
    case PROBE_EXIT_TAIL_CUT: return STORE_EXIT_TAIL_CUT;
    default: return STORE_EXIT_LEFT;
    }
}

/* Writes for the agent what is done with calls, by options and mode. */
void trace_set_extras(struct trace_session *session);

/* Writes for it how deep logged calls may be. */
void trace_log_begin(struct trace_session *session);

/* Takes calls out of a thread's ring, as far as the database keeps up. Returns 0 or SPROF_ENOMEM.
 */
int trace_log_read(struct trace_session *session, struct trace_thread *thread, uint32_t slab);

/* The thread or the trace has ended: takes all, and writes rows of open calls. */
int trace_log_end(struct trace_session *session, struct trace_thread *thread, uint32_t slab,
                  bool is_last);

/* Notes a clear of a thread's figures: calls that have ended by then do not count in the log,
 * either, though they may still be in its ring. */
void trace_log_note_clear(const struct trace_session *session, struct trace_thread *thread,
                          uint32_t slab);

/* Drops what was logged. Open calls begin now. */
void trace_log_clear(struct trace_session *session, uint64_t now_ns);

/* Writes rows of calls that were not logged, by function and second; ends the log where the
 * database has its full size. Returns 0 or SPROF_ENOMEM. */
int trace_log_serve(struct trace_session *session);

/* Whether enough rows wait to be written. */
bool trace_log_wants_flush(struct trace_session *session);

#endif
