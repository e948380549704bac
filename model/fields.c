/* Reads the fields of what an event writes with its samples. */
#include "model/fields.h"

#include <inttypes.h>
#include <string.h>

/* Both architectures are little endian. */
static uint64_t bytes_at(struct sprof_bytes bytes, size_t offset, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size && offset + i < bytes.size; i++)
        value |= (uint64_t)bytes.data[offset + i] << (8 * i);
    return value;
}

static bool is_number(const struct model_field *field)
{
    return field->kind == MODEL_FIELD_NUMBER || field->kind == MODEL_FIELD_SIGNED ||
           field->kind == MODEL_FIELD_POINTER;
}

uint64_t model_field_number(const struct model_field *field, struct sprof_bytes bytes)
{
    const size_t size = field->bytes < 8 ? field->bytes : 8;
    uint64_t value = is_number(field) ? bytes_at(bytes, field->offset, size) : 0;
    if (field->kind == MODEL_FIELD_SIGNED && size && size < 8 && value >> (8 * size - 1))
        value |= UINT64_MAX << (8 * size);
    return value;
}

static int append_text(struct sprof_str *out, struct sprof_bytes bytes, size_t offset, size_t most)
{
    const size_t left = offset < bytes.size ? bytes.size - offset : 0;
    const size_t size = left < most ? left : most;
    if (!size)
        return 0;
    const char *text = (const char *)bytes.data + offset;
    return sprof_str_appendf(out, "%.*s", (int)strnlen(text, size), text);
}

int model_field_append(struct sprof_str *out, const struct model_field *field,
                       struct sprof_bytes bytes)
{
    const uint64_t value = model_field_number(field, bytes);
    uint64_t place;
    switch (field->kind) {
    case MODEL_FIELD_NUMBER: return sprof_str_appendf(out, "%" PRIu64, value);
    case MODEL_FIELD_SIGNED: return sprof_str_appendf(out, "%" PRId64, (int64_t)value);
    case MODEL_FIELD_POINTER: return sprof_str_appendf(out, "0x%" PRIx64, value);
    case MODEL_FIELD_TEXT: return append_text(out, bytes, field->offset, field->bytes);
    case MODEL_FIELD_TEXT_AT:
        place = bytes_at(bytes, field->offset, 4);
        return append_text(out, bytes, place & UINT16_MAX, place >> 16);
    case MODEL_FIELD_KINDS: break;
    }
    return 0;
}
