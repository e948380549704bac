/* Appends messages of protobuf to bytes. */
#include "report/export/packing.h"

#include <string.h>

/* The tag of a field with a length, and the length. */
static int pack_head(struct export_packed *packed, unsigned field, size_t size)
{
    enum { LENGTH_DELIMITED = 2, LARGEST_HEAD = 15 };
    if (sprof_vec_reserve(&packed->bytes, packed->bytes.count + size + LARGEST_HEAD))
        return SPROF_ENOMEM;
    packed->bytes.items[packed->bytes.count++] = (uint8_t)(field << 3 | LENGTH_DELIMITED);
    do {
        packed->bytes.items[packed->bytes.count++] =
            (uint8_t)((size & 127) | (size > 127 ? 128 : 0));
        size >>= 7;
    } while (size);
    return 0;
}

int report_export_pack_fields(struct export_packed *packed, const ProtobufCMessage *message)
{
    const size_t size = protobuf_c_message_get_packed_size(message);
    if (sprof_vec_reserve(&packed->bytes, packed->bytes.count + size + 1))
        return SPROF_ENOMEM;
    protobuf_c_message_pack(message, packed->bytes.items + packed->bytes.count);
    packed->bytes.count += size;
    return 0;
}

int report_export_pack(struct export_packed *packed, unsigned field,
                       const ProtobufCMessage *message)
{
    const int result = pack_head(packed, field, protobuf_c_message_get_packed_size(message));
    return result ? result : report_export_pack_fields(packed, message);
}

int report_export_pack_bytes(struct export_packed *packed, unsigned field, const void *bytes,
                             size_t size)
{
    if (pack_head(packed, field, size))
        return SPROF_ENOMEM;
    if (size)
        memcpy(packed->bytes.items + packed->bytes.count, bytes, size);
    packed->bytes.count += size;
    return 0;
}

int report_export_pack_texts(struct export_packed *packed, unsigned field,
                             const struct sprof_intern *texts)
{
    int result = report_export_pack_bytes(packed, field, "", 0);
    for (uint32_t i = 1; i <= texts->count && !result; i++) {
        const char *text = sprof_intern_text(texts, i);
        result = report_export_pack_bytes(packed, field, text, strlen(text));
    }
    return result;
}
