/* trace, inside: errors that show a place in what was given. */
#ifndef SPROF_TRACE_SHOWN_PLACE_H
#define SPROF_TRACE_SHOWN_PLACE_H

#include "base/base.h"

/* Sets an error of `before` and `what`, with a part of the text and a ^ below the place. Returns
 * SPROF_EUSAGE or SPROF_ENOMEM. */
int trace_show_place(const char *text, size_t at, const char *before, const char *what,
                     struct sprof_error *error);

#endif
