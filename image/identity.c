/* Who the file says it is: the dynamic section (gABI, "Dynamic Section") and the build id note. */
#include "image/elf_file.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SONAME = 4096 };

static void read_soname(struct image *image, uint64_t strings_vaddr, uint64_t name)
{
    uint64_t offset;
    char text[MAX_SONAME];
    if (!image_offset_of_vaddr(image, strings_vaddr, &offset) || offset + name < offset)
        return;
    const size_t got = image_read(image, offset + name, text, sizeof text);
    const size_t length = strnlen(text, got);
    if (length && length < got)
        image->soname = strdup(text);
}

void image_parse_dynamic(struct image *image)
{
    uint64_t size = image->dynamic.p_filesz;
    if (size > IMAGE_MAX_DYNAMIC)
        size = IMAGE_MAX_DYNAMIC;
    const struct sprof_bytes bytes = image_read_copy(image, image->dynamic.p_offset, size);
    uint64_t strings_vaddr = 0, soname = 0;
    bool has_soname = false;
    struct sprof_reader reader = sprof_reader_of(bytes);
    while (bytes.size && sprof_reader_left(&reader) >= sizeof(Elf64_Dyn)) {
        const uint64_t tag = sprof_reader_u64(&reader);
        const uint64_t value = sprof_reader_u64(&reader);
        if (tag == DT_NULL)
            break;
        if (tag == DT_STRTAB)
            strings_vaddr = value;
        if (tag == DT_FLAGS_1)
            image->flags_1 = value;
        if (tag == DT_SONAME) {
            soname = value;
            has_soname = true;
        }
    }
    free((void *)bytes.data);
    if (has_soname)
        read_soname(image, strings_vaddr, soname);
}

static size_t padded(size_t size, size_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

/* Looks for NT_GNU_BUILD_ID among notes (gABI, "Note Section"). */
static bool find_build_id(struct image *image, struct sprof_bytes notes, size_t alignment)
{
    if (!notes.size)
        return false;
    struct sprof_reader reader = sprof_reader_of(notes);
    for (;;) {
        const uint32_t name_size = sprof_reader_u32(&reader);
        const uint32_t size = sprof_reader_u32(&reader);
        const uint32_t type = sprof_reader_u32(&reader);
        const uint8_t *name = sprof_reader_take(&reader, padded(name_size, alignment));
        const uint8_t *description = sprof_reader_take(&reader, size);
        if (reader.failed)
            return false;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && !memcmp(name, "GNU", 4) && size &&
            size <= IMAGE_MAX_BUILD_ID) {
            memcpy(image->build_id, description, size);
            image->build_id_size = size;
            return true;
        }
        const size_t rest = padded(size, alignment) - size;
        sprof_reader_take(&reader, rest <= sprof_reader_left(&reader) ? rest : 0);
    }
}

static bool find_build_id_at(struct image *image, uint64_t offset, uint64_t size,
                             uint64_t alignment)
{
    const struct sprof_bytes notes =
        image_read_copy(image, offset, size < IMAGE_MAX_NOTES ? size : IMAGE_MAX_NOTES);
    const bool found = find_build_id(image, notes, alignment == 8 ? 8 : 4);
    free((void *)notes.data);
    return found;
}

void image_parse_build_id(struct image *image, const Elf64_Phdr *headers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == PT_NOTE &&
            find_build_id_at(image, headers[i].p_offset, headers[i].p_filesz, headers[i].p_align))
            return;
    const struct image_section_header *note = image_section_header(image, ".note.gnu.build-id");
    if (note && note->type == SHT_NOTE)
        find_build_id_at(image, note->offset, note->size, 4);
}
