/* An import of some bytes, and what came of it. */
#ifndef SPROF_TESTS_UNIT_IMPORT_IMPORTING_H
#define SPROF_TESTS_UNIT_IMPORT_IMPORTING_H

#include "import/import.h"
#include "tests/unit/recording/handmade.h"

struct importing {
    struct handmade made; /* only its places are used */
    char input[128];
    struct sprof_str heard; /* messages without the directory, one a line */
    size_t skip;            /* … so many letters of each */
    struct sprof_error error;
    struct import_result imported;
    int result;
};

/* `format` NULL: told from the content. The input's name is "in". */
void importing_bytes(struct importing *importing, const char *format, const void *bytes,
                     size_t size);
void importing_close(struct importing *importing);

/* What a query of the recording gives; nothing may have been said. */
void importing_expect(const char *format, const void *bytes, size_t size, const char *sql,
                      const char *expected);

/* The same where something was said: `messages`, a line each. */
void importing_skips(const char *format, const void *bytes, size_t size, const char *messages,
                     const char *sql, const char *expected);

/* That nothing was written; `messages` is what was said, and `error` part of the error. */
void importing_refused(const char *format, const void *bytes, size_t size, const char *messages,
                       const char *error);

#endif
