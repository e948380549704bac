/* Call frame information while it is written for another address. */
#ifndef SPROF_UNWIND_FRAMES_H
#define SPROF_UNWIND_FRAMES_H

#include "unwind/cfi.h"

/* One instruction of a CFA program. */
struct frames_operation {
    uint8_t code;       /* DW_CFA_…, without an operand in its low bits */
    uint64_t advance;   /* how far it moves on, in units of the code alignment */
    bool sets_location; /* to an address */
    const uint8_t *bytes;
    size_t size;
};

/* Reads the next; false at the end, and where it is malformed (the reader has failed then). */
bool unwind_frames_next(struct sprof_reader *program, struct frames_operation *operation);

/* Appends a section of call frame information that began at `from`, for the address `to`, without
 * what ends it. Returns 0, SPROF_EUNSUPPORTED or SPROF_ENOMEM. */
int unwind_frames_copy(struct sprof_str *out, struct sprof_bytes section, uint64_t from,
                       uint64_t to, bool is_fixed);

#endif
