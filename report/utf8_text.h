/* Texts from outside made fit for a terminal: valid UTF-8, without control characters, no wider
 * than there is room. A code point counts as one column. */
#ifndef SPROF_REPORT_UTF8_TEXT_H
#define SPROF_REPORT_UTF8_TEXT_H

#include "base/base.h"

/* A copy in the arena that sprof_utf8_clean has made; NULL when out of memory. */
const char *report_utf8_copy(struct sprof_arena *arena, const char *text);

/* Moves a text into the arena and releases it, also where that fails. NULL when memory ran out, now
 * or in an append before. */
const char *report_utf8_keep(struct sprof_arena *arena, struct sprof_str *text);

/* Columns of a clean text. */
size_t report_utf8_width(const char *text);

/* Appends a clean text, its middle replaced by "…" where it is wider than `width`; `width` 0
 * appends nothing. 0 or SPROF_ENOMEM. */
int report_utf8_shortened(struct sprof_str *out, const char *text, size_t width);

/* Appends the beginning of a clean text, ended by "…" where it is wider than `width`. 0 or
 * SPROF_ENOMEM. */
int report_utf8_cut(struct sprof_str *out, const char *text, size_t width);

/* Appends the end of a clean text, after "…" where it is wider than `width`. 0 or SPROF_ENOMEM. */
int report_utf8_end(struct sprof_str *out, const char *text, size_t width);

/* The same as report_utf8_shortened, filled up with spaces to `width`: on the right, or on the
 * left. */
int report_utf8_left(struct sprof_str *out, const char *text, size_t width);
int report_utf8_right(struct sprof_str *out, const char *text, size_t width);

/* Appends spaces. */
int report_utf8_spaces(struct sprof_str *out, size_t count);

/* The last two parts of a path: enough to recognize a source file, short enough for a column. */
const char *report_utf8_short_path(const char *path);

#endif
