/* report: every number shown anywhere, and how it is shown. Reads a recording, never writes one.
 * Output goes to the stream the caller gives. */
#ifndef SPROF_REPORT_REPORT_H
#define SPROF_REPORT_REPORT_H

#include "base/base.h"
#include "model/model.h"
#include "store/store.h"

#include <stdbool.h>
#include <stdio.h>

enum report_table {
    REPORT_FUNCTIONS, /* by exclusive, or by inclusive */
    REPORT_MODULES,
    REPORT_TREE,    /* every call path */
    REPORT_CALLERS, /* of `function` */
    REPORT_CALLEES,
};

enum report_format { REPORT_TEXT, REPORT_CSV, REPORT_JSON };

/* Zero is a valid default: functions by exclusive, as text, 100 columns. */
struct report_options {
    enum report_table table;
    enum report_format format;
    bool inclusive;       /* sort and filter by inclusive */
    const char *function; /* for callers and callees: name, linkage name, or name without
                             parameters; several that match are an error that lists them, unless
                             "module!function" tells them apart */
    bool other_mode;      /* read a full recording as `mode`; else as it was recorded */
    enum model_mode mode;
    bool frame_app, drop_interior;
    struct model_kind_rules rules; /* which modules are application here; count 0: as recorded */
    const char *thread, *process;  /* filters as in struct store_filter */
    uint32_t run_id;               /* 0: the newest */
    size_t limit;                  /* rows; 0: 40 for text tables of functions, none otherwise */
    bool no_limit;
    double min_percent; /* rows with a smaller share are left out, and said so */
    unsigned columns;   /* width of text; 0: 100 */
    bool color;
};

/* Writes one table with the quality of its data below it. Text is for people; CSV (RFC 4180) and
 * JSON carry the same columns with full precision: JSON is one object {"run": …, "columns": …,
 * "rows": …, "quality": …}. Errors: SPROF_ENOTFOUND (no such function, thread, process, run: the
 * message offers what is near), SPROF_EUSAGE (a pc or app recording read as full), and what the
 * store says. */
int report_write(FILE *out, struct store *store, const struct report_options *options,
                 struct sprof_error *error);

/* What `sprof record` says at its end (DESIGN §10): two or three lines, the top functions, what to
 * do next. `path` is the file's name as the user gave it. */
int report_summary(FILE *out, struct store *store, const char *path, unsigned columns,
                   struct sprof_error *error);

/* One sample after the other in time order: a line of thread, pid/tid, cpu, time, weight, event and
 * end reason, then a line a frame with address, function, module and source line. */
struct report_script_options {
    const char *thread, *process;
    uint32_t run_id;
    size_t limit; /* samples; 0: all */
    enum report_format format;
};
int report_script(FILE *out, struct store *store, const struct report_script_options *options,
                  struct sprof_error *error);

/* A user's statement: an aligned table, CSV or JSON. */
int report_query(FILE *out, struct store *store, const char *sql, enum report_format format,
                 struct sprof_error *error);

#endif
