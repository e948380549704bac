/* What the files that write a page share. */
#ifndef SPROF_REPORT_HTML_PAGE_H
#define SPROF_REPORT_HTML_PAGE_H

#include "report/dataset.h"
#include "report/html/parts.h"
#include "report/html/source.h"
#include "report/json.h"
#include "report/slots.h"

/* A recording in the page. What it holds follows what the recordings before it hold. */
struct html_part {
    const struct report_html_input *input;
    struct report_slots slots;
    struct report_dataset dataset;    /* of the run at hand; in the end of the last */
    struct sprof_map events, threads; /* database id → index in the page */
    struct sprof_map idle;            /* waits for work, by report_slots_idle_key */
    SPROF_VEC(uint32_t) runs;         /* database ids */
    SPROF_VEC(struct html_source_event) source_events;
    size_t first_function, first_module, first_path, first_lane; /* indexes in the page */
    uint32_t pruned_function, outside_function;                  /* numbers */
    size_t newest_event; /* index of the first event of the newest run */
};

struct html_page {
    const struct report_html_options *options;
    struct sprof_error *error;
    struct html_part *parts;
    size_t part_count;
    struct sprof_map files;                  /* hash of a name → index + 1 */
    SPROF_VEC(const char *) file_names;      /* in the datasets' arenas */
    size_t runs, events, threads, processes; /* so far */
    const char **shown; /* the names of its functions that people read, where not in full */
    struct json json;
};

/* Writes what the page says of each run of a recording: cards, facts, quality, phases, processes,
 * threads and events. Returns 0 or a negative code. */
int report_html_runs(struct html_page *page, struct html_part *part);

/* Adds the functions that exist only in the page to the recording's. Returns 0 or SPROF_ENOMEM. */
int report_html_add_functions(struct html_part *part);

/* Writes how many rows of each kind there are, and notes where those of each recording begin. */
void report_html_counts(struct html_page *page);

/* Chooses short names for all functions, so that no two different names look the same. Returns 0 or
 * SPROF_ENOMEM. */
int report_html_shorten(struct html_page *page);

/* Packs where the last components of functions' names begin: of full names, then of short ones. */
void report_html_name_columns(const struct html_page *page, struct html_columns *columns);

/* Writes total times, averages and percentiles of calls. Returns 0 or a negative code. */
int report_html_calls(struct html_page *page);

/* Writes the coverage of each run that has some. Returns 0 or a negative code. */
int report_html_coverage(struct html_page *page);

/* Writes and packs the calls of each run that were logged or kept one by one, the longest of them.
 * Returns 0 or a negative code. */
int report_html_single_calls(struct html_page *page, struct html_columns *columns);

/* Writes the way of the drill-downs of each run that has one. Returns 0 or a negative code. */
int report_html_drills(struct html_page *page);

/* Finds the waits for work of a recording. Returns 0 or a negative code. */
int report_html_find_idle(struct html_part *part, struct sprof_error *error);

/* Writes what ended the waits of each run. Returns 0 or a negative code. */
int report_html_waits(struct html_page *page);

/* Writes what `write` puts into a stream, a table as JSON, as one text. Where it fails there is
 * none; returns 0 or SPROF_ENOMEM. */
int report_html_table(struct html_page *page, const char *name,
                      int (*write)(FILE *out, const void *context, struct sprof_error *error),
                      const void *context);

/* The same of a report of a recording. */
int report_html_report(struct html_page *page, const struct html_part *part, const char *name,
                       const struct report_request *request);

/* Writes the source lines of each run that cost most. Returns 0 or a negative code. */
int report_html_lines(struct html_page *page);

/* Writes what `sprof diff` says of the first and the last recording, where these have more than one
 * run each. Returns 0 or a negative code. */
int report_html_differences(struct html_page *page);

/* Packs functions, call paths and costs; what belongs to them as text follows with
 * report_html_names. Both return 0 or a negative code. */
int report_html_columns(struct html_page *page, struct html_columns *columns);
int report_html_names(struct html_page *page);

/* Where the last component of a name begins, in units of UTF-16, as scripts count. */
size_t report_html_last_component(const char *name);

#endif
