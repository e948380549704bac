/* A directory of batches that wait to be sent: written whole or not at all, bounded, and of one
 * process at a time. */
#ifndef SPROF_FLEET_SPOOL_H
#define SPROF_FLEET_SPOOL_H

#include "fleet/batch.h"
#include "fleet/target.h"

/* A batch that waits. */
struct fleet_waiting {
    char name[96]; /* of its file */
    uint64_t time_ms, key, bytes;
    unsigned sent; /* pieces that the receiver has acknowledged */
};

struct fleet_spool {
    struct sprof_own_directory directory;
    char *path;
    enum fleet_kind kind; /* of the batches; others are not touched */
    uint64_t most_bytes;
    const struct sprof_log *log;
};

/* Makes and takes the directory, as sprof_own_directory_take. Files that a killed writer has left
 * are removed. `log` must live as long. */
int fleet_spool_open(struct fleet_spool *spool, const char *path, enum fleet_kind kind,
                     uint64_t most_bytes, const struct sprof_log *log, struct sprof_error *error);
void fleet_spool_close(struct fleet_spool *spool);

/* Adds a batch, unless it waits there already. The oldest are dropped, counted (see
 * fleet_spool_dropped) and said, while all are more than `most_bytes` or the disk is full. Errors:
 * SPROF_ENOMEM, SPROF_EIO, SPROF_EFULL where there is nothing left to be dropped. */
int fleet_spool_add(struct fleet_spool *spool, const struct fleet_batch *batch,
                    struct sprof_error *error);

/* Those that wait, oldest first. The caller releases the vector. */
struct fleet_waiting_list {
    SPROF_VEC(struct fleet_waiting) items;
};
int fleet_spool_list(const struct fleet_spool *spool, struct fleet_waiting_list *list,
                     struct sprof_error *error);

/* Maps a batch into memory. SPROF_EFORMAT: it is damaged. */
struct fleet_loaded {
    struct fleet_batch batch;
    void *mapping;
    size_t size;
};
int fleet_spool_load(const struct fleet_spool *spool, const struct fleet_waiting *waiting,
                     struct fleet_loaded *loaded, struct sprof_error *error);
void fleet_spool_unload(struct fleet_loaded *loaded);

/* Notes that so many pieces are acknowledged, also for a process that comes after this one. */
int fleet_spool_note_sent(const struct fleet_spool *spool, struct fleet_waiting *waiting,
                          unsigned sent, struct sprof_error *error);
int fleet_spool_remove(const struct fleet_spool *spool, const struct fleet_waiting *waiting,
                       struct sprof_error *error);

/* Renames it to NAME.refused (by the receiver) or NAME.damaged; the 16 newest of each stay. Says
 * why. */
int fleet_spool_set_aside(const struct fleet_spool *spool, const struct fleet_waiting *waiting,
                          bool is_refused, const char *why, struct sprof_error *error);

/* A number that outlives the process, such as of batches dropped; 0 at first. */
uint64_t fleet_spool_number(const struct fleet_spool *spool, const char *name);
#define FLEET_SPOOL_DROPPED "dropped" /* batches, ever */

/* Likewise lines of text; none at first. The caller releases. */
int fleet_spool_lines(const struct fleet_spool *spool, const char *name, struct sprof_str *lines,
                      struct sprof_error *error);
int fleet_spool_set_lines(const struct fleet_spool *spool, const char *name, const char *lines,
                          struct sprof_error *error);
#define FLEET_SPOOL_SEGMENTS "segments" /* names of those that are in the spool, or were */

#endif
