#include "tests/unit/unwind/elf_source.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

static struct sprof_bytes bytes_of(Elf_Scn *section)
{
    const Elf_Data *data = elf_rawdata(section, NULL);
    return data ? (struct sprof_bytes){data->d_buf, data->d_size} : (struct sprof_bytes){0};
}

/* Where in a PLT entry of 16 bytes something has been pushed. */
static uint8_t push_offset_of(struct sprof_bytes plt)
{
    if (plt.size < 32 || plt.data[0] != 0xff)
        return 0;
    const uint8_t *entry = plt.data + 16;
    for (uint8_t i = 0; i < 12; i++)
        if (entry[i] == 0x68 && (i == 0 || i == 4 || i == 6))
            return (uint8_t)(i + 5);
    return 0;
}

static void take_section(struct elf_source *file, const char *name, Elf_Scn *section,
                         const GElf_Shdr *header)
{
    struct unwind_source *source = &file->source;
    if (header->sh_type == SHT_NOBITS)
        return;
    if (!strcmp(name, ".eh_frame")) {
        source->eh_frame = bytes_of(section);
        source->eh_frame_vaddr = header->sh_addr;
    } else if (!strcmp(name, ".eh_frame_hdr")) {
        source->eh_frame_hdr = bytes_of(section);
        source->eh_frame_hdr_vaddr = header->sh_addr;
    } else if (!strcmp(name, ".debug_frame") && !(header->sh_flags & SHF_COMPRESSED)) {
        source->debug_frame = bytes_of(section);
    } else if (!strcmp(name, ".gopclntab") || !strcmp(name, ".data.rel.ro.gopclntab")) {
        source->gopclntab = bytes_of(section);
        source->gopclntab_vaddr = header->sh_addr;
    } else if (!strcmp(name, ".text")) {
        source->text_bytes = bytes_of(section);
        source->text_vaddr = header->sh_addr;
    } else if (!strncmp(name, ".plt", 4) && source->plt_count < ELF_SOURCE_RANGES) {
        file->plt[source->plt_count++] =
            (struct unwind_plt){{header->sh_addr, header->sh_addr + header->sh_size},
                                !strcmp(name, ".plt") ? push_offset_of(bytes_of(section)) : 0};
    }
}

static void take_segments(struct elf_source *file)
{
    size_t count = 0;
    elf_getphdrnum(file->elf, &count);
    for (size_t i = 0; i < count && file->source.text_count < ELF_SOURCE_RANGES; i++) {
        GElf_Phdr header;
        gelf_getphdr(file->elf, (int)i, &header);
        if (header.p_type != PT_LOAD || !(header.p_flags & PF_X))
            continue;
        file->text[file->source.text_count++] =
            (struct unwind_range){header.p_vaddr, header.p_vaddr + header.p_memsz};
    }
}

/* Fills the source from file->elf. */
static int take_image(struct elf_source *file)
{
    GElf_Ehdr header;
    size_t names = 0;
    if (!file->elf || !gelf_getehdr(file->elf, &header) || header.e_machine != EM_X86_64 ||
        elf_getshdrstrndx(file->elf, &names)) {
        elf_source_close(file);
        return -1;
    }
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr section_header;
        gelf_getshdr(section, &section_header);
        const char *name = elf_strptr(file->elf, names, section_header.sh_name);
        if (name)
            take_section(file, name, section, &section_header);
    }
    take_segments(file);
    file->fixed = header.e_type == ET_EXEC;
    file->source.entry_vaddr = header.e_entry;
    file->source.text = file->text;
    file->source.plt = file->plt;
    return 0;
}

int elf_source_open(struct elf_source *file, const char *path)
{
    *file = (struct elf_source){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    elf_version(EV_CURRENT);
    file->elf = file->fd < 0 ? NULL : elf_begin(file->fd, ELF_C_READ_MMAP, NULL);
    return take_image(file);
}

int elf_source_memory(struct elf_source *file, char *bytes, size_t size)
{
    elf_version(EV_CURRENT);
    *file = (struct elf_source){.fd = -1, .elf = elf_memory(bytes, size)};
    return take_image(file);
}

void elf_source_close(struct elf_source *file)
{
    elf_end(file->elf);
    if (file->fd >= 0)
        close(file->fd);
    *file = (struct elf_source){.fd = -1};
}

uint64_t elf_source_symbol(const struct elf_source *file, const char *name)
{
    for (Elf_Scn *section = NULL; (section = elf_nextscn(file->elf, section));) {
        GElf_Shdr header;
        gelf_getshdr(section, &header);
        if (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);
        GElf_Sym symbol;
        for (int i = 0; data && gelf_getsym(data, i, &symbol); i++) {
            const char *found = elf_strptr(file->elf, header.sh_link, symbol.st_name);
            if (found && symbol.st_value && !strcmp(found, name))
                return symbol.st_value;
        }
    }
    return 0;
}

struct unwind_table *elf_source_table(const char *path)
{
    struct elf_source file;
    struct unwind_table *table = NULL;
    if (elf_source_open(&file, path))
        return NULL;
    unwind_table_build(&table, &file.source, NULL);
    elf_source_close(&file);
    return table;
}
