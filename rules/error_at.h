/* Errors that mark a position in the user's text. */
#ifndef SPROF_RULES_ERROR_AT_H
#define SPROF_RULES_ERROR_AT_H

#include "base/base.h"

/* Sets the message `before`, `what`, part of the text and a ^ below position `at`. Returns
 * SPROF_EUSAGE or SPROF_ENOMEM. */
int rules_error_at(const char *text, size_t at, const char *before, const char *what,
                   struct sprof_error *error);

#endif
