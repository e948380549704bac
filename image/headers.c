/* Reads the headers of an ELF file (System V ABI, chapters 4 and 5) through libelf, once. */
#include "arch/arch.h"
#include "image/elf_file.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

Elf *image_libelf(const struct image *image)
{
    elf_version(EV_CURRENT);
    if (image->fd >= 0)
        return elf_begin(image->fd, ELF_C_READ, NULL);
    return elf_memory((char *)image->memory.data, image->memory.size);
}

static int damaged(const struct image *image, const char *what, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is a damaged ELF file: %s", image->path,
                           what);
}

/* The identification decides before libelf looks at anything else. */
static int check_identification(const struct image *image, struct sprof_error *error)
{
    unsigned char ident[EI_NIDENT] = {0};
    if (image_read(image, 0, ident, sizeof ident) != sizeof ident ||
        memcmp(ident, ELFMAG, SELFMAG) != 0)
        return sprof_error_set(error, SPROF_EFORMAT, 0, "%s is not an ELF file", image->path);
    if (ident[EI_CLASS] == ELFCLASS32)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s is a 32-bit ELF file; sprof reads 64-bit ones", image->path);
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s is an ELF file of another machine (not 64-bit little endian)",
                               image->path);
    return 0;
}

static bool is_executable_load(const Elf64_Phdr *header)
{
    return header->p_type == PT_LOAD && header->p_flags & PF_X;
}

/* A segment that wraps around the address space or the file is left out. */
static bool is_sane(const Elf64_Phdr *header)
{
    return header->p_vaddr + header->p_filesz >= header->p_vaddr &&
           header->p_offset + header->p_filesz >= header->p_offset;
}

static int add_loads(struct image *image, const Elf64_Phdr *headers, size_t count, bool executable)
{
    for (size_t i = 0; i < count; i++) {
        const Elf64_Phdr *header = &headers[i];
        if (header->p_type != PT_LOAD || is_executable_load(header) != executable ||
            !header->p_filesz || !is_sane(header))
            continue;
        if (sprof_vec_push(&image->loads, *header))
            return SPROF_ENOMEM;
        const struct image_segment text = {header->p_vaddr, header->p_offset, header->p_filesz};
        if (executable && sprof_vec_push(&image->text, text))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int by_vaddr(const void *left, const void *right)
{
    const struct image_segment *a = left, *b = right;
    return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

static int use_segments(struct image *image)
{
    const Elf64_Phdr *headers = image->segments.items;
    const size_t count = image->segments.count;
    if (add_loads(image, headers, count, true) || add_loads(image, headers, count, false))
        return SPROF_ENOMEM;
    if (image->text.count)
        qsort(image->text.items, image->text.count, sizeof *image->text.items, by_vaddr);
    for (size_t i = 0; i < count; i++) {
        if (headers[i].p_type == PT_INTERP)
            image->has_interpreter = true;
        if (headers[i].p_type == PT_DYNAMIC)
            image->dynamic = headers[i];
        if (headers[i].p_type == PT_GNU_EH_FRAME && is_sane(&headers[i])) {
            image->eh_frame_hdr = headers[i];
            image->has_eh_frame_hdr = true;
        }
    }
    return 0;
}

static int parse_segments(struct image *image, Elf *elf, struct sprof_error *error)
{
    size_t count = 0;
    if (elf_getphdrnum(elf, &count) != 0)
        return damaged(image, "its program headers lie outside the file", error);
    if (count > IMAGE_MAX_SEGMENTS)
        return damaged(image, "it claims too many program headers", error);
    if (sprof_vec_reserve(&image->segments, count + 1))
        return sprof_error_memory(error);
    for (size_t i = 0; i < count; i++)
        if (!gelf_getphdr(elf, (int)i, &image->segments.items[image->segments.count++]))
            return damaged(image, "its program headers cannot be read", error);
    return use_segments(image) ? sprof_error_memory(error) : 0;
}

static int add_section(struct image *image, const GElf_Shdr *header, const char *name)
{
    struct image_section_header section = {
        .name = strdup(name ? name : ""),
        .vaddr = header->sh_addr,
        .offset = header->sh_offset,
        .size = header->sh_size,
        .flags = header->sh_flags,
        .type = header->sh_type,
        .link = header->sh_link,
    };
    if (!section.name || sprof_vec_push(&image->sections, section)) {
        free(section.name);
        return SPROF_ENOMEM;
    }
    return 0;
}

/* Sections keep their index. A table that breaks off is used as far as it goes: what is needed to
 * unwind can be found without it. */
static int parse_sections(struct image *image, Elf *elf)
{
    size_t count = 0, names = 0;
    if (elf_getshdrnum(elf, &count) != 0 || elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    for (size_t i = 0; i < count && i < IMAGE_MAX_SECTIONS; i++) {
        Elf_Scn *section = elf_getscn(elf, i);
        GElf_Shdr header;
        if (!section || !gelf_getshdr(section, &header))
            return 0;
        if (add_section(image, &header, elf_strptr(elf, names, header.sh_name)))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int parse_with(struct image *image, Elf *elf, struct sprof_error *error)
{
    GElf_Ehdr header;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        return damaged(image, "its header cannot be read", error);
    if (header.e_phnum && header.e_phentsize != sizeof(Elf64_Phdr))
        return damaged(image, "its program headers have an unknown size", error);
    if (header.e_machine != ARCH_ELF_MACHINE)
        return sprof_error_set(error, SPROF_EUNSUPPORTED, 0,
                               "%s is an ELF file of another machine (number %u; sprof was built "
                               "for %u)",
                               image->path, header.e_machine, ARCH_ELF_MACHINE);
    image->entry = header.e_entry;
    image->type = header.e_type;
    if (parse_sections(image, elf))
        return sprof_error_memory(error);
    return parse_segments(image, elf, error);
}

int image_read_headers(struct image *image, struct sprof_error *error)
{
    int code = check_identification(image, error);
    if (code)
        return code;
    Elf *elf = image_libelf(image);
    code = parse_with(image, elf, error);
    elf_end(elf);
    return code;
}
