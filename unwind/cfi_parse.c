/* Reads the entries of .eh_frame and .debug_frame: CIEs and FDEs. */
#include "unwind/cfi.h"

/* Real CIEs have a few dozen bytes. Every FDE may name one of its own, so that without a bound a
 * hostile section takes quadratic time. */
enum { CIE_BYTES_MAX = 4096, CODE_ALIGN_MAX = 63 };

void unwind_cfi_section_init(struct cfi_section *section, struct sprof_bytes bytes, uint64_t vaddr,
                             bool is_debug_frame)
{
    *section = (struct cfi_section){
        .bytes = bytes, .bases.section = vaddr, .is_debug_frame = is_debug_frame};
}

void unwind_cfi_section_release(struct cfi_section *section)
{
    sprof_vec_release(&section->cies);
    sprof_map_release(&section->cie_by_offset);
}

/* One entry of the section, CIE or FDE, before it is known which. */
struct entry {
    struct sprof_reader reader; /* of the section, at the entry's content, ending where it ends */
    size_t offset, next;
    size_t id_offset; /* where the CIE id or pointer stands: eh_frame counts from here */
    uint64_t id;
    bool is_cie;
};

/* Returns 0, 1 at the end, or SPROF_ENOTFOUND for a terminator, which some links leave inside. */
static int entry_open(const struct cfi_section *section, size_t offset, struct entry *entry)
{
    if (offset >= section->bytes.size)
        return 1;
    struct sprof_reader reader = sprof_reader_of(section->bytes);
    sprof_reader_seek(&reader, offset);
    uint64_t length = sprof_reader_u32(&reader);
    const bool wide = length == 0xffffffff;
    if (wide)
        length = sprof_reader_u64(&reader);
    if (reader.failed || length > sprof_reader_left(&reader))
        return 1;
    entry->offset = offset;
    entry->next = sprof_reader_offset(&reader) + (size_t)length;
    if (!length)
        return SPROF_ENOTFOUND;
    reader.end = section->bytes.data + entry->next;
    entry->id_offset = sprof_reader_offset(&reader);
    entry->id = wide ? sprof_reader_u64(&reader) : sprof_reader_u32(&reader);
    const uint64_t debug_cie_id = wide ? UINT64_MAX : UINT32_MAX;
    entry->is_cie = entry->id == (section->is_debug_frame ? debug_cie_id : 0);
    entry->reader = reader;
    return reader.failed ? SPROF_EFORMAT : 0;
}

/* One letter of the augmentation. Returns false where it is not known. */
static bool cie_letter(struct cfi_section *section, struct cfi_cie *cie, char letter,
                       struct sprof_reader *data)
{
    uint8_t encoding;
    switch (letter) {
    case 'R': cie->pointer_encoding = sprof_reader_u8(data); return true;
    case 'L': cie->exception_encoding = sprof_reader_u8(data); return true;
    case 'S': cie->signal_frame = true; return true;
    case 'B': return true; /* aarch64's pointer authentication key */
    case 'P':
        encoding = sprof_reader_u8(data);
        if (encoding != CFI_PE_OMIT)
            unwind_cfi_pointer_read(data, encoding & (uint8_t)~CFI_PE_INDIRECT, &section->bases);
        return true;
    default: return false;
    }
}

/* Reads the augmentation. After a letter that is not known the data cannot be read further, but
 * 'z' says where the program begins all the same. */
static bool cie_augmentation(struct cfi_section *section, struct cfi_cie *cie, const char *letters,
                             struct sprof_reader *reader)
{
    if (*letters != 'z')
        return !*letters;
    const uint64_t length = sprof_reader_uleb(reader);
    struct sprof_reader data = *reader;
    if (!sprof_reader_take(reader, (size_t)length))
        return false;
    data.end = reader->next;
    cie->augmented = true;
    for (letters++; *letters; letters++)
        if (!cie_letter(section, cie, *letters, &data))
            break;
    return !data.failed;
}

static bool cie_read(struct cfi_section *section, struct entry *entry, struct cfi_cie *cie)
{
    struct sprof_reader *reader = &entry->reader;
    const uint8_t version = sprof_reader_u8(reader);
    const char *letters = sprof_reader_text(reader);
    if (reader->failed || (version != 1 && version != 3 && version != 4))
        return false;
    if (!strcmp(letters, "eh")) { /* gcc 2: a pointer, then the ordinary fields */
        sprof_reader_u64(reader);
        letters = "";
    }
    if (version == 4) {
        if (sprof_reader_u8(reader) != 8)
            return false;
        cie->segment_size = sprof_reader_u8(reader);
    }
    cie->code_align = sprof_reader_uleb(reader);
    cie->data_align = sprof_reader_sleb(reader);
    cie->return_register = version == 1 ? sprof_reader_u8(reader) : sprof_reader_uleb(reader);
    if (cie->code_align > CODE_ALIGN_MAX)
        return false;
    if (reader->failed || !cie_augmentation(section, cie, letters, reader))
        return false;
    const size_t left = sprof_reader_left(reader);
    cie->program = (struct sprof_bytes){sprof_reader_take(reader, left), left};
    return unwind_cfi_program_initial(section, cie) == 0;
}

/* A malformed CIE is remembered too, as not usable, so that it is read only once. */
static int cie_add(struct cfi_section *section, uint64_t offset, size_t *index)
{
    struct cfi_cie cie = {.exception_encoding = CFI_PE_OMIT};
    struct entry entry;
    cie.usable = !entry_open(section, (size_t)offset, &entry) && entry.is_cie &&
                 sprof_reader_left(&entry.reader) <= CIE_BYTES_MAX &&
                 cie_read(section, &entry, &cie);
    *index = section->cies.count;
    if (sprof_vec_push(&section->cies, cie) ||
        sprof_map_put(&section->cie_by_offset, offset, *index))
        return SPROF_ENOMEM;
    return 0;
}

static int cie_find(struct cfi_section *section, uint64_t offset, size_t *index)
{
    if (section->last_cie_offset == offset + 1) {
        *index = section->last_cie;
        return 0;
    }
    const uint64_t *known = sprof_map_get(&section->cie_by_offset, offset);
    const int code = known ? 0 : cie_add(section, offset, index);
    if (known)
        *index = (size_t)*known;
    section->last_cie_offset = offset + 1;
    section->last_cie = *index;
    return code;
}

/* Free Pascal writes CIE pointers of 8 bytes behind lengths of 4. The address after the first half
 * then seems to be a multiple of 4 GiB, where no function begins. */
static bool has_wide_cie_pointer(const struct cfi_section *section, struct sprof_reader reader)
{
    const uint64_t start = sprof_reader_u64(&reader);
    return section->is_debug_frame && start && !(uint32_t)start;
}

static int fde_read(struct cfi_section *section, struct entry *entry, struct cfi_fde *fde)
{
    const uint64_t cie_offset = section->is_debug_frame ? entry->id : entry->id_offset - entry->id;
    if (cie_offset >= section->bytes.size)
        return SPROF_EFORMAT;
    const int code = cie_find(section, cie_offset, &fde->cie);
    if (code)
        return code;
    const struct cfi_cie *cie = &section->cies.items[fde->cie];
    if (!cie->usable)
        return SPROF_EFORMAT;
    struct sprof_reader *reader = &entry->reader;
    fde->is_doubtful = has_wide_cie_pointer(section, *reader);
    if (fde->is_doubtful)
        sprof_reader_u32(reader);
    sprof_reader_take(reader, cie->segment_size);
    fde->start = unwind_cfi_pointer_read(reader, cie->pointer_encoding, &section->bases);
    /* The length has the form of the pointer, but counts from nowhere. */
    const uint64_t length =
        unwind_cfi_pointer_read(reader, cie->pointer_encoding & 0x0f, &section->bases);
    fde->exception_table = 0;
    if (cie->augmented) {
        const uint64_t size = sprof_reader_uleb(reader);
        struct sprof_reader data = *reader;
        const uint64_t here = section->bases.section + sprof_reader_offset(&data);
        if (size && cie->exception_encoding != CFI_PE_OMIT)
            fde->exception_table =
                unwind_cfi_pointer_read(&data, cie->exception_encoding, &section->bases);
        if (data.failed || fde->exception_table == here) /* 0, whatever it counts from */
            fde->exception_table = 0;
        sprof_reader_take(reader, (size_t)size);
    }
    if (reader->failed || length > UINT64_MAX - fde->start)
        return SPROF_EFORMAT;
    fde->end = fde->start + length;
    fde->offset = entry->offset;
    const size_t left = sprof_reader_left(reader);
    fde->program = (struct sprof_bytes){sprof_reader_take(reader, left), left};
    return length ? 0 : SPROF_ENOTFOUND;
}

int unwind_cfi_section_next(struct cfi_section *section, size_t *offset, struct cfi_fde *fde)
{
    struct entry entry;
    const int code = entry_open(section, *offset, &entry);
    if (code == 1)
        return 1;
    *offset = entry.next;
    if (code)
        return code;
    return entry.is_cie ? SPROF_ENOTFOUND : fde_read(section, &entry, fde);
}
