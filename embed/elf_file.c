/* Adds a loaded segment to an ELF file. */
#include "embed/elf_file.h"

#include "arch/arch.h"
#include "base/compat.h"
#include "base/file.h"
#include "base/place_write.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    MOVED_ALIGN = 64, /* what moves keeps its alignment up to this */
    SECTION_ALIGN = 64,
    SECTIONS_MAX = 8, /* that are added */
};
#define BYTES_MAX (UINT64_C(4) << 30)

static uint64_t align_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static Elf64_Ehdr *header_of(const struct elf_file *file)
{
    return (void *)file->bytes;
}

static Elf64_Phdr *segments_of(const struct elf_file *file)
{
    return (void *)(file->bytes + header_of(file)->e_phoff);
}

static Elf64_Shdr *sections_of(const struct elf_file *file)
{
    return (void *)(file->bytes + header_of(file)->e_shoff);
}

/* == Reading == */

static bool fits(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    return offset <= file->size && size <= file->size - offset;
}

static int unfit(const struct elf_file *file, const char *why, struct sprof_error *error)
{
    return sprof_error_set(error, SPROF_EUNSUPPORTED, 0, "cannot embed probes into %s: it %s",
                           file->path, why);
}

/* Every number that is used later: tables lie in the file, and so does what they speak of. */
static int check(const struct elf_file *file, struct sprof_error *error)
{
    const Elf64_Ehdr *header = header_of(file);
    if (file->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return unfit(file, "is no ELF file", error);
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != ARCH_ELF_MACHINE)
        return unfit(file, "is of another processor or word size than sprof", error);
    if (header->e_type != ET_EXEC && header->e_type != ET_DYN)
        return unfit(file, "is neither a program nor a shared library: link it first", error);
    if (!header->e_shnum || header->e_shnum >= SHN_LORESERVE - SECTIONS_MAX ||
        header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shstrndx >= header->e_shnum ||
        header->e_shoff % 8 || !fits(file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr)))
        return unfit(file, "has no section headers: embed before they are stripped", error);
    if (header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum >= PN_XNUM - 1 ||
        header->e_phoff % 8 || !fits(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr)))
        return unfit(file, "has no program headers", error);
    for (size_t i = 0; i < header->e_phnum; i++)
        if (!fits(file, segments_of(file)[i].p_offset, segments_of(file)[i].p_filesz))
            return unfit(file, "is cut off", error);
    for (size_t i = 0; i < header->e_shnum; i++)
        if (sections_of(file)[i].sh_type != SHT_NOBITS &&
            !fits(file, sections_of(file)[i].sh_offset, sections_of(file)[i].sh_size))
            return unfit(file, "is cut off", error);
    return 0;
}

static const char *name_of(const struct elf_file *file, const Elf64_Shdr *section)
{
    const Elf64_Shdr *names = &sections_of(file)[header_of(file)->e_shstrndx];
    const char *all = (const char *)file->bytes + names->sh_offset;
    return names->sh_type != SHT_NOBITS && section->sh_name < names->sh_size &&
                   memchr(all + section->sh_name, '\0', names->sh_size - section->sh_name)
               ? all + section->sh_name
               : "";
}

/* == The loader's table == */

static const Elf64_Phdr *find_segment(const struct elf_file *file, uint32_t type)
{
    for (size_t i = 0; i < header_of(file)->e_phnum; i++)
        if (segments_of(file)[i].p_type == type)
            return &segments_of(file)[i];
    return NULL;
}

static size_t dynamic_of(const struct elf_file *file, Elf64_Dyn **entries)
{
    const Elf64_Phdr *segment = find_segment(file, PT_DYNAMIC);
    if (!segment || segment->p_offset % 8)
        return 0;
    *entries = (void *)(file->bytes + segment->p_offset);
    return segment->p_filesz / sizeof **entries;
}

static int check_dynamic(struct elf_file *file, struct sprof_error *error)
{
    Elf64_Dyn *entries = NULL;
    const size_t count = dynamic_of(file, &entries);
    bool is_program = find_segment(file, PT_INTERP) != NULL;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        const uint64_t flags = entries[i].d_un.d_val;
        if (entries[i].d_tag == DT_TEXTREL || (entries[i].d_tag == DT_FLAGS && flags & DF_TEXTREL))
            return unfit(file, "has code that the loader changes (DT_TEXTREL): build it with -fPIC",
                         error);
        if (entries[i].d_tag == DT_FLAGS_1 && flags & DF_1_PIE && !is_program)
            return unfit(file, "is linked statically: no loader puts the tracing agent into it",
                         error);
    }
    file->is_library = !is_program;
    file->is_fixed = header_of(file)->e_type == ET_EXEC;
    return count ? 0
                 : unfit(file, "is linked statically: no loader puts the tracing agent into it",
                         error);
}

/* == Room for a program header == */

/* Whether a section may stand elsewhere: only tables that are known here hold its address. */
static bool is_movable(const struct elf_file *file, const Elf64_Shdr *section)
{
    return section->sh_type == SHT_NOTE || section->sh_type == SHT_HASH ||
           section->sh_type == SHT_GNU_HASH || section->sh_type == SHT_DYNSYM ||
           section->sh_type == SHT_GNU_versym || !strcmp(name_of(file, section), ".interp");
}

static bool overlaps(uint64_t offset, uint64_t size, uint64_t begin, uint64_t end)
{
    return size && offset < end && offset + size > begin;
}

static bool is_in_file(const Elf64_Shdr *section)
{
    return section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS;
}

/* Notes that have a header in common stay together. */
static bool extend(struct elf_file *file)
{
    const uint64_t begin = file->moved, end = file->moved_end;
    for (size_t i = 0; i < header_of(file)->e_shnum; i++) {
        const Elf64_Shdr *section = &sections_of(file)[i];
        if (!is_in_file(section) ||
            !overlaps(section->sh_offset, section->sh_size, file->moved, file->moved_end))
            continue;
        file->moved = section->sh_offset < file->moved ? section->sh_offset : file->moved;
        const uint64_t last = section->sh_offset + section->sh_size;
        file->moved_end = last > file->moved_end ? last : file->moved_end;
    }
    for (size_t i = 0; i < header_of(file)->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments_of(file)[i];
        if ((segment->p_type != PT_NOTE && segment->p_type != PT_INTERP &&
             segment->p_type != PT_GNU_PROPERTY) ||
            !overlaps(segment->p_offset, segment->p_filesz, file->moved, file->moved_end))
            continue;
        const uint64_t last = segment->p_offset + segment->p_filesz;
        file->moved = segment->p_offset < file->moved ? segment->p_offset : file->moved;
        file->moved_end = last > file->moved_end ? last : file->moved_end;
    }
    return file->moved != begin || file->moved_end != end;
}

static int make_room(struct elf_file *file, struct sprof_error *error)
{
    const Elf64_Ehdr *header = header_of(file);
    const uint64_t table_end = header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr);
    const Elf64_Phdr *first = NULL;
    for (size_t i = 0; i < header->e_phnum && !first; i++)
        if (segments_of(file)[i].p_type == PT_LOAD && !segments_of(file)[i].p_offset)
            first = &segments_of(file)[i];
    file->moved = table_end;
    file->moved_end = table_end + sizeof(Elf64_Phdr);
    while (extend(file))
        ;
    bool movable = first && file->moved == table_end && file->moved_end <= first->p_filesz;
    for (size_t i = 0; i < header->e_shnum && movable; i++) {
        const Elf64_Shdr *section = &sections_of(file)[i];
        if (is_in_file(section) &&
            overlaps(section->sh_offset, section->sh_size, file->moved, file->moved_end))
            movable = is_movable(file, section);
    }
    if (!movable)
        return unfit(file,
                     "has no room for one more program header: link it with GNU ld, or leave its "
                     "build id in",
                     error);
    file->moved_vaddr = first->p_vaddr + file->moved;
    return 0;
}

static void find_end(struct elf_file *file)
{
    uint64_t end = 0;
    for (size_t i = 0; i < header_of(file)->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments_of(file)[i];
        if (segment->p_type == PT_LOAD && segment->p_vaddr + segment->p_memsz > end)
            end = segment->p_vaddr + segment->p_memsz;
    }
    file->vaddr = align_up(end, PAGE);
    file->offset = align_up(file->size, PAGE);
    file->moved_to = file->vaddr + file->moved_vaddr % MOVED_ALIGN;
    file->code = align_up(file->moved_to + (file->moved_end - file->moved), SECTION_ALIGN);
}

static bool has_shadow_stack(const struct elf_file *file);

static int read_bytes(struct elf_file *file, struct sprof_error *error)
{
    struct stat status;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* what is no file, too */
    if (fd < 0 || fstat(fd, &status)) {
        const int saved = errno;
        if (fd >= 0)
            close(fd);
        return sprof_error_set(error, saved == ENOENT ? SPROF_ENOTFOUND : SPROF_EIO, saved,
                               "cannot read %s: %s", file->path, strerror(saved));
    }
    int result = 0;
    if (!S_ISREG(status.st_mode))
        result = unfit(file, "is no regular file", error);
    else if ((uint64_t)status.st_size > BYTES_MAX)
        result = unfit(file, "has more than 4 GiB", error);
    else if (status.st_mode & (S_ISUID | S_ISGID))
        result = unfit(file,
                       "runs with other rights than its user's: the loader keeps the tracing agent "
                       "out",
                       error);
    file->mode = status.st_mode & 0777;
    if (!result) {
        file->bytes = calloc(1, (size_t)status.st_size + sizeof(Elf64_Ehdr));
        file->size = (size_t)status.st_size;
        if (!file->bytes)
            result = sprof_error_memory(error);
        else if (sprof_file_read(fd, 0, file->bytes, file->size) != file->size)
            result = sprof_error_set(error, SPROF_EIO, errno, "cannot read all of %s", file->path);
    }
    close(fd);
    return result;
}

int embed_elf_read(struct elf_file *file, const char *path, struct sprof_error *error)
{
    *file = (struct elf_file){.path = path};
    int result = read_bytes(file, error);
    if (!result)
        result = check(file, error);
    if (!result)
        result = check_dynamic(file, error);
    if (!result)
        result = make_room(file, error);
    if (!result)
        find_end(file);
    if (!result)
        file->has_shadow_stack = has_shadow_stack(file);
    return result;
}

void embed_elf_release(struct elf_file *file)
{
    free(file->bytes);
    *file = (struct elf_file){0};
}

uint8_t *embed_elf_at(struct elf_file *file, uint64_t vaddr, uint64_t size)
{
    for (size_t i = 0; i < header_of(file)->e_phnum; i++) {
        const Elf64_Phdr *segment = &segments_of(file)[i];
        if (segment->p_type == PT_LOAD && vaddr >= segment->p_vaddr &&
            vaddr - segment->p_vaddr < segment->p_filesz &&
            size <= segment->p_filesz - (vaddr - segment->p_vaddr))
            return file->bytes + segment->p_offset + (vaddr - segment->p_vaddr);
    }
    return NULL;
}

static const Elf64_Shdr *find_section(const struct elf_file *file, const char *name)
{
    for (size_t i = 0; i < header_of(file)->e_shnum; i++)
        if (!strcmp(name_of(file, &sections_of(file)[i]), name))
            return &sections_of(file)[i];
    return NULL;
}

struct sprof_bytes embed_elf_section(const struct elf_file *file, const char *name, uint64_t *vaddr)
{
    const Elf64_Shdr *section = find_section(file, name);
    if (!section || section->sh_type == SHT_NOBITS || section->sh_flags & SHF_COMPRESSED)
        return (struct sprof_bytes){0};
    *vaddr = section->sh_addr;
    return (struct sprof_bytes){file->bytes + section->sh_offset, section->sh_size};
}

/* Linux Extensions to gABI, "Program Property". */
static bool has_shadow_stack(const struct elf_file *file)
{
    enum { NAME_BYTES = 4, ALIGN = 8 };
    uint64_t vaddr;
    struct sprof_reader reader =
        sprof_reader_of(embed_elf_section(file, ".note.gnu.property", &vaddr));
    const uint32_t name = sprof_reader_u32(&reader);
    sprof_reader_u32(&reader);
    if (sprof_reader_u32(&reader) != NT_GNU_PROPERTY_TYPE_0 || name != NAME_BYTES)
        return false;
    sprof_reader_u32(&reader);
    while (!reader.failed && sprof_reader_left(&reader)) {
        const uint32_t type = sprof_reader_u32(&reader), size = sprof_reader_u32(&reader);
        struct sprof_reader data = reader;
        if (type == ARCH_PROPERTY_FEATURES && size == sizeof(uint32_t))
            return sprof_reader_u32(&data) & ARCH_FEATURE_SHADOW_STACK;
        sprof_reader_take(&reader, (size_t)align_up(size, ALIGN));
    }
    return false;
}

/* == Writing == */

struct writing {
    struct elf_file *file;
    const struct elf_section *sections;
    size_t count;
    uint8_t *out;
    uint64_t size;
    uint64_t end;   /* of the segment, vaddr */
    uint64_t names; /* offset of the section names */
    uint64_t names_size, old_names_size;
    uint64_t headers; /* offset of the section headers */
};

void embed_elf_place(const struct elf_file *file, struct elf_section *sections, size_t count)
{
    uint64_t vaddr = file->code;
    for (size_t i = 0; i < count; i++) {
        sections[i].vaddr = vaddr;
        vaddr = align_up(vaddr + sections[i].bytes.size, SECTION_ALIGN);
    }
}

static uint64_t offset_of(const struct elf_file *file, uint64_t vaddr)
{
    return file->offset + (vaddr - file->vaddr);
}

static bool is_moved(const struct elf_file *file, uint64_t offset)
{
    return offset >= file->moved && offset < file->moved_end;
}

/* What the loader finds by address. */
static void move_dynamic(struct elf_file *file)
{
    static const int64_t tags[] = {DT_HASH, DT_GNU_HASH, DT_SYMTAB, DT_VERSYM};
    const uint64_t size = file->moved_end - file->moved;
    Elf64_Dyn *entries = NULL;
    const size_t count = dynamic_of(file, &entries);
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++)
        for (size_t tag = 0; tag < sizeof tags / sizeof *tags; tag++)
            if (entries[i].d_tag == tags[tag] && entries[i].d_un.d_ptr >= file->moved_vaddr &&
                entries[i].d_un.d_ptr - file->moved_vaddr < size)
                entries[i].d_un.d_ptr += file->moved_to - file->moved_vaddr;
}

static void move_symbols_of(struct elf_file *file, const Elf64_Shdr *table)
{
    const Elf64_Ehdr *header = header_of(file);
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table->sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        uint8_t *place = file->bytes + table->sh_offset + at;
        memcpy(&symbol, place, sizeof symbol);
        if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= header->e_shnum)
            continue;
        const Elf64_Shdr *section = &sections_of(file)[symbol.st_shndx];
        if (is_in_file(section) && section->sh_size && is_moved(file, section->sh_offset)) {
            symbol.st_value += file->moved_to - file->moved_vaddr;
            memcpy(place, &symbol, sizeof symbol);
        }
    }
}

static void move_symbols(struct elf_file *file)
{
    for (size_t i = 0; i < header_of(file)->e_shnum; i++) {
        const Elf64_Shdr *table = &sections_of(file)[i];
        if (table->sh_type == SHT_SYMTAB || table->sh_type == SHT_DYNSYM)
            move_symbols_of(file, table);
    }
}

/* What unwinders look for is where the new section is. */
static void move_eh_frame_hdr(const struct writing *writing, Elf64_Phdr *segment)
{
    for (size_t i = 0; i < writing->count; i++) {
        const struct elf_section *section = &writing->sections[i];
        if (!section->bytes.size || strcmp(section->name, ".eh_frame_hdr") != 0)
            continue;
        segment->p_offset = offset_of(writing->file, section->vaddr);
        segment->p_vaddr = segment->p_paddr = section->vaddr;
        segment->p_filesz = segment->p_memsz = section->bytes.size;
    }
}

/* The new one is the last of those that are loaded, as its addresses are. */
static void write_segments(const struct writing *writing)
{
    const struct elf_file *file = writing->file;
    Elf64_Ehdr *header = (void *)writing->out;
    Elf64_Phdr *segments = (void *)(writing->out + header->e_phoff);
    const uint64_t shift = file->moved_to - file->moved_vaddr;
    size_t last = 0;
    memcpy(segments, segments_of(file), header->e_phnum * sizeof *segments);
    for (size_t i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr *segment = &segments[i];
        last = segment->p_type == PT_LOAD ? i : last;
        if (segment->p_type == PT_GNU_EH_FRAME)
            move_eh_frame_hdr(writing, segment);
        if (segment->p_type == PT_PHDR) {
            segment->p_filesz += sizeof *segment;
            segment->p_memsz += sizeof *segment;
        }
        if ((segment->p_type == PT_NOTE || segment->p_type == PT_INTERP ||
             segment->p_type == PT_GNU_PROPERTY) &&
            segment->p_filesz && is_moved(file, segment->p_offset)) {
            segment->p_offset = offset_of(file, segment->p_vaddr + shift);
            segment->p_vaddr += shift;
            segment->p_paddr += shift;
        }
    }
    memmove(&segments[last + 2], &segments[last + 1],
            (header->e_phnum - last - 1) * sizeof *segments);
    const uint64_t size = writing->end - file->vaddr;
    segments[last + 1] = (Elf64_Phdr){.p_type = PT_LOAD,
                                      .p_flags = PF_R | PF_X,
                                      .p_offset = file->offset,
                                      .p_vaddr = file->vaddr,
                                      .p_paddr = file->vaddr,
                                      .p_filesz = size,
                                      .p_memsz = size,
                                      .p_align = PAGE};
    header->e_phnum++;
}

/* Appends a name, and returns where it stands among the names. */
static uint32_t put_name(const struct writing *writing, uint64_t *used, const char *name)
{
    const uint64_t at = *used;
    strcpy((char *)writing->out + writing->names + at, name);
    *used += strlen(name) + 1;
    return (uint32_t)at;
}

static void write_section(const struct writing *writing, const struct elf_section *section,
                          uint64_t *names_used)
{
    const struct elf_file *file = writing->file;
    Elf64_Ehdr *header = (void *)writing->out;
    Elf64_Shdr *sections = (void *)(writing->out + writing->headers);
    const Elf64_Shdr *own = section->former ? find_section(file, section->name) : NULL;
    if (own)
        sections[own - sections_of(file)].sh_name = put_name(writing, names_used, section->former);
    sections[header->e_shnum++] =
        (Elf64_Shdr){.sh_name = put_name(writing, names_used, section->name),
                     .sh_type = own ? own->sh_type : SHT_PROGBITS,
                     .sh_flags = SHF_ALLOC | (section->is_code ? SHF_EXECINSTR : 0),
                     .sh_addr = section->vaddr,
                     .sh_offset = offset_of(file, section->vaddr),
                     .sh_size = section->bytes.size,
                     .sh_addralign = section->is_code ? SECTION_ALIGN : 8};
    memcpy(writing->out + offset_of(file, section->vaddr), section->bytes.data,
           section->bytes.size);
}

static void write_sections(const struct writing *writing)
{
    const struct elf_file *file = writing->file;
    Elf64_Ehdr *header = (void *)writing->out;
    Elf64_Shdr *sections = (void *)(writing->out + writing->headers);
    const uint64_t shift = file->moved_to - file->moved_vaddr;
    memcpy(sections, sections_of(file), header->e_shnum * sizeof *sections);
    for (size_t i = 0; i < header->e_shnum; i++) {
        if (!is_in_file(&sections[i]) || !sections[i].sh_size ||
            !is_moved(file, sections[i].sh_offset))
            continue;
        sections[i].sh_addr += shift;
        sections[i].sh_offset = offset_of(file, sections[i].sh_addr);
    }
    const Elf64_Shdr *old = &sections_of(file)[header->e_shstrndx];
    memcpy(writing->out + writing->names, file->bytes + old->sh_offset, writing->old_names_size);
    sections[header->e_shstrndx].sh_offset = writing->names;
    sections[header->e_shstrndx].sh_size = writing->names_size;
    uint64_t names_used = writing->old_names_size;
    for (size_t i = 0; i < writing->count; i++)
        if (writing->sections[i].bytes.size)
            write_section(writing, &writing->sections[i], &names_used);
    header->e_shoff = writing->headers;
}

static int put(const struct writing *writing, const char *output, struct sprof_error *error)
{
    struct sprof_place place;
    int result = sprof_place_find(&place, output);
    if (result == -ELOOP)
        return sprof_place_refuse_link(&place, output, SPROF_EPERMISSION, error);
    if (!result)
        result = sprof_place_write(&place, writing->out, writing->size, writing->file->mode);
    sprof_place_close(&place);
    return result ? sprof_error_set(error, SPROF_EIO, -result, "cannot write %s: %s", output,
                                    strerror(-result))
                  : 0;
}

/* Where everything is, from the end of the segment on. */
static void lay_out(struct writing *writing)
{
    const struct elf_file *file = writing->file;
    const Elf64_Ehdr *header = header_of(file);
    size_t added = 0;
    writing->old_names_size = sections_of(file)[header->e_shstrndx].sh_size;
    writing->names_size = writing->old_names_size;
    for (size_t i = 0; i < writing->count; i++) {
        const struct elf_section *section = &writing->sections[i];
        if (!section->bytes.size)
            continue;
        added++;
        writing->end = section->vaddr + section->bytes.size;
        writing->names_size += strlen(section->name) + 1;
        if (section->former && find_section(file, section->name))
            writing->names_size += strlen(section->former) + 1;
    }
    writing->names = offset_of(file, writing->end);
    writing->headers = align_up(writing->names + writing->names_size, 8);
    writing->size = writing->headers + (header->e_shnum + added) * sizeof(Elf64_Shdr);
}

int embed_elf_write(struct elf_file *file, const char *output, const struct elf_section *sections,
                    size_t count, struct sprof_error *error)
{
    struct writing writing = {.file = file, .sections = sections, .count = count};
    lay_out(&writing);
    writing.out = calloc(1, (size_t)writing.size);
    if (!writing.out)
        return sprof_error_memory(error);
    const uint64_t moved_size = file->moved_end - file->moved;
    move_symbols(file);
    move_dynamic(file);
    memcpy(writing.out, file->bytes, file->size);
    memcpy(writing.out + offset_of(file, file->moved_to), file->bytes + file->moved, moved_size);
    write_sections(&writing);
    write_segments(&writing);
    const int result = put(&writing, output, error);
    free(writing.out);
    return result;
}
