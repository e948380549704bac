/* Reads the encoded pointers of call frame information. */
#include "unwind/cfi.h"

static uint64_t read_u16(struct sprof_reader *reader)
{
    return sprof_reader_u16(reader);
}

static uint64_t read_u32(struct sprof_reader *reader)
{
    return sprof_reader_u32(reader);
}

static uint64_t read_s16(struct sprof_reader *reader)
{
    return (uint64_t)(int16_t)sprof_reader_u16(reader);
}

static uint64_t read_s32(struct sprof_reader *reader)
{
    return (uint64_t)(int32_t)sprof_reader_u32(reader);
}

static uint64_t read_sleb(struct sprof_reader *reader)
{
    return (uint64_t)sprof_reader_sleb(reader);
}

/* By the low four bits of the encoding; 8 is a signed word of no stated size. */
static uint64_t (*const formats[16])(struct sprof_reader *) = {
    [0x0] = sprof_reader_u64, [0x1] = sprof_reader_uleb, [0x2] = read_u16,  [0x3] = read_u32,
    [0x4] = sprof_reader_u64, [0x8] = sprof_reader_u64,  [0x9] = read_sleb, [0xa] = read_s16,
    [0xb] = read_s32,         [0xc] = sprof_reader_u64,
};

static uint64_t read_aligned(struct sprof_reader *reader, const struct cfi_bases *bases)
{
    const uint64_t at = bases->section + sprof_reader_offset(reader);
    sprof_reader_take(reader, (size_t)(-at & 7));
    return sprof_reader_u64(reader);
}

uint64_t unwind_cfi_pointer_read(struct sprof_reader *reader, uint8_t encoding,
                                 const struct cfi_bases *bases)
{
    enum { PCREL = 1, TEXTREL, DATAREL, FUNCREL, ALIGNED };
    const uint64_t base[8] = {[PCREL] = bases->section + sprof_reader_offset(reader),
                              [TEXTREL] = bases->text,
                              [DATAREL] = bases->data,
                              [FUNCREL] = bases->function};
    const unsigned application = encoding >> 4 & 7;
    if (application == ALIGNED)
        return read_aligned(reader, bases);
    if (!formats[encoding & 15] || application > ALIGNED || encoding & CFI_PE_INDIRECT) {
        reader->failed = 1;
        return 0;
    }
    return base[application] + formats[encoding & 15](reader);
}
