/* What the exporters share. Each writes the content of kind REPORT_PROFILE for one other tool; a
 * new one is a file here and a line in report/formats.c. */
#ifndef SPROF_REPORT_EXPORT_EXPORT_H
#define SPROF_REPORT_EXPORT_EXPORT_H

#include "report/format.h"
#include "report/kept_tree.h"

/* == Stacks of functions == */

/* For each node of the dataset the call path that its samples count for, in the mode read: [node],
 * 0 for nodes without cost. NULL when out of memory; the caller frees. */
uint32_t *report_export_paths(struct report_dataset *dataset);

/* The functions of a call path, root first. */
struct export_chain {
    SPROF_VEC(uint32_t) functions;
};
int report_export_chain(const struct report_dataset *dataset, uint32_t path,
                        struct export_chain *chain);

/* == Samples in time order == */

struct export_sample {
    uint64_t time_ns; /* since the start of the run */
    uint64_t weight, count;
    uint32_t path;
};

/* The samples of each thread (number - 1), in time order, packed: ten million take about 100 MB.
 * Rows that stand for time without samples are left out: they have no time of their own. */
struct export_threads {
    struct export_thread {
        SPROF_VEC(uint8_t) bytes; /* differences to the sample before, as LEB128 */
        size_t count;
        struct export_sample last;
    } * items;
    size_t count;
};
int report_export_threads(const struct report_content *content, struct export_threads *threads,
                          struct sprof_error *error);
void report_export_threads_release(struct export_threads *threads);

/* Goes over the samples of a thread; zero is before the first. */
struct export_cursor {
    size_t at, done;
    struct export_sample sample;
};
bool report_export_next(const struct export_thread *thread, struct export_cursor *cursor);

/* == Calls that were logged, or kept == */

/* Texts are borrowed for the call; start_ns and duration_ns are since the start of the run. */
struct export_call {
    int32_t pid, tid;
    uint32_t thread_row, function_row;    /* ids of the thread's and the function's; of calls that
                                             were kept, the function's number in the dataset */
    const char *thread, *function, *exit; /* thread: "" unknown */
    uint64_t start_ns, duration_ns;       /* 0: it did not end, or that is not known */
    uint64_t running_ns;                  /* of that: on a CPU; */
    uint64_t waiting_ns, ready_ns;        /* for something, for a CPU … */
    bool has_states;                      /* … where that is known */
    const char *words[6];                 /* of arguments; NULL: none */
    const struct report_kept_row *kept;   /* NULL: it was logged */
    const char *why;                      /* if rules have kept it: which it met … */
    const char *arguments, *result;       /* … and its values as text; NULL: not known */
    const char *beside;                   /* … and those beside them */
    const struct report_call_value *values;
    size_t value_count;
};

/* Calls `put` for the calls of the run of the content that were logged, or else for those that
 * rules kept, thread after thread as they began, at most `limit`. *count (NULL: not wanted): how
 * many there are. Returns what it returned, or a negative
 * code. */
int report_export_calls(const struct report_content *content, uint64_t limit, uint64_t *count,
                        int (*put)(void *context, const struct export_call *call), void *context,
                        struct sprof_error *error);

/* The same for kept calls alone. */
int report_export_kept(const struct report_content *content, uint64_t limit, uint64_t *count,
                       int (*put)(void *context, const struct export_call *call), void *context,
                       struct sprof_error *error);

/* == Texts == */

/* "main 4242", the name of a thread for people. */
int report_export_thread_name(const struct report_dataset *dataset, uint32_t thread,
                              struct sprof_str *name);

/* The number of a process, or of a thread in it, as text: "4242", and "4242.1" of the next process
 * that bears it, for another program or after the end of the first. */
struct export_number {
    char text[32];
};
struct export_number report_export_number(int32_t number, const struct report_process *process);

/* The command of the run, or what it was attached to. */
const char *report_export_title(const struct report_dataset *dataset);

/* Writes a clean text with &, <, > and quotes escaped for XML. */
void report_export_xml(FILE *out, const char *text);

/* The formats of report/formats.c. */
int report_folded_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_pprof_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_speedscope_write(FILE *out, const struct report_content *content,
                            struct sprof_error *error);
int report_firefox_write(FILE *out, const struct report_content *content,
                         struct sprof_error *error);
int report_callgrind_write(FILE *out, const struct report_content *content,
                           struct sprof_error *error);
int report_chrome_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_otlp_traces_write(FILE *out, const struct report_content *content,
                             struct sprof_error *error);
int report_otlp_traces_packed_write(FILE *out, const struct report_content *content,
                                    struct sprof_error *error);
int report_otlp_profiles_write(FILE *out, const struct report_content *content,
                               struct sprof_error *error);
int report_tsv_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_svg_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_lcov_write(FILE *out, const struct report_content *content, struct sprof_error *error);
int report_dot_write(FILE *out, const struct report_content *content, struct sprof_error *error);

#endif
