/* trace, inside: a session's parts. */
#ifndef SPROF_TRACE_TRACING_H
#define SPROF_TRACE_TRACING_H

#include "agent/probe.h"
#include "recording/recording.h"
#include "target/target.h"
#include "trace/trace.h"

/* A file of the command that has probes or leaves frames. */
struct trace_file {
    struct trace_plan plan;
    const char *path;
    uint64_t bias;
    bool is_chosen;
    uint64_t island, island_bytes; /* address of the copies of its functions' beginnings */
};

/* A function with a probe, by the number that its thunk knows. */
struct trace_probe {
    uint32_t file;
    const struct trace_function *function;
    uint8_t tier;   /* enum probe_tier */
    bool is_chosen; /* else it has one because it leaves the frames of others */
};

/* What one thread, or all beyond the first TRACE_THREADS, has called. */
struct trace_figures {
    int32_t tid;
    char name[16];
    SPROF_VEC(uint32_t) functions;
    SPROF_VEC(struct probe_stat) stats; /* of the same */
};

enum { TRACE_THREADS = 512 };

struct trace_session {
    struct trace_options options;
    struct target *target;
    struct recording *recording;
    struct store_run *run;
    struct sprof_arena arena;
    uint32_t event;
    int agent_fd, child_fd; /* ends of the socket pair; -1: closed */
    int memory_fd;          /* of the shared memory */
    struct probe_shared *shared;
    uint64_t shared_bytes;
    struct probe_hello hello;
    SPROF_VEC(struct trace_file) files;
    SPROF_VEC(struct trace_probe) probes;
    SPROF_VEC(struct trace_figures) threads; /* that have ended, or were read at the end */
    char names[PROBE_SLABS][16];             /* of threads, by slab; empty: not known yet */
    size_t refused;
    const char *executable; /* that the command ran at first */
    bool executed;          /* another one took its place */
    const char *runtime; /* that walks stacks by itself; NULL: none */
    uint64_t start_ns, start_ticks, end_ns, end_ticks;
    uint64_t own_cpu_start_ns;
};

/* == choose.c == */

/* Regular expressions over names; NULL is valid and finds all. */
struct trace_expressions;
int trace_expressions_make(struct trace_expressions **expressions, const char *const *texts,
                           size_t count, struct sprof_error *error);
/* 1, 0, or a negative code. */
int trace_expressions_match(const struct trace_expressions *expressions,
                            const struct trace_function *function, struct sprof_error *error);
void trace_expressions_free(struct trace_expressions *expressions);

/* Plans the files of the command, which waits, and lists the functions to be probed.
 * SPROF_ENOTFOUND where there are none, with names that are near. */
int trace_choose(struct trace_session *session, struct sprof_error *error);

/* == place.c == */

/* Waits for the agent's hello. SPROF_EUNSUPPORTED where the agent cannot work there, or where the
 * command ended before. */
int trace_meet(struct trace_session *session, struct sprof_error *error);

/* Makes the shared memory, writes thunks, copies and jumps into the command, and lets it go. */
int trace_place(struct trace_session *session, struct sprof_error *error);

/* == thunk.c == */

/* The thunk of function `number`, to stand at `at`; `body` is called. */
void trace_thunk_write(uint8_t thunk[PROBE_THUNK_BYTES], uint64_t at, uint32_t number,
                       uint64_t enter, uint64_t leave, uint64_t body);

/* A jump to anywhere, TRACE_FAR_JUMP_BYTES long. */
enum { TRACE_FAR_JUMP_BYTES = 14 };
void trace_far_jump_write(uint8_t code[TRACE_FAR_JUMP_BYTES], uint64_t target);

/* == figures.c == */

/* Takes over the figures of threads that have ended; of all where `all`. Returns 0 or
 * SPROF_ENOMEM. */
int trace_collect(struct trace_session *session, bool all);

/* == rows.c == */

int trace_write_rows(struct trace_session *session, struct trace_result *result);

#endif
