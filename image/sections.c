/* Bytes of sections. Plain ones are read from the file; compressed ones go through libelf. */
#include "image/elf_file.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

const struct image_section_header *image_section_header(const struct image *image, const char *name)
{
    for (size_t i = 0; i < image->sections.count; i++)
        if (!strcmp(image->sections.items[i].name, name))
            return &image->sections.items[i];
    return NULL;
}

/* The handle lives only as long as the copy takes: libelf would keep both forms otherwise. */
static struct sprof_bytes decompress(const struct image *image, size_t index)
{
    struct sprof_bytes copy = {0};
    Elf *elf = image_libelf(image);
    Elf_Scn *section = elf ? elf_getscn(elf, index) : NULL;
    GElf_Chdr header;
    Elf_Data *data = NULL;
    if (section && gelf_getchdr(section, &header) && header.ch_size <= IMAGE_MAX_CONTENT &&
        elf_compress(section, 0, 0) >= 0)
        data = elf_getdata(section, NULL);
    uint8_t *bytes = data && data->d_buf && data->d_size ? malloc(data->d_size + 1) : NULL;
    if (bytes) {
        memcpy(bytes, data->d_buf, data->d_size);
        bytes[data->d_size] = 0;
        copy = (struct sprof_bytes){bytes, data->d_size};
    }
    elf_end(elf);
    return copy;
}

uint32_t image_compression(const struct image *image, const char *name)
{
    const struct image_section_header *section = image_section_header(image, name);
    Elf64_Chdr header;
    if (!section || !(section->flags & SHF_COMPRESSED) ||
        image_read(image, section->offset, &header, sizeof header) != sizeof header)
        return 0;
    return header.ch_type;
}

static struct sprof_bytes read_section(const struct image *image,
                                       const struct image_section_header *section)
{
    if (section->type == SHT_NOBITS || section->type == SHT_NULL)
        return (struct sprof_bytes){0};
    if (section->flags & SHF_COMPRESSED)
        return decompress(image, (size_t)(section - image->sections.items));
    return image_read_copy(image, section->offset, section->size);
}

/* Where a PT_GNU_EH_FRAME says .eh_frame begins (LSB Core, "Exception Frame Header"): only the
 * encodings that linkers write, which are relative to the field, to the header, or absolute. */
static bool eh_frame_vaddr(const struct image *image, uint64_t *vaddr)
{
    enum {
        VERSION = 1,
        FORM = 0x0f,
        BASE = 0x70,
        UDATA4 = 0x03,
        SDATA4 = 0x0b,
        UDATA8 = 0x04,
        SDATA8 = 0x0c,
        PCREL = 0x10,
        DATAREL = 0x30
    };
    uint8_t header[12];
    const Elf64_Phdr *segment = &image->eh_frame_hdr;
    if (image_read(image, segment->p_offset, header, sizeof header) != sizeof header ||
        header[0] != VERSION)
        return false;
    const uint8_t form = header[1] & FORM, base = header[1] & BASE;
    int32_t narrow;
    uint64_t value;
    memcpy(&narrow, header + 4, sizeof narrow);
    memcpy(&value, header + 4, sizeof value);
    if (form == SDATA4)
        value = (uint64_t)(int64_t)narrow;
    else if (form == UDATA4)
        value = (uint32_t)narrow;
    else if (form != UDATA8 && form != SDATA8)
        return false;
    *vaddr = value + (base == PCREL     ? segment->p_vaddr + 4
                      : base == DATAREL ? segment->p_vaddr
                                        : 0);
    return true;
}

/* Without section headers its size is unknown: it goes on to the end of its segment at most, and
 * its zero terminator says where it ends. */
static struct sprof_bytes eh_frame_of_segment(const struct image *image, uint64_t *vaddr)
{
    if (eh_frame_vaddr(image, vaddr))
        for (size_t i = 0; i < image->loads.count; i++) {
            const Elf64_Phdr *load = &image->loads.items[i];
            const uint64_t inside = *vaddr - load->p_vaddr;
            if (*vaddr >= load->p_vaddr && inside < load->p_filesz)
                return image_read_copy(image, load->p_offset + inside, load->p_filesz - inside);
        }
    return (struct sprof_bytes){0};
}

static struct image_loaded load(const struct image *image, const char *name)
{
    const struct image_section_header *section = image_section_header(image, name);
    if (section)
        return (struct image_loaded){section->name, read_section(image, section), section->vaddr};
    struct image_loaded loaded = {0};
    if (image->has_eh_frame_hdr && !strcmp(name, ".eh_frame_hdr")) {
        loaded.name = ".eh_frame_hdr";
        loaded.vaddr = image->eh_frame_hdr.p_vaddr;
        loaded.bytes =
            image_read_copy(image, image->eh_frame_hdr.p_offset, image->eh_frame_hdr.p_filesz);
    } else if (image->has_eh_frame_hdr && !strcmp(name, ".eh_frame")) {
        loaded.name = ".eh_frame";
        loaded.bytes = eh_frame_of_segment(image, &loaded.vaddr);
    }
    return loaded;
}

struct sprof_bytes image_section(struct image *image, const char *name, uint64_t *vaddr)
{
    struct image_loaded loaded = {0};
    for (size_t i = 0; i < image->loaded.count && !loaded.name; i++)
        if (!strcmp(image->loaded.items[i].name, name))
            loaded = image->loaded.items[i];
    if (!loaded.name) {
        loaded = load(image, name);
        if (loaded.bytes.size && sprof_vec_push(&image->loaded, loaded)) {
            free((void *)loaded.bytes.data);
            loaded = (struct image_loaded){0};
        }
    }
    if (vaddr)
        *vaddr = loaded.bytes.size ? loaded.vaddr : 0;
    return loaded.bytes;
}

bool image_extent_of(const struct image *image, const struct image_section_header *section,
                     struct image_extent *extent)
{
    if (section->type == SHT_NOBITS || section->type == SHT_NULL ||
        section->flags & SHF_COMPRESSED || !section->size || section->size > IMAGE_MAX_CONTENT ||
        section->offset > image->file_size || section->size > image->file_size - section->offset)
        return false;
    *extent = (struct image_extent){section->vaddr, section->offset, section->size};
    return true;
}

bool image_section_extent(const struct image *image, const char *name, struct image_extent *extent)
{
    const struct image_section_header *section = image_section_header(image, name);
    return section && image_extent_of(image, section, extent);
}

/* Only the head of each is read: libelf reads the whole section for it. */
struct image_packing image_packing(const struct image *image)
{
    struct image_packing sum = {0};
    for (size_t i = 0; i < image->sections.count; i++) {
        const struct image_section_header *section = &image->sections.items[i];
        Elf64_Chdr claim;
        if (!(section->flags & SHF_COMPRESSED) || section->size < sizeof claim ||
            image_read(image, section->offset, &claim, sizeof claim) != sizeof claim)
            continue;
        sum.packed += section->size;
        sum.unpacked =
            claim.ch_size < UINT64_MAX - sum.unpacked ? sum.unpacked + claim.ch_size : UINT64_MAX;
    }
    return sum;
}

bool image_has_section(const struct image *image, const char *name)
{
    const struct image_section_header *section = image_section_header(image, name);
    if (section)
        return section->type != SHT_NOBITS && section->type != SHT_NULL && section->size;
    return image->has_eh_frame_hdr &&
           (!strcmp(name, ".eh_frame_hdr") || !strcmp(name, ".eh_frame"));
}

void image_drop_sections(struct image *image)
{
    for (size_t i = 0; i < image->loaded.count; i++)
        free((void *)image->loaded.items[i].bytes.data);
    image->loaded.count = 0;
}
