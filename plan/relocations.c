/* What relocations say: which symbols fill slots, which words of data hold addresses of code, and
 * which functions choose implementations while a program is being linked. */
#include "plan/planner.h"

#include <elf.h>

static void note_resolver(struct planner *planner, uint64_t vaddr)
{
    const ptrdiff_t index =
        plan_function_index(planner->functions.items, planner->functions.count, vaddr);
    if (index >= 0 && planner->functions.items[index].start == vaddr)
        planner->functions.items[index].why = PLAN_RESOLVER;
}

static void read_section(struct planner *planner, const char *section)
{
    const struct sprof_bytes bytes = image_section(planner->image, section, NULL);
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes.data + at, sizeof relocation);
        const uint64_t slot = relocation.r_offset, addend = (uint64_t)relocation.r_addend;
        switch (ELF64_R_TYPE(relocation.r_info)) {
        case ARCH_RELOCATION_IRELATIVE: note_resolver(planner, addend); break;
        case ARCH_RELOCATION_RELATIVE:
            planner->failed |= sprof_map_put(&planner->relocated, slot, addend) != 0;
            break;
        case ARCH_RELOCATION_JUMP_SLOT:
        case ARCH_RELOCATION_GLOB_DAT:
            planner->failed |=
                sprof_map_put(&planner->slot_symbols, slot, ELF64_R_SYM(relocation.r_info)) != 0;
            break;
        default: break;
        }
    }
}

void plan_read_relocations(struct planner *planner)
{
    read_section(planner, ".rela.plt");
    read_section(planner, ".rela.dyn");
    read_section(planner, ".rela.iplt"); /* of static programs */
}
