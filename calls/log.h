/* The log of calls, in mode log. Functions return 0 or SPROF_ENOMEM. */
#ifndef SPROF_CALLS_LOG_H
#define SPROF_CALLS_LOG_H

#include "counters/counters.h"
#include "recording/recording.h"

struct trace_options;
struct calls_program;
struct calls_thread;

struct calls_log {
    bool has_rings; /* rings may hold calls */
    uint64_t logged;
    struct counters_clocks clocks;
    uint64_t next_size_ns;
};

static inline enum store_exit calls_log_exit(uint64_t header)
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

/* Writes the agent's features, by options and mode. */
void calls_set_extras(struct calls_program *program);

void calls_log_begin(struct calls_program *program);

/* Reads a ring, as far as the database keeps up. */
int calls_log_read(struct calls_program *program, struct calls_thread *thread, uint32_t slab);

/* Reads all and writes open calls. `is_last`: the program's trace ends, else the
 * thread. */
int calls_log_end(struct calls_program *program, struct calls_thread *thread, uint32_t slab,
                  bool is_last);

/* Excludes calls in the ring that ended before a clear. */
void calls_log_note_clear(const struct calls_program *program, struct calls_thread *thread,
                          uint32_t slab);

/* Drops the log. Open calls begin now. */
void calls_log_clear(struct calls_program *program, uint64_t now_ns);

/* Counts unlogged calls, and ends a full log. */
int calls_log_serve(struct calls_program *program);

bool calls_log_wants_flush(struct calls_program *program);

#endif
