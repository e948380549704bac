/* Finds the entries of the procedure linkage table by the names of what they lead to. */
#include "embed/elf_file.h"

#include "arch/arch.h"

#include <elf.h>
#include <string.h>

static const char *name_of(const struct elf_file *file, uint64_t index)
{
    uint64_t vaddr;
    const struct sprof_bytes symbols = embed_elf_section(file, ".dynsym", &vaddr);
    const struct sprof_bytes names = embed_elf_section(file, ".dynstr", &vaddr);
    Elf64_Sym symbol;
    if (index >= symbols.size / sizeof symbol)
        return NULL;
    memcpy(&symbol, symbols.data + index * sizeof symbol, sizeof symbol);
    const bool is_whole = symbol.st_name < names.size &&
                          memchr(names.data + symbol.st_name, '\0', names.size - symbol.st_name);
    return is_whole ? (const char *)names.data + symbol.st_name : NULL;
}

/* The name of what fills a slot; NULL: none of a symbol. */
static const char *name_of_slot(const struct elf_file *file, uint64_t slot)
{
    static const char *const sections[] = {".rela.plt", ".rela.dyn"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        uint64_t vaddr;
        const struct sprof_bytes bytes = embed_elf_section(file, sections[i], &vaddr);
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size; at += sizeof(Elf64_Rela)) {
            Elf64_Rela relocation;
            memcpy(&relocation, bytes.data + at, sizeof relocation);
            const uint64_t type = ELF64_R_TYPE(relocation.r_info);
            if (relocation.r_offset == slot &&
                (type == ARCH_RELOCATION_JUMP_SLOT || type == ARCH_RELOCATION_GLOB_DAT))
                return name_of(file, ELF64_R_SYM(relocation.r_info));
        }
    }
    return NULL;
}

int embed_each_imported(const struct elf_file *file, bool (*wants)(const char *name),
                        int (*found)(void *context, uint64_t start, struct sprof_bytes code),
                        void *context)
{
    static const char *const sections[] = {".plt.sec", ".plt", ".plt.got"};
    int result = 0;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        uint64_t start;
        const struct sprof_bytes bytes = embed_elf_section(file, sections[i], &start);
        const size_t size =
            (size_t)arch_code_plt_entry_size(bytes, !strcmp(sections[i], ".plt.got"));
        for (size_t at = 0; at + size <= bytes.size && !result; at += size) {
            uint8_t entry[ARCH_PLT_JUMP_BYTES] = {0};
            uint64_t slot;
            memcpy(entry, bytes.data + at, size < sizeof entry ? size : sizeof entry);
            const char *name =
                arch_code_plt_slot(entry, start + at, &slot) ? name_of_slot(file, slot) : NULL;
            if (name && wants(name))
                result = found(context, start + at, (struct sprof_bytes){bytes.data + at, size});
        }
    }
    return result;
}
