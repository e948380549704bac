/* What is sent together, as some requests in an order, each of a bounded size. */
#ifndef SPROF_FLEET_BATCH_H
#define SPROF_FLEET_BATCH_H

#include "base/base.h"

#include <stdbool.h>
#include <stdio.h>

/* What stands behind the name of a table whose rows are in ClickHouse's Native format. */
#define FLEET_NATIVE ".native"

/* A request of its own. */
struct fleet_piece {
    char name[16];           /* of the table, or of what else it is */
    char *columns;           /* "a,b,c"; "" where it is no table */
    uint64_t rows;           /* 0 where it is no table */
    struct sprof_bytes body; /* gzip'd; of a batch in the making: owned */
};

/* Zero is valid and empty. */
struct fleet_batch {
    uint64_t time_ns; /* since 1970: the oldest goes first where there is no room */
    uint64_t key;     /* the same of a repetition, and of nothing else */
    SPROF_VEC(struct fleet_piece) pieces;
    bool is_borrowed; /* bodies lie in bytes of the caller */

    /* For the tables that are added next: turns rows, from the beginning, into the Native format.
     * NULL: they stay as they are. */
    int (*to_native)(FILE *out, FILE *rows, struct sprof_error *error);
};

enum { FLEET_PIECE_ROWS = 250000, FLEET_PIECES_MAX = 4096 };

/* Adds the rows of a table: tab-separated values behind a line of column names, as `sprof export -f
 * rows` writes them. Each piece has at most FLEET_PIECE_ROWS. The key changes with all of it, and
 * not with the format.
 * SPROF_EFORMAT where a line has no end, SPROF_ENOMEM, and what reading and temporary files say. */
int fleet_batch_add_table(struct fleet_batch *batch, const char *name, FILE *rows,
                          struct sprof_error *error);

/* Adds bytes as one piece. */
int fleet_batch_add_bytes(struct fleet_batch *batch, const char *name, struct sprof_bytes bytes,
                          struct sprof_error *error);
void fleet_batch_release(struct fleet_batch *batch);

/* The file of a batch: a line `sprof batch 1 PIECES HASH`, a line for each piece, the bodies. */
int fleet_batch_write(const struct fleet_batch *batch, FILE *file);

/* Takes a file's bytes apart; bodies and texts point into copies or `bytes`, which must live as
 * long. SPROF_EFORMAT: it is damaged. The caller releases, also on failure. */
int fleet_batch_parse(struct fleet_batch *batch, struct sprof_bytes bytes,
                      struct sprof_error *error);

#endif
