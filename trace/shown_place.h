/* Errors that mark a position in the user's text. */
#ifndef SPROF_TRACE_SHOWN_PLACE_H
#define SPROF_TRACE_SHOWN_PLACE_H

#include "base/base.h"

/* Sets the message `before`, `what`, part of the text and a ^ below position `at`. Returns
 * SPROF_EUSAGE or SPROF_ENOMEM. */
int trace_show_place(const char *text, size_t at, const char *before, const char *what,
                     struct sprof_error *error);

#endif
