/* The source lines and instructions of the hottest functions, as a page holds them. */
#ifndef SPROF_REPORT_HTML_SOURCE_H
#define SPROF_REPORT_HTML_SOURCE_H

#include "report/html/line_costs.h"
#include "report/json.h"

struct html_source_request {
    struct store *store;
    struct report_dataset *dataset; /* of the newest run, with all functions of the recording */
    const struct html_source_event *events;
    size_t event_count;
    uint32_t first_function; /* what is added to the numbers of functions in the page */
    const char *directory;   /* where sources lie that are not where they were; NULL: nowhere */
};

/* Writes one object as report/html/source.js reads it. What cannot be shown is said in it, and is
 * no error. */
int report_html_source(struct json *json, const struct html_source_request *request,
                       struct sprof_error *error);

#endif
