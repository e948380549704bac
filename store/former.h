/* Recordings that were replaced: FILE.old.1, the newest, to FILE.old.3. */
#ifndef SPROF_STORE_FORMER_H
#define SPROF_STORE_FORMER_H

#include "base/base.h"

#include <stdbool.h>

struct store_file;

/* Zero: keeps the recording that is replaced, and none was there. */
struct store_former {
    bool overwrite; /* in: the replaced recording is not kept */
    int slot;       /* out: the free name that was filled, 1 to 4; 0: no recording was replaced */
};

/* Removes what may lie beside a database of that name: a log replayed into another one destroys it.
 */
void store_remove_logs(const struct sprof_place *place, const char *name);

/* Frees the name of an existing recording, which is `file`: it becomes `path`.old.1, .old.1 becomes
 * .old.2 and so on up to the first free name. A fourth, or the only one where former->overwrite, is
 * `path`.old.4 until store_former_settle. No name is ever replaced, so a process that is killed on
 * the way loses none, and the next one fills the gap. SPROF_EFORMAT where a name in the way is no
 * recording, SPROF_ESTATE where a live sprof records to one; then all is as it was. */
int store_former_begin(struct store_former *former, const struct sprof_place *place,
                       const char *path, const struct store_file *file, struct sprof_error *error);

/* Renames all back, to where they were before store_former_begin. The name must be free. */
void store_former_undo(struct store_former *former, const struct sprof_place *place);

/* Removes the recording that is not kept. No undo afterwards. */
void store_former_settle(struct store_former *former, const struct sprof_place *place);

/* The same for the output of a recording: the place is found anew, and the file at `path`, which
 * sprof made, is removed first. */
void store_former_undo_at(struct store_former *former, const char *path);
void store_former_settle_at(struct store_former *former, const char *path);

#endif
