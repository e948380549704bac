/* Runs drill-downs. Each second it reads calls below the roots, lets each root's engine decide, and
 * switches all probes in one stop. Functions return 0 or SPROF_ENOMEM, unless stated otherwise. */
#ifndef SPROF_TRACE_DRILL_DRILLING_H
#define SPROF_TRACE_DRILL_DRILLING_H

#include "trace/drill/below.h"
#include "trace/tracing.h"

struct trace_drilled {
    const char *path;
    uint64_t start; /* in its file */
    const char *name;
};

struct trace_drilling {
    struct trace_session *common;
    struct sprof_arena arena;
    SPROF_VEC(struct trace_drilled) functions;
    struct sprof_map numbers; /* hash of path and start → number + 1 */
    struct rules_drill drills[TRACE_DRILL_ROOTS];
    bool is_reported[TRACE_DRILL_ROOTS];
    bool is_new[TRACE_DRILL_ROOTS];
    struct trace_below_reader reader;
    uint64_t window_ns; /* start of the window; 0: none yet */
    uint64_t next_ns;   /* end of the window */
    uint64_t begun_ns;  /* start of the first */
    uint64_t cpu_ns;    /* of the programs, at window_ns */
    double step_cpu_ns; /* since the last step */
    bool is_uncalled_told;
    bool has_phases; /* new phases are due */
    struct sprof_str answer;
};

int trace_drilling_begin(struct trace_session *common, struct sprof_error *error);
void trace_drilling_free(struct trace_drilling *drilling);

/* See policies.h. */
int trace_drilling_probes(struct trace_session *program, size_t first, struct sprof_error *error);
int trace_drilling_serve(struct trace_session *program);

/* Starts drill-downs at matching roots, whatever their conditions. SPROF_EUSAGE: none matches. */
int trace_drilling_widen(struct trace_session *common, const char *expression,
                         struct sprof_str *answer, struct sprof_error *error);

/* Reads changed options. SPROF_EUSAGE: no file or no drill-down; else as options.drill.reload. */
int trace_drilling_reload(struct trace_session *common, struct sprof_str *answer,
                          struct sprof_error *error);

/* == way.c == */

/* Returns 0 or a negative code. */
int trace_drilling_begin_phases(struct trace_session *common, struct sprof_error *error);

/* == ended.c == */

/* Notes which probes are on, with those that were switched by hand. */
int trace_drilling_list_on(struct trace_drilling *drilling, struct trace_session *program);

/* Once all calls of its threads are read. */
void trace_drilling_program_ends(struct trace_session *program);
void trace_drilling_thread_ends(struct calls_program *calls, uint32_t slab);
void trace_drilling_slab_empty(struct calls_program *calls, uint32_t slab);

/* == candidates.c == */

/* Returns a function's number; 0: out of memory. */
uint32_t trace_drilling_number(struct trace_drilling *drilling, struct trace_session *program,
                               size_t probe);

/* Returns SIZE_MAX if the program has none. */
size_t trace_drilling_probe(const struct trace_drilling *drilling,
                            const struct trace_session *program, uint32_t function);

/* See struct rules_drill_source. */
int trace_drilling_callees(void *context, uint32_t function, enum rules_found_by by,
                           struct rules_drill_list *list);

/* == answer.c == */

/* `stopped_ns`: how long threads stood still. */
void trace_drilling_report_step(struct trace_drilling *drilling, size_t root, uint64_t stopped_ns);
/* Returns, for example, "step 2: below parse". NULL: out of memory. */
const char *trace_drilling_mark(struct trace_drilling *drilling, size_t root);
int trace_drilling_conclude(struct trace_drilling *drilling, size_t root);

/* Appends unfinished results to the answer. */
int trace_drilling_finish(struct trace_session *common);

#endif
