/* Finds the ends of SQL statements without running them. */
#ifndef SPROF_CLI_STATEMENTS_H
#define SPROF_CLI_STATEMENTS_H

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* The length of the first statement of `text`, its semicolon included; 0 where it is not complete
 * yet. Semicolons inside quotes and comments do not count. */
size_t cli_statement_length(const char *text);

/* Whether there is nothing to run: blanks, comments, semicolons. */
bool cli_statement_is_empty(const char *text, size_t length);

#endif
