/* Copies .eh_frame to another address: pointers that count from where they stand are made anew. */
#include "unwind/frames.h"

enum {
    PE_ABSOLUTE = 0x00,
    PE_FROM_HERE = 0x10, /* DW_EH_PE_pcrel */
    PE_ALIGNED = 0x50,
    PE_BASE = 0x70,
    PE_SIGNED = 0x08,
};

/* == CFA programs == */

/* What follows each code: numbers, a block, or so many bytes. */
enum operands { OP_UNKNOWN, OP_NONE, OP_NUMBER, OP_NUMBERS, OP_BLOCK, OP_NUMBER_BLOCK, OP_ADVANCE };

static const uint8_t operands_of[64] = {
    [0x00] = OP_NONE,    [0x02] = OP_ADVANCE,      [0x03] = OP_ADVANCE, [0x04] = OP_ADVANCE,
    [0x05] = OP_NUMBERS, [0x06] = OP_NUMBER,       [0x07] = OP_NUMBER,  [0x08] = OP_NUMBER,
    [0x09] = OP_NUMBERS, [0x0a] = OP_NONE,         [0x0b] = OP_NONE,    [0x0c] = OP_NUMBERS,
    [0x0d] = OP_NUMBER,  [0x0e] = OP_NUMBER,       [0x0f] = OP_BLOCK,   [0x10] = OP_NUMBER_BLOCK,
    [0x11] = OP_NUMBERS, [0x12] = OP_NUMBERS,      [0x13] = OP_NUMBER,  [0x14] = OP_NUMBERS,
    [0x15] = OP_NUMBERS, [0x16] = OP_NUMBER_BLOCK, [0x2d] = OP_NONE,    [0x2e] = OP_NUMBER,
    [0x2f] = OP_NUMBERS,
};

static void read_operands(struct sprof_reader *program, struct frames_operation *operation)
{
    const enum operands operands = operands_of[operation->code];
    if (operands == OP_ADVANCE)
        operation->advance = operation->code == 2   ? sprof_reader_u8(program)
                             : operation->code == 3 ? sprof_reader_u16(program)
                                                    : sprof_reader_u32(program);
    if (operands == OP_NUMBER || operands == OP_NUMBERS || operands == OP_NUMBER_BLOCK)
        sprof_reader_long_sleb(program);
    if (operands == OP_NUMBERS)
        sprof_reader_long_sleb(program);
    if (operands == OP_BLOCK || operands == OP_NUMBER_BLOCK)
        sprof_reader_take(program, (size_t)sprof_reader_uleb(program));
    program->failed |= operands == OP_UNKNOWN;
}

bool unwind_frames_next(struct sprof_reader *program, struct frames_operation *operation)
{
    enum { ADVANCE = 1, OFFSET = 2, SET_LOCATION = 1 };
    if (!sprof_reader_left(program))
        return false;
    *operation = (struct frames_operation){.bytes = program->next};
    const uint8_t byte = sprof_reader_u8(program);
    operation->code = byte & 0x3f;
    if (byte >> 6 == ADVANCE)
        operation->advance = byte & 0x3f;
    else if (byte >> 6 == OFFSET)
        sprof_reader_uleb(program);
    else if (!(byte >> 6) && byte == SET_LOCATION)
        operation->sets_location = true;
    else if (!(byte >> 6))
        read_operands(program, operation);
    operation->size = (size_t)(program->next - operation->bytes);
    return !program->failed;
}

/* == Entries == */

struct copy {
    struct sprof_bytes bytes; /* as it was */
    uint8_t *out;             /* as it becomes */
    uint64_t from, to;
    bool is_fixed;
    struct sprof_map cies; /* offset → how pointers of its functions are written */
};

/* Makes the pointer at an offset anew; returns its size, 0 where that cannot be. */
static size_t move_pointer(struct copy *copy, size_t offset, uint8_t encoding)
{
    const unsigned form = encoding & 7u;
    const size_t size = form == 3 ? 4 : form == 4 || form == 0 ? 8 : 0;
    const unsigned base = encoding & PE_BASE;
    if (!size || base >= PE_ALIGNED || offset > copy->bytes.size ||
        size > copy->bytes.size - offset || (base == PE_ABSOLUTE && !copy->is_fixed))
        return 0;
    if (base != PE_FROM_HERE)
        return size;
    uint64_t value = 0;
    memcpy(&value, copy->out + offset, size);
    if (size == 4)
        value = (uint64_t)(int32_t)value;
    if (!value) /* nothing, whatever it counts from */
        return size;
    value += copy->from - copy->to;
    if (size == 4 && (int64_t)value != (int32_t)value)
        return 0;
    memcpy(copy->out + offset, &value, size);
    return size;
}

struct letters {
    uint8_t pointer, exception;
    bool augmented;
};

/* Moves the personality routine of a CIE, which stands among what its letters announce. */
static bool move_cie(struct copy *copy, size_t offset, struct letters *found)
{
    struct sprof_reader reader = sprof_reader_of(copy->bytes);
    *found = (struct letters){.exception = CFI_PE_OMIT};
    sprof_reader_seek(&reader, offset + 8);
    const uint8_t version = sprof_reader_u8(&reader);
    const char *letters = sprof_reader_text(&reader);
    if (reader.failed || version != 1 || (*letters && *letters != 'z'))
        return false;
    sprof_reader_uleb(&reader);
    sprof_reader_sleb(&reader);
    sprof_reader_u8(&reader);
    found->augmented = *letters == 'z';
    if (found->augmented)
        sprof_reader_uleb(&reader);
    for (letters += found->augmented; *letters && !reader.failed; letters++) {
        uint8_t encoding;
        switch (*letters) {
        case 'R': found->pointer = sprof_reader_u8(&reader); break;
        case 'L': found->exception = sprof_reader_u8(&reader); break;
        case 'P':
            encoding = sprof_reader_u8(&reader);
            if (encoding != CFI_PE_OMIT) {
                const size_t size = move_pointer(copy, sprof_reader_offset(&reader), encoding);
                if (!size)
                    return false;
                sprof_reader_take(&reader, size);
            }
            break;
        case 'S': break;
        default: return false;
        }
    }
    return !reader.failed;
}

static bool is_movable_program(struct sprof_bytes bytes)
{
    struct sprof_reader program = sprof_reader_of(bytes);
    struct frames_operation operation;
    while (unwind_frames_next(&program, &operation))
        if (operation.sets_location)
            return false;
    return !program.failed;
}

static bool move_fde(struct copy *copy, size_t offset, size_t end, const struct letters *letters)
{
    const size_t size = move_pointer(copy, offset + 8, letters->pointer);
    if (!size)
        return false;
    struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){copy->bytes.data, end});
    sprof_reader_seek(&reader, offset + 8 + 2 * size);
    if (letters->augmented) {
        const size_t more = (size_t)sprof_reader_uleb(&reader);
        if (more && letters->exception != CFI_PE_OMIT &&
            !move_pointer(copy, sprof_reader_offset(&reader), letters->exception))
            return false;
        sprof_reader_take(&reader, more);
    }
    const size_t left = reader.failed ? 0 : sprof_reader_left(&reader);
    return !reader.failed && is_movable_program((struct sprof_bytes){reader.next, left});
}

static int move_entry(struct copy *copy, size_t offset, size_t end)
{
    struct letters letters;
    uint32_t back;
    memcpy(&back, copy->bytes.data + offset + 4, sizeof back);
    if (!back) {
        if (!move_cie(copy, offset, &letters))
            return SPROF_EUNSUPPORTED;
        return sprof_map_put(&copy->cies, offset,
                             (uint64_t)letters.pointer | (uint64_t)letters.exception << 8 |
                                 (uint64_t)letters.augmented << 16);
    }
    const uint64_t *cie = sprof_map_get(&copy->cies, offset + 4 - back);
    if (!cie)
        return SPROF_EUNSUPPORTED;
    letters = (struct letters){(uint8_t)*cie, (uint8_t)(*cie >> 8), *cie >> 16 & 1};
    return move_fde(copy, offset, end, &letters) ? 0 : SPROF_EUNSUPPORTED;
}

/* Entries whose lengths are of 32 bits, and CIEs before their functions: as linkers write them. */
static int move_entries(struct copy *copy)
{
    int code = 0;
    for (size_t at = 0, end; copy->bytes.size - at >= 4 && !code; at = end) {
        uint32_t length;
        memcpy(&length, copy->bytes.data + at, sizeof length);
        end = at + 4;
        if (!length)
            continue;
        if (length < 8 || length > copy->bytes.size - end)
            return SPROF_EUNSUPPORTED;
        end += length;
        code = move_entry(copy, at, end);
    }
    return code;
}

/* Behind the last entry: what ends the section is written anew. */
static size_t entries_end(struct sprof_bytes section)
{
    size_t end = 0;
    uint32_t length;
    for (size_t at = 0; section.size - at >= sizeof length; at += sizeof length + length) {
        memcpy(&length, section.data + at, sizeof length);
        if (length > section.size - at - sizeof length)
            return section.size; /* which the copying finds, too */
        end = length ? at + sizeof length + length : end;
    }
    return end;
}

int unwind_frames_copy(struct sprof_str *out, struct sprof_bytes section, uint64_t from,
                       uint64_t to, bool is_fixed)
{
    section.size = entries_end(section);
    if (sprof_str_append_bytes(out, (const char *)section.data, section.size))
        return SPROF_ENOMEM;
    struct copy copy = {.bytes = section,
                        .out = (uint8_t *)out->text + out->length - section.size,
                        .from = from,
                        .to = to,
                        .is_fixed = is_fixed};
    const int code = move_entries(&copy);
    sprof_map_release(&copy.cies);
    return code;
}
