/* Errors of reports in words. */
#ifndef SPROF_REPORT_ERROR_TEXT_H
#define SPROF_REPORT_ERROR_TEXT_H

#include "base/base.h"

/* Gives a code without a message its own: such a one comes from the callbacks that take rows, for a
 * reference to a missing row, or for memory. Returns `result`. */
int report_error_code(int result, struct sprof_error *error);

/* Sets an error whose message is the text, or SPROF_ENOMEM where an append to it failed. Releases
 * the text and returns the code. */
int report_error_text(struct sprof_error *error, int code, struct sprof_str *text);

struct report_dataset;

/* SPROF_ENOTFOUND, for what needs the times of single calls, where calls were only counted, or
 * there were none. */
int report_error_counted(const struct report_dataset *dataset, struct sprof_error *error);

/* SPROF_EUSAGE where one of the runs was made of rows of a fleet's database, which do not hold
 * `what`; else 0. */
int report_error_of_rows(const struct report_dataset *dataset, const char *what,
                         struct sprof_error *error);

#endif
