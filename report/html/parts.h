/* What a page is put together from. */
#ifndef SPROF_REPORT_HTML_PARTS_H
#define SPROF_REPORT_HTML_PARTS_H

#include "base/base.h"

#include <stdio.h>

/* The files of this directory, each ended by a NUL: the frame of the page with @NAME@ where a part
 * belongs, its style, and its scripts one after the other. */
extern const unsigned char report_html_page[];
extern const unsigned char report_html_style[];
extern const unsigned char report_html_script[];

/* Columns of whole numbers, as report/html/data.js reads them: LEB128; signed differences to the
 * value before are zigzag-coded. Zero is valid and empty. */
struct html_columns {
    SPROF_VEC(uint8_t) bytes;
    uint64_t last;
    bool failed;
};
void report_html_column_begin(struct html_columns *columns);
void report_html_column_plain(struct html_columns *columns, uint64_t value);
void report_html_column_difference(struct html_columns *columns, uint64_t value);

/* Writes bytes as base64 of raw deflate (RFC 1951, RFC 4648). Returns 0 or SPROF_ENOMEM; failures
 * to write stay in the stream. */
int report_html_packed(FILE *out, const void *bytes, size_t size);

#endif
