#include "symbolize/symbols.h"

#include "symbolize/demangle.h"

#include <stdlib.h>
#include <string.h>

/* Symbols times addresses they cover: real images stay far below; damaged ones stop there. */
static const uint64_t max_steps = UINT64_C(1) << 26;

/* The nearest symbols on both sides of an address, for those without a size. */
struct neighbours {
    struct symbol below;
    uint64_t next;        /* start of the nearest symbol above, UINT64_MAX where there is none */
    uint64_t section_end; /* of the section of `below`, 0 when it holds no code */
};

struct search {
    const struct module *module;
    const struct addresses *addresses;
    struct symbols *symbols;
    struct neighbours *neighbours;
    uint64_t steps_left;
};

/* The larger the start, the closer the symbol is around the address. Among symbols of one start the
 * exported ones are what a person would write in a program. */
static bool is_better(const struct symbol *candidate, const struct symbol *held)
{
    if (!held->name)
        return true;
    if (candidate->start != held->start)
        return candidate->start > held->start;
    if (candidate->rank != held->rank)
        return candidate->rank < held->rank;
    return demangle_compare_aliases(candidate->name, held->name) < 0;
}

static uint8_t rank_of(const GElf_Sym *symbol)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);
    return (uint8_t)((type == STT_NOTYPE ? 2 : 0) + (bind == STB_LOCAL ? 1 : 0));
}

static bool is_code(const GElf_Sym *symbol, GElf_Word section)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
           section != SHN_UNDEF && section != SHN_ABS && section != SHN_COMMON;
}

static void add_sized(struct search *search, const struct symbol *symbol)
{
    const struct addresses *addresses = search->addresses;
    size_t i = addresses_lower_bound(addresses, symbol->start);
    while (i < addresses->count && addresses->items[i] - symbol->start < symbol->size &&
           search->steps_left) {
        if (is_better(symbol, &search->symbols->sized[i]))
            search->symbols->sized[i] = *symbol;
        search->steps_left--;
        i++;
    }
}

/* 0 for a section that holds no code: its symbols are marks of the linker. */
static uint64_t section_end(Elf *elf, GElf_Word index, Dwarf_Addr bias)
{
    GElf_Shdr header;
    Elf_Scn *section = elf ? elf_getscn(elf, index) : NULL;
    if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR))
        return 0;
    return header.sh_addr + header.sh_size + bias;
}

static void add_neighbour(struct search *search, const struct symbol *symbol, Elf *elf,
                          GElf_Word section, Dwarf_Addr bias)
{
    const size_t above = addresses_lower_bound(search->addresses, symbol->start);
    if (above < search->addresses->count) {
        struct neighbours *side = &search->neighbours[above];
        /* At one start, a symbol with a size says where the function ends. */
        if (!side->below.name || symbol->start > side->below.start ||
            (symbol->start == side->below.start && !side->below.size &&
             (symbol->size || is_better(symbol, &side->below)))) {
            side->below = *symbol;
            side->section_end = section_end(elf, section, bias - search->module->bias);
        }
    }
    if (above > 0 && symbol->start < search->neighbours[above - 1].next)
        search->neighbours[above - 1].next = symbol->start;
}

static void add(struct search *search, int index)
{
    GElf_Sym entry;
    GElf_Addr value;
    GElf_Word section;
    Elf *elf;
    Dwarf_Addr bias;
    const char *name = dwfl_module_getsym_info(search->module->dwfl_module, index, &entry, &value,
                                               &section, &elf, &bias);
    if (!name || !name[0] || !is_code(&entry, section))
        return;
    const struct symbol symbol = {
        .name = name,
        .start = value - search->module->bias,
        .size = entry.st_size,
        .rank = rank_of(&entry),
    };
    if (!strcmp(name, "adainit"))
        search->symbols->ada = true;
    if (symbol.size)
        add_sized(search, &symbol);
    add_neighbour(search, &symbol, elf, section, bias);
}

/* What was noted at the nearest address holds for those behind it. */
static void spread(struct neighbours *neighbours, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (!neighbours[i].below.name ||
            (neighbours[i - 1].below.name &&
             neighbours[i - 1].below.start > neighbours[i].below.start)) {
            neighbours[i].below = neighbours[i - 1].below;
            neighbours[i].section_end = neighbours[i - 1].section_end;
        }
    for (size_t i = count; i-- > 1;)
        if (neighbours[i].next < neighbours[i - 1].next)
            neighbours[i - 1].next = neighbours[i].next;
}

static void name_unsized(const struct search *search, size_t i,
                         const struct symbolize_bounds *bounds)
{
    const uint64_t address = search->addresses->items[i];
    const struct neighbours *side = &search->neighbours[i];
    uint64_t start, end;
    if (search->symbols->sized[i].name || !side->below.name || side->below.size ||
        side->section_end <= address)
        return;
    if (bounds && bounds->find && bounds->find(bounds->context, address, &start, &end) &&
        start > side->below.start)
        return;
    struct symbol *symbol = &search->symbols->unsized[i];
    *symbol = side->below;
    symbol->size =
        (side->next < side->section_end ? side->next : side->section_end) - symbol->start;
}

int symbols_find(struct symbols *symbols, struct module *module, const struct addresses *addresses,
                 const struct symbolize_bounds *bounds)
{
    const size_t count = addresses->count + 1;
    struct search search = {module, addresses, symbols, NULL, max_steps};
    *symbols = (struct symbols){0};
    symbols->sized = calloc(count, sizeof *symbols->sized);
    symbols->unsized = calloc(count, sizeof *symbols->unsized);
    search.neighbours = calloc(count, sizeof *search.neighbours);
    if (!symbols->sized || !symbols->unsized || !search.neighbours) {
        free(search.neighbours);
        symbols_release(symbols);
        return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        search.neighbours[i].next = UINT64_MAX;
    const int total = dwfl_module_getsymtab(module->dwfl_module);
    for (int i = 1; i < total; i++)
        add(&search, i);
    spread(search.neighbours, addresses->count);
    for (size_t i = 0; i < addresses->count; i++)
        name_unsized(&search, i, bounds);
    free(search.neighbours);
    return 0;
}

void symbols_release(struct symbols *symbols)
{
    free(symbols->sized);
    free(symbols->unsized);
    *symbols = (struct symbols){0};
}
