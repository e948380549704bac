/* Reads numbers and texts from bytes without running past their end. */
#include "base/bytes.h"

#include <stdlib.h>
#include <sys/mman.h>

void *sprof_bytes_new(size_t size)
{
    enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20, WORTH_HUGE_PAGES = 2 * HUGE_PAGE };
    const size_t alignment = size < WORTH_HUGE_PAGES ? CACHE_LINE : HUGE_PAGE;
    const size_t room = (size / alignment + 1) * alignment;
    void *bytes = room > size ? aligned_alloc(alignment, room) : NULL;
    if (bytes && alignment == HUGE_PAGE)
        madvise(bytes, room, MADV_HUGEPAGE);
    return bytes;
}

void sprof_reader_seek(struct sprof_reader *reader, size_t offset)
{
    if (offset > (size_t)(reader->end - reader->start))
        reader->failed = 1;
    else
        reader->next = offset ? reader->start + offset : reader->start; /* NULL where it is empty */
}

uint64_t sprof_reader_long_uleb(struct sprof_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = sprof_reader_u8(reader);
        const uint64_t bits = byte & 0x7f;
        if (reader->failed || (bits && (shift > 63 || bits << shift >> shift != bits))) {
            reader->failed = 1;
            return 0;
        }
        if (bits)
            value |= bits << shift;
        if (!(byte & 0x80))
            return value;
        if (shift > 1000) { /* padding without end is not a number */
            reader->failed = 1;
            return 0;
        }
    }
}

int64_t sprof_reader_long_sleb(struct sprof_reader *reader)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        const uint8_t byte = sprof_reader_u8(reader);
        if (reader->failed)
            return 0;
        const uint8_t bits = byte & 0x7f;
        value |= (uint64_t)bits << shift;
        if (byte & 0x80)
            continue;
        if (shift == 63 && bits != 0 && bits != 0x7f) /* only the sign is left */
            break;
        if (shift < 57 && (byte & 0x40))
            value |= ~UINT64_C(0) << (shift + 7);
        return (int64_t)value;
    }
    reader->failed = 1;
    return 0;
}

const char *sprof_reader_text(struct sprof_reader *reader)
{
    if (reader->failed)
        return NULL;
    const size_t left = sprof_reader_left(reader);
    const uint8_t *end = left ? memchr(reader->next, 0, left) : NULL;
    if (!end) {
        reader->failed = 1;
        return NULL;
    }
    const char *text = (const char *)reader->next;
    reader->next = end + 1;
    return text;
}
