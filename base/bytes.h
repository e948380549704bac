/* Bounded bytes, and a reader that cannot run past their end. Every parser of outside data reads
 * through it, so a fuzzer can feed each from memory. */
#ifndef SPROF_BASE_BYTES_H
#define SPROF_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Borrowed bytes; {NULL, 0} is empty. */
struct sprof_bytes {
    const uint8_t *data;
    size_t size;
};

/* Memory for that many bytes, freed with free; NULL where there is none. Much of it lies in huge
 * pages: to be given thousands of small ones costs as much as to fill them. At least at multiples
 * of 64. */
void *sprof_bytes_new(size_t size);

/* A reader over borrowed bytes. Reading past the end sets `failed`, returns 0 and stays failed, so
 * that a parser may check once after a group of reads. Little endian, as the machines sprof runs
 * on. */
struct sprof_reader {
    const uint8_t *start, *next, *end;
    int failed;
};

static inline struct sprof_reader sprof_reader_of(struct sprof_bytes bytes)
{
    /* Adding even 0 to NULL is undefined. */
    const uint8_t *end = bytes.size ? bytes.data + bytes.size : bytes.data;
    return (struct sprof_reader){bytes.data, bytes.data, end, 0};
}

static inline size_t sprof_reader_left(const struct sprof_reader *reader)
{
    return (size_t)(reader->end - reader->next);
}

static inline size_t sprof_reader_offset(const struct sprof_reader *reader)
{
    return (size_t)(reader->next - reader->start);
}

/* Moves to an offset from the start; fails past the end. */
void sprof_reader_seek(struct sprof_reader *reader, size_t offset);

/* Skips `size` bytes and returns where they began, or NULL past the end. */
static inline const uint8_t *sprof_reader_take(struct sprof_reader *reader, size_t size)
{
    if (reader->failed || sprof_reader_left(reader) < size) {
        reader->failed = 1;
        return NULL;
    }
    const uint8_t *taken = reader->next;
    reader->next += size;
    return taken;
}

#define SPROF_READER_FIXED(name, type)                                                             \
    static inline type sprof_reader_##name(struct sprof_reader *reader)                            \
    {                                                                                              \
        type value = 0;                                                                            \
        if (reader->failed || sprof_reader_left(reader) < sizeof value) {                          \
            reader->failed = 1;                                                                    \
            return 0;                                                                              \
        }                                                                                          \
        memcpy(&value, reader->next, sizeof value);                                                \
        reader->next += sizeof value;                                                              \
        return value;                                                                              \
    }
SPROF_READER_FIXED(u8, uint8_t)
SPROF_READER_FIXED(u16, uint16_t)
SPROF_READER_FIXED(u32, uint32_t)
SPROF_READER_FIXED(u64, uint64_t)
#undef SPROF_READER_FIXED

uint64_t sprof_reader_long_uleb(struct sprof_reader *reader);
int64_t sprof_reader_long_sleb(struct sprof_reader *reader);

/* LEB128 (DWARF 5, section 7.6). Numbers that do not fit 64 bits fail. Most are of one byte. */
static inline uint64_t sprof_reader_uleb(struct sprof_reader *reader)
{
    if (!reader->failed && reader->next < reader->end && *reader->next < 0x80)
        return *reader->next++;
    return sprof_reader_long_uleb(reader);
}

static inline int64_t sprof_reader_sleb(struct sprof_reader *reader)
{
    if (!reader->failed && reader->next < reader->end && *reader->next < 0x80) {
        const uint8_t byte = *reader->next++;
        return byte < 0x40 ? byte : (int64_t)byte - 0x80;
    }
    return sprof_reader_long_sleb(reader);
}

/* A NUL-terminated string inside the bytes, or NULL and failure where no NUL follows. */
const char *sprof_reader_text(struct sprof_reader *reader);

#endif
