/* The fields of what an event writes with each of its samples: of a tracepoint those that the
 * kernel describes, of a wait for a futex the lock and its holder. */
#ifndef SPROF_MODEL_FIELDS_H
#define SPROF_MODEL_FIELDS_H

#include "base/base.h"

enum model_field_kind {
    MODEL_FIELD_NUMBER,  /* of 1, 2, 4 or 8 bytes */
    MODEL_FIELD_SIGNED,  /* … with a sign */
    MODEL_FIELD_POINTER, /* … shown in hexadecimal */
    MODEL_FIELD_TEXT,    /* an array of characters, up to the first 0 */
    MODEL_FIELD_TEXT_AT, /* four bytes: where a text is (low half) and how long (high half) */
    MODEL_FIELD_KINDS,
};

struct model_field {
    char name[48];
    uint16_t offset, bytes;
    enum model_field_kind kind;
};

struct model_fields {
    struct model_field *items;
    size_t count, capacity;
};

/* Fields of a wait for a futex, as sources of waits write them. */
#define MODEL_FIELD_LOCK "lock"
#define MODEL_FIELD_HOLDER "holder"

/* Appends the value of a field as text. Bytes behind the end count as 0. 0 or SPROF_ENOMEM. */
int model_field_append(struct sprof_str *out, const struct model_field *field,
                       struct sprof_bytes bytes);

/* The value of a number; 0 of texts. */
uint64_t model_field_number(const struct model_field *field, struct sprof_bytes bytes);

#endif
