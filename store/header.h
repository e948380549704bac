/* What the first bytes of a file say, before SQLite touches it. */
#ifndef SPROF_STORE_HEADER_H
#define SPROF_STORE_HEADER_H

#include "base/base.h"

#include <stdbool.h>

enum store_file_kind {
    STORE_FILE_ABSENT,
    STORE_FILE_EMPTY, /* no bytes */
    STORE_FILE_RECORDING,
};

struct store_file {
    enum store_file_kind kind;
    bool has_log;     /* a log or a journal must be folded in before the file stands alone */
    uint32_t version; /* of the schema */
};

/* Looks at a file without changing it. SPROF_EFORMAT: something else than a recording, or one that
 * is cut short; SPROF_EPERMISSION: it may not be read. Closing the file drops what locks this
 * process has on it (fcntl(2)), so this is not for a database that it has open. */
int store_file_look(const char *path, struct store_file *file, struct sprof_error *error);

#endif
