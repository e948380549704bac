/* symbolize, inside: the rows of units' line tables, as the lines of functions in an index. */
#ifndef SPROF_SYMBOLIZE_DWARF_ROWS_H
#define SPROF_SYMBOLIZE_DWARF_ROWS_H

#include "symbolize/dwarf_names.h"

/* A piece of the unit at hand, and where its lines stand when they are sorted by pieces. */
struct dwarf_rows_piece {
    uint64_t low, high; /* vaddrs */
    uint32_t number;    /* in the index */
    size_t first, count;
};

/* A row inside a piece. */
struct dwarf_row {
    uint32_t piece; /* number among the unit's */
    struct index_line line;
};

/* What a unit has at the beginning of code that begins at 0. */
struct dwarf_zero {
    uint64_t end;     /* of the function that is there, 0: none of this unit's */
    bool has_dropped; /* functions that are not in the image seem to begin there */
};

/* Memory that is used for one unit after the other. The caller sets the first two. */
struct dwarf_rows {
    struct dwarf_names *names;
    uint64_t delta;
    struct dwarf_unit *unit;
    struct dwarf_zero zero;                    /* the unit's, set by the caller */
    const struct dwarf_line_table *table;      /* while it is run */
    SPROF_VEC(struct dwarf_rows_piece) pieces; /* by address */
    SPROF_VEC(struct dwarf_row) rows;          /* in the order of the table */
    SPROF_VEC(struct index_line) lines;        /* by pieces */
    size_t last;                               /* the piece where the last row fell */
};

/* Gives lines to the pieces of the index from `first` on, which are the unit's. */
void symbolize_dwarf_rows_add(struct dwarf_rows *rows, struct dwarf_unit *unit, size_t first);
void symbolize_dwarf_rows_release(struct dwarf_rows *rows);

#endif
