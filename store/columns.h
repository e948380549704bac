/* How columns are described: a line each, which names the field of the row that it holds. */
#ifndef SPROF_STORE_COLUMNS_H
#define SPROF_STORE_COLUMNS_H

#include "store/store.h"
#include "store/tables.h"

/* A query, by its number from STORE_FIRST_QUERY on. */
const struct store_table *store_query_table(enum store_table_id id);

#define FIELD(row, field, name_, type_)                                                            \
    .name = name_, .offset = offsetof(struct row, field),                                          \
    .size = sizeof(((struct row *)NULL)->field), .type = STORE_##type_
/* A column named like its field; NULLED ones are SQL NULL for 0, NULL and empty. */
#define COLUMN(row, field, type_)                                                                  \
    {                                                                                              \
        FIELD(row, field, #field, type_)                                                           \
    }
#define NULLED(row, field, type_)                                                                  \
    {                                                                                              \
        FIELD(row, field, #field, type_), .or_null = true                                          \
    }
#define WORD(row, field, words_)                                                                   \
    {                                                                                              \
        FIELD(row, field, #field, WORD), .words = words_                                           \
    }
/* A text out of a list, stored by its number in it. */
#define NAME(row, field, words_)                                                                   \
    {                                                                                              \
        FIELD(row, field, #field, NAME), .words = words_                                           \
    }
#define NULLED_NAME(row, field, words_)                                                            \
    {                                                                                              \
        FIELD(row, field, #field, NAME), .words = words_, .or_null = true                          \
    }
/* The id of a row of another table. */
#define OF(row, field, table)                                                                      \
    {                                                                                              \
        FIELD(row, field, #field, NUMBER), .refers_to = table                                      \
    }
/* … and one of its event. */
#define OF_EVENT(row) OF(row, run_id, "run"), OF(row, event_id, "event")
#define NULLED_OF(row, field, table)                                                               \
    {                                                                                              \
        FIELD(row, field, #field, NUMBER), .or_null = true, .refers_to = table                     \
    }
#define NAMED_OF(row, field, name_, table)                                                         \
    {                                                                                              \
        FIELD(row, field, name_, NUMBER), .refers_to = table                                       \
    }
#define NAMED_NULLED_OF(row, field, name_, table)                                                  \
    {                                                                                              \
        FIELD(row, field, name_, NUMBER), .or_null = true, .refers_to = table                      \
    }
#define NAMED(row, field, name_, type_)                                                            \
    {                                                                                              \
        FIELD(row, field, name_, type_)                                                            \
    }
/* Fields without columns of their own. */
#define PACKED(row, packing_)                                                                      \
    {                                                                                              \
        .name = "packed", .size = sizeof(struct row), .type = STORE_PACKED, .packing = &(packing_) \
    }
#define NAMED_PACKED(row, packing_, name_)                                                         \
    {                                                                                              \
        .name = name_, .size = sizeof(struct row), .type = STORE_PACKED, .packing = &(packing_)    \
    }
#define NAMED_NULLED(row, field, name_, type_)                                                     \
    {                                                                                              \
        FIELD(row, field, name_, type_), .or_null = true                                           \
    }

#define COLUMNS(list, row)                                                                         \
    .columns = (list), .count = sizeof(list) / sizeof *(list), .row_size = sizeof(struct row)

#endif
