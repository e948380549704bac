/* Texts from outside made fit for terminals and for programs that refuse what is not UTF-8. */
#ifndef SPROF_BASE_UTF8_H
#define SPROF_BASE_UTF8_H

#include "base/str.h"

#include <stdio.h>

/* Bytes of printable ASCII at `text`: nearly all that a name consists of. */
size_t sprof_utf8_plain(const char *text);

/* Appends `text` with every invalid byte and control character as U+FFFD. 0 or SPROF_ENOMEM. */
int sprof_utf8_clean(struct sprof_str *out, const char *text);

/* Writes what sprof_utf8_clean appends. */
void sprof_utf8_put(FILE *out, const char *text);

/* Writes a field of comma-separated values (RFC 4180), in quotes where it needs them: control
 * characters stay unless `out` is a terminal, invalid bytes are U+FFFD. */
void sprof_utf8_put_csv(FILE *out, const char *text);

#endif
