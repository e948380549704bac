/* Calls that were logged or kept as markers of the Firefox Profiler's processed format. */
#ifndef SPROF_REPORT_EXPORT_FIREFOX_MARKERS_H
#define SPROF_REPORT_EXPORT_FIREFOX_MARKERS_H

#include "report/export/export.h"
#include "report/json.h"

/* One call. */
struct firefox_marker {
    bool is_logged; /* else it has no words */
    uint64_t start_ns, duration_ns; /* since the start of the run; 0: it did not end */
    uint64_t words[6];
    uint32_t function, thread; /* function: of the dataset; thread: id of its row */
    const char *why; /* of the dataset: the rules that a kept call met; NULL: it was logged */
    const char *arguments, *result; /* of a kept call; NULL: not known */
    const char *beside;             /* … its other values */
    char exit[12];
};

/* The first calls of the run, thread after thread. Zero is a valid empty one. */
struct firefox_markers {
    SPROF_VEC(struct firefox_marker) items;
    struct sprof_map functions; /* hash of a name → number in the dataset */
    size_t next;                /* that has not been written */
    uint64_t calls;             /* there are */
    bool are_logged, have_kept; /* they are of a log; rules have kept some */
};

/* Reads at most as many as a browser shows. Returns 0 or a negative code. The caller releases, also
 * on failure. */
int firefox_markers_read(struct firefox_markers *markers, const struct report_content *content,
                         struct sprof_error *error);
void firefox_markers_release(struct firefox_markers *markers);

/* Says what fields a marker has: an element of meta.markerSchema. */
void firefox_markers_put_schema(struct json *json, const struct firefox_markers *markers);

/* Writes the table "markers" of a thread: of the next that has this number and calls, for threads
 * are asked for in the order of their rows; times are in milliseconds. */
void firefox_markers_put(struct json *json, struct firefox_markers *markers,
                         const struct report_dataset *dataset, uint32_t thread);

/* Indexes in meta.categories. */
enum firefox_category {
    FIREFOX_OTHER,
    FIREFOX_APPLICATION,
    FIREFOX_SYSTEM,
    FIREFOX_KERNEL,
    FIREFOX_RUN_TIME,
};

static inline enum firefox_category firefox_category(enum model_kind kind)
{
    switch (kind) {
    case MODEL_KIND_APP: return FIREFOX_APPLICATION;
    case MODEL_KIND_SYSTEM: return FIREFOX_SYSTEM;
    case MODEL_KIND_KERNEL: return FIREFOX_KERNEL;
    case MODEL_KIND_JIT: return FIREFOX_RUN_TIME;
    default: return FIREFOX_OTHER;
    }
}

#endif
