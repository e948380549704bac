/* Messages of protobuf that are written one by one: fields may stand in any order, and repeated
 * ones apart, so that a large message is never a tree in memory. */
#ifndef SPROF_REPORT_EXPORT_PACKING_H
#define SPROF_REPORT_EXPORT_PACKING_H

#include "formats/formats.h"

#include "base/base.h"

/* Zero is valid and empty. */
struct export_packed {
    SPROF_VEC(uint8_t) bytes;
};

/* Appends a message as a field of the one that the bytes are of. Returns 0 or SPROF_ENOMEM. */
int report_export_pack(struct export_packed *packed, unsigned field,
                       const ProtobufCMessage *message);

/* Appends the fields of a message themselves. */
int report_export_pack_fields(struct export_packed *packed, const ProtobufCMessage *message);

/* Appends bytes as a field: a text, or a message that is packed already. */
int report_export_pack_bytes(struct export_packed *packed, unsigned field, const void *bytes,
                             size_t size);

/* Appends "" and all texts of a table in the order of their numbers, a field each. */
int report_export_pack_texts(struct export_packed *packed, unsigned field,
                             const struct sprof_intern *texts);

#endif
