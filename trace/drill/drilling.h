/* trace, inside: drill-downs of a trace. Each second what was called below the roots is read, the
 * engine of each root decides, and probes of all programs are switched in one stop. */
#ifndef SPROF_TRACE_DRILL_DRILLING_H
#define SPROF_TRACE_DRILL_DRILLING_H

#include "trace/drill/below.h"
#include "trace/tracing.h"

/* A function that was looked at, in whatever program. */
struct trace_drilled {
    const char *path; /* of its file */
    uint64_t start;   /* in it */
    const char *name;
};

struct trace_drilling {
    struct trace_session *common;
    struct sprof_arena arena;
    SPROF_VEC(struct trace_drilled) functions; /* by number */
    struct sprof_map numbers;                  /* hash of path and start → number + 1 */
    struct trace_drill drills[TRACE_DRILL_ROOTS];
    bool is_reported[TRACE_DRILL_ROOTS]; /* its end was reported */
    bool is_new[TRACE_DRILL_ROOTS];      /* in this window */
    struct trace_below_reader reader;
    uint64_t window_ns; /* when the window began; 0: none has yet */
    uint64_t next_ns;   /* when it ends */
    uint64_t begun_ns;  /* when the first one began */
    uint64_t cpu_ns;    /* of the programs, when the window began */
    double step_cpu_ns; /* in windows since the last step */
    bool is_uncalled_told;
    bool has_phases; /* what was done in this window is to begin phases */
    struct sprof_str answer;
};

/* Sets up a drill-down where options want one. Returns 0 or SPROF_ENOMEM. */
int trace_drilling_begin(struct trace_session *common, struct sprof_error *error);
void trace_drilling_free(struct trace_drilling *drilling);

/* The parts of its policy: see policies.h. */
int trace_drilling_probes(struct trace_session *program, size_t first, struct sprof_error *error);
int trace_drilling_serve(struct trace_session *program);

/* Has the drill-downs of roots that the expression finds begin, whatever their conditions are.
 * SPROF_EUSAGE: it finds none. */
int trace_drilling_widen(struct trace_session *common, const char *expression,
                         struct sprof_str *answer, struct sprof_error *error);

/* Takes over what has changed in the file of options. Errors are those of options.drill.reload, or
 * SPROF_EUSAGE: there is no such file, or no drill-down. */
int trace_drilling_reload(struct trace_session *common, struct sprof_str *answer,
                          struct sprof_error *error);

/* == way.c == */

/* Begins a phase of the run for each step and each end that is new. Returns 0 or a negative code.
 */
int trace_drilling_begin_phases(struct trace_session *common, struct sprof_error *error);

/* == ended.c == */

/* Reads what a thread has called that has ended; and begins anew where a slab is emptied. */
void trace_drilling_thread_ends(struct trace_session *program, uint32_t slab);
void trace_drilling_slab_empty(struct trace_session *program, uint32_t slab);

/* == candidates.c == */

/* The number of a probe's function; 0: out of memory. */
uint32_t trace_drilling_number(struct trace_drilling *drilling, struct trace_session *program,
                               size_t probe);

/* The probe of a function in a program; SIZE_MAX: it has none. */
size_t trace_drilling_probe(const struct trace_drilling *drilling,
                            const struct trace_session *program, uint32_t function);

/* For struct trace_drill_source, with the struct trace_drilling as context. */
int trace_drilling_callees(void *context, uint32_t function, enum trace_found_by by,
                           struct trace_drill_list *list);

/* == answer.c == */

/* Reports the step that a root's drill-down has just made; and appends what it has found to the
 * answer at its end. `stopped_ns`: how long threads stood still. */
void trace_drilling_report_step(struct trace_drilling *drilling, size_t root, uint64_t stopped_ns);
/* The mark of the phase that begins with what it did last: "step 2: below parse", "culprit: …".
 * NULL: out of memory. */
const char *trace_drilling_mark(struct trace_drilling *drilling, size_t root);
int trace_drilling_conclude(struct trace_drilling *drilling, size_t root);

/* At the end of the trace: appends what is known of roots whose drill-down has not ended. Returns 0
 * or SPROF_ENOMEM. */
int trace_drilling_finish(struct trace_session *common);

#endif
