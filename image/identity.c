/* Reads the identity of a file: the dynamic section (gABI, "Dynamic Section"), the build id note,
 * and a digest of the parts that decide where its functions lie. */
#include "image/elf_file.h"

#include <gelf.h>
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

static void read_dynamic(struct image *image)
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

/* Looks for NT_GNU_BUILD_ID among the notes of a segment or section (gABI, "Note Section"). */
static bool find_build_id(struct image *image, Elf *elf, uint64_t offset, uint64_t size,
                          uint64_t alignment)
{
    if (offset >= image->file_size)
        return false;
    if (size > image->file_size - offset)
        size = image->file_size - offset;
    if (size > IMAGE_MAX_NOTES)
        size = IMAGE_MAX_NOTES;
    Elf_Data *notes =
        elf_getdata_rawchunk(elf, (int64_t)offset, size, alignment == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr note;
    size_t next, name, description;
    for (size_t at = 0; notes && (next = gelf_getnote(notes, at, &note, &name, &description)) > 0;
         at = next) {
        const uint8_t *bytes = notes->d_buf;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            !memcmp(bytes + name, "GNU", 4) && note.n_descsz &&
            note.n_descsz <= IMAGE_MAX_BUILD_ID) {
            memcpy(image->build_id, bytes + description, note.n_descsz);
            image->build_id_size = note.n_descsz;
            return true;
        }
    }
    return false;
}

static void read_build_id(struct image *image)
{
    Elf *elf = image_libelf(image);
    bool found = false;
    for (size_t i = 0; elf && i < image->segments.count && !found; i++) {
        const Elf64_Phdr *header = &image->segments.items[i];
        found = header->p_type == PT_NOTE &&
                find_build_id(image, elf, header->p_offset, header->p_filesz, header->p_align);
    }
    const struct image_section_header *note = image_section_header(image, ".note.gnu.build-id");
    if (elf && !found && note && note->type == SHT_NOTE)
        find_build_id(image, elf, note->offset, note->size, 4);
    elf_end(elf);
}

/* == Digest == */

static void add_section_header(struct sprof_digest *digest,
                               const struct image_section_header *header)
{
    const uint64_t facts[] = {header->vaddr, header->offset, header->size, header->flags,
                              header->type};
    sprof_digest_add(digest, header->name, strlen(header->name));
    sprof_digest_add(digest, facts, sizeof facts);
}

/* What says where functions lie and how they are called. Returns false where nothing does. */
static bool add_tables(const struct image *image, struct sprof_digest *digest)
{
    enum { MOST_STARTS = 64 << 20, MOST_OTHER = 8 << 20 };
    static const char *const names[] = {".gopclntab", ".symtab", ".strtab", ".dynsym", ".dynstr"};
    bool any = image->has_eh_frame_hdr;
    if (any)
        image_digest_add(image, image->eh_frame_hdr.p_offset, image->eh_frame_hdr.p_filesz,
                         MOST_STARTS, 1, digest);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct image_section_header *header = image_section_header(image, names[i]);
        if (header && header->type != SHT_NOBITS) {
            image_digest_add(image, header->offset, header->size, MOST_OTHER, 1, digest);
            any = true;
        }
    }
    return any;
}

static void add_deciding_parts(const struct image *image, struct sprof_digest *digest)
{
    enum { MOST_NOTES = 64 * 1024, MOST_CODE = 8 << 20 };
    image_digest_add(image, 0, sizeof(Elf64_Ehdr), sizeof(Elf64_Ehdr), 1, digest);
    sprof_digest_add(digest, image->segments.items,
                     image->segments.count * sizeof *image->segments.items);
    for (size_t i = 0; i < image->sections.count; i++)
        add_section_header(digest, &image->sections.items[i]);
    for (size_t i = 0; i < image->segments.count; i++)
        if (image->segments.items[i].p_type == PT_NOTE)
            image_digest_add(image, image->segments.items[i].p_offset,
                             image->segments.items[i].p_filesz, MOST_NOTES, 1, digest);
    if (!add_tables(image, digest))
        for (size_t i = 0; i < image->text.count; i++)
            image_digest_add(image, image->text.items[i].offset, image->text.items[i].size,
                             MOST_CODE, 1, digest);
}

struct sprof_digest image_digest(struct image *image)
{
    enum { SMALL_FILE = 4 << 20 };
    if (image->has_digest)
        return image->digest;
    image->digest = (struct sprof_digest){0};
    sprof_digest_add_number(&image->digest, image->file_size);
    if (image->file_size <= SMALL_FILE)
        image_digest_add(image, 0, image->file_size, SMALL_FILE, 1, &image->digest);
    else
        add_deciding_parts(image, &image->digest);
    image->has_digest = true;
    return image->digest;
}

uint64_t image_key(struct image *image)
{
    return image->build_id_size ? sprof_hash_bytes(image->build_id, image->build_id_size)
                                : image_digest(image).low;
}

/* == Facts == */

void image_read_identity(struct image *image)
{
    read_dynamic(image);
    read_build_id(image);
}

struct sprof_bytes image_build_id(const struct image *image)
{
    return (struct sprof_bytes){image->build_id, image->build_id_size};
}

const char *image_soname(const struct image *image)
{
    return image->soname;
}

/* libc.so.6 has an interpreter, too, so that it can be run; unlike a program it has a soname. */
bool image_is_executable(const struct image *image)
{
    if (image->type == ET_EXEC)
        return true;
    return image->type == ET_DYN &&
           (image->flags_1 & DF_1_PIE || (image->has_interpreter && !image->soname));
}
