/* Names entries of the procedure linkage table by the slots that they jump through. */
#include "symbolize/plt.h"

#include "arch/arch.h"
#include "symbolize/demangle.h"

#include <elf.h>
#include <string.h>

/* Above what the largest programs have, for some thousand entries. */
static const uint64_t max_steps = UINT64_C(1) << 26;

/* Sections of entries. */
static const char *const sections[] = {".plt.sec", ".plt", ".plt.got"};

/* An entry of a file with embedded probes jumps to a piece of it that was moved: a switch, and the
 * jump that stood in the entry. */
static bool find_moved_slot(struct image *image, const uint8_t *entry, size_t size, uint64_t start,
                            uint64_t *slot)
{
    struct arch_instruction instruction;
    uint8_t moved[ARCH_PLT_JUMP_BYTES] = {0};
    uint64_t base;
    size_t at = 0;
    const struct sprof_bytes code = image_section(image, ".sprof.text", &base);
    if (!arch_instruction_decode(entry, size, &instruction))
        return false;
    if (instruction.bits & ARCH_IS_LANDING) {
        at = instruction.length;
        if (!arch_instruction_decode(entry + at, size - at, &instruction))
            return false;
    }
    const uint64_t target = start + at + instruction.length + (uint64_t)instruction.value;
    if (instruction.flow != ARCH_FLOW_JUMP || target < base || target - base >= code.size)
        return false;
    const struct sprof_bytes piece = {code.data + (target - base),
                                      code.size - (size_t)(target - base)};
    if (!arch_instruction_decode(piece.data, piece.size, &instruction))
        return false;
    const size_t left = piece.size - instruction.length;
    memcpy(moved, piece.data + instruction.length, left < sizeof moved ? left : sizeof moved);
    return arch_code_plt_slot(moved, target + instruction.length, slot);
}

static bool find_entry(struct image *image, uint64_t vaddr, uint64_t *start, uint64_t *size,
                       uint64_t *slot)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        uint64_t base;
        const struct sprof_bytes bytes = image_section(image, sections[i], &base);
        if (vaddr < base || vaddr - base >= bytes.size)
            continue;
        *size = arch_code_plt_entry_size(bytes, strcmp(sections[i], ".plt.got") == 0);
        const uint64_t offset = (vaddr - base) / *size * *size;
        uint8_t entry[ARCH_PLT_JUMP_BYTES] = {0};
        const size_t left = bytes.size - (size_t)offset;
        memcpy(entry, bytes.data + offset, left < sizeof entry ? left : sizeof entry);
        *start = base + offset;
        return arch_code_plt_slot(entry, *start, slot) ||
               find_moved_slot(image, entry, sizeof entry, *start, slot);
    }
    return false;
}

/* A symbol's name, or NULL. */
static const char *name_of_symbol(struct sprof_bytes names, const Elf64_Sym *symbol)
{
    if (symbol->st_name >= names.size || !names.data[symbol->st_name] ||
        !memchr(names.data + symbol->st_name, '\0', names.size - symbol->st_name))
        return NULL;
    return (const char *)names.data + symbol->st_name;
}

/* Slots that are filled by a resolver of the same image name no symbol, but the resolver has one.
 */
static bool is_target(const Elf64_Rela *relocation, const Elf64_Sym *symbol, uint64_t index)
{
    if (ELF64_R_TYPE(relocation->r_info) != ARCH_RELOCATION_IRELATIVE)
        return index && index == ELF64_R_SYM(relocation->r_info);
    return ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC &&
           symbol->st_value == (uint64_t)relocation->r_addend;
}

static const char *name_of_target(struct plt *plt, const Elf64_Rela *relocation)
{
    const struct sprof_bytes symbols = image_section(plt->image, ".dynsym", NULL);
    const struct sprof_bytes names = image_section(plt->image, ".dynstr", NULL);
    const char *best = NULL;
    for (size_t i = 0; i < symbols.size / sizeof(Elf64_Sym) && plt->steps < max_steps; i++) {
        Elf64_Sym symbol;
        plt->steps++;
        memcpy(&symbol, symbols.data + i * sizeof symbol, sizeof symbol);
        if (!is_target(relocation, &symbol, i))
            continue;
        const char *name = name_of_symbol(names, &symbol);
        if (name && (!best || symbolize_demangle_compare_aliases(name, best) < 0))
            best = name;
    }
    return best;
}

static const char *name_of_slot(struct plt *plt, const char *section, uint64_t slot)
{
    const struct sprof_bytes bytes = image_section(plt->image, section, NULL);
    for (size_t i = 0; i + sizeof(Elf64_Rela) <= bytes.size && plt->steps < max_steps;
         i += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        plt->steps++;
        memcpy(&relocation, bytes.data + i, sizeof relocation);
        if (relocation.r_offset == slot)
            return name_of_target(plt, &relocation);
    }
    return NULL;
}

bool symbolize_plt_find(struct plt *plt, uint64_t vaddr, const char **name, uint64_t *start,
                        uint64_t *size)
{
    uint64_t slot;
    if (!find_entry(plt->image, vaddr, start, size, &slot))
        return false;
    *name = name_of_slot(plt, ".rela.plt", slot);
    if (!*name)
        *name = name_of_slot(plt, ".rela.dyn", slot);
    return *name != NULL;
}
