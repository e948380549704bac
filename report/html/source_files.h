/* The text of source files, as a page holds it. */
#ifndef SPROF_REPORT_HTML_SOURCE_FILES_H
#define SPROF_REPORT_HTML_SOURCE_FILES_H

#include "report/dataset.h"
#include "report/json.h"

/* The lines of a file that a page shows. Zero is a valid empty value; the owner frees `shown`. */
struct html_file_lines {
    bool *shown; /* [line - 1] */
    size_t count;
};

/* Adds the lines from `first` (at least 1) to `last`. Returns 0 or SPROF_ENOMEM. */
int report_html_show_lines(struct html_file_lines *lines, uint32_t first, uint32_t last);

/* Writes the array "files": of each path its lines, or a note why they cannot be shown. Files that
 * are not where they were are looked for in `directory` (NULL: nowhere). Returns 0 or SPROF_ENOMEM.
 */
int report_html_put_files(struct json *json, struct report_dataset *dataset,
                          const char *const *paths, size_t count,
                          const struct html_file_lines *lines, const char *directory);

#endif
