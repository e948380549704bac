/* Reads where .eh_frame begins from .eh_frame_hdr. */
#include "unwind/cfi.h"

int unwind_eh_frame_hdr_read(struct sprof_bytes bytes, uint64_t vaddr, uint64_t *eh_frame_vaddr)
{
    struct sprof_reader reader = sprof_reader_of(bytes);
    const uint8_t version = sprof_reader_u8(&reader);
    const uint8_t pointer_encoding = sprof_reader_u8(&reader);
    sprof_reader_u16(&reader); /* encodings of the search table, which are not needed here */
    if (reader.failed || version != 1 || pointer_encoding == CFI_PE_OMIT)
        return SPROF_EFORMAT;
    const struct cfi_bases bases = {.section = vaddr, .data = vaddr};
    *eh_frame_vaddr = unwind_cfi_pointer_read(&reader, pointer_encoding, &bases);
    return reader.failed ? SPROF_EFORMAT : 0;
}
