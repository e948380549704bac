/* The rows of rows.h described as data: which field goes into which column, and how. The statements
 * that write and read them are made from this. */
#ifndef SPROF_STORE_TABLES_H
#define SPROF_STORE_TABLES_H

#include "store/table_list.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum store_column_type {
    STORE_NUMBER, /* unsigned; stored up to INT64_MAX */
    STORE_SIGNED,
    STORE_BITS, /* 64 bits as they are: keys, addresses */
    STORE_BOOL,
    STORE_REAL,
    STORE_TEXT,
    STORE_WORD,   /* an enum; its words are in the table `word` */
    STORE_NAME,   /* a text out of a list, stored by its number in it */
    STORE_HEX,    /* struct sprof_bytes as lower-case text */
    STORE_BLOB,   /* struct sprof_bytes */
    STORE_PACKED, /* several fields of the row as one number */
};

/* Several small fields in one column: each column costs a byte of every row. `pack` returns
 * STORE_UNPACKABLE where a field has a value it must not have, `unpack` false for a number that no
 * row has. */
#define STORE_UNPACKABLE (UINT64_C(1) << 63)
struct store_packing {
    uint64_t (*pack)(const void *row);
    bool (*unpack)(void *row, uint64_t number);
};

struct store_column {
    const char *name;
    uint16_t offset, size; /* of the field */
    uint8_t type;          /* enum store_column_type */
    bool or_null;          /* 0, NULL and empty are SQL NULL */
    const char *const *words;
    const struct store_packing *packing; /* of a PACKED column, which has no field */
    const char *refers_to;               /* the table whose ids it holds; NULL: none */
};

struct store_table {
    const char *name;
    const struct store_column *columns;
    size_t count, row_size;
    const char *key;    /* columns that name a row: written again, it is replaced. NULL: no table */
    const char *unique; /* further columns that name a row; NULL: none */
    const char *computed;   /* columns that are not stored but computed, for SQL; NULL: none */
    const char *check;      /* a condition on the columns of a row; NULL: none */
    const char *indexes[3]; /* "name ON table (column)" */
    const char *of_run;     /* condition that takes the rows of run ?1 */
    const char *order;
    const char *write; /* instead of the INSERT made from the above: ?1, ?2 … are the columns */
    const char *read;  /* instead of the SELECT made from the above */
    bool (*possible)(const void *row); /* a row that is not so is damage; NULL: all are possible */
};

/* Tables, and queries whose rows have a struct of their own. */
enum store_table_id {
    STORE_RUN,
    STORE_SAMPLE,
    STORE_WORD_LIST,
#define STORE_X(id, name, row, rows) STORE_##id,
    STORE_BATCH_OF_RUN(STORE_X) STORE_BATCH_OF_ALL(STORE_X) STORE_DERIVED_OF_RUN(STORE_X)
        STORE_DERIVED_OF_ALL(STORE_X)
#undef STORE_X
            STORE_RUN_STATE,             /* the state of a run that exists */
            STORE_SAMPLE_NODE,           /* the node of a sample that exists */
    STORE_SAMPLE_RANGE,                  /* samples ?1 to ?2 */
    STORE_NODE_RANGE,                    /* nodes ?1 to ?2 */
    STORE_FRAME_RANGE,                   /* frames ?1 to ?2 */
    STORE_MAPPING_RANGE,                 /* mappings ?1 to ?2 */
    STORE_PATH_OF_RUN,                   /* call paths of the costs of run ?1 */
    STORE_FUNCTION_OF_RUN,               /* functions of the costs of run ?1 */
    STORE_FIRST_QUERY,                   /* those in store/queries.c begin here */
    STORE_NODE_COST = STORE_FIRST_QUERY, /* struct store_node_cost */
    STORE_NODE_COST_STORED,              /* the same, from thread_node_cost */
    STORE_CALL_TOTAL,                    /* struct store_call_total */
    STORE_PROBED_NODE,                   /* struct store_probed_node */
    STORE_SAMPLE_ROW,                    /* struct store_sample_row */
    STORE_QUALITY,                       /* struct store_quality */
    STORE_EVENT_QUALITY,                 /* struct store_event_quality of the event ?1 */
    STORE_LAST_IDS,                      /* struct store_ids */
    STORE_TABLES
};

const struct store_table *store_table(enum store_table_id id);

/* A word of a column that holds numbers for words; the list is called like the column. */
struct store_word {
    const char *list, *word;
    uint32_t number;
};

/* Calls `word` for all of them. Returns its first result that is not 0. */
int store_each_word(int (*word)(void *context, const struct store_word *row), void *context);

#endif
