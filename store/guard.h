/* The files that SQLite opens: by the descriptor of a directory that was resolved once. */
#ifndef SPROF_STORE_GUARD_H
#define SPROF_STORE_GUARD_H

#include "base/base.h"

#include <sys/stat.h>

/* A database and what lies beside it (-wal, -shm, -journal). While it is open, SQLite opens and
 * removes these names in that directory alone, never through a link. Where another user may write
 * the directory, a file is refused that is not regular, has other names, is not the one that was
 * made, or, beside the database, belongs to another user. */
struct store_guard {
    struct sprof_place place;
    char directory[PATH_MAX]; /* as SQLite names it */
    bool is_trusted;          /* no other user may write the directory */
    struct stat made;         /* the database, where st_ino is not 0 */
    uid_t owner;              /* of the database, once it was opened */
    bool has_refused;
    struct store_guard *next;
};

/* Resolves the path; `writable`: as sprof_place_find does, else through all links.
 * SPROF_EPERMISSION of a link that is not followed, else as the system says. Ended by
 * store_guard_end, also after an error. */
int store_guard_begin(struct store_guard *guard, const char *path, bool writable,
                      struct sprof_error *error);
void store_guard_end(struct store_guard *guard);

/* To be called once, before SQLite opens anything. */
void store_guard_install(void);

#endif
