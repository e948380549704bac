/* Finds the symbol that covers an address. */
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
    return symbolize_demangle_compare_aliases(candidate->name, held->name) < 0;
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

static void add_neighbour(struct search *search, const struct symbol *symbol, uint64_t section_end)
{
    const size_t above = addresses_lower_bound(search->addresses, symbol->start);
    if (above < search->addresses->count) {
        struct neighbours *side = &search->neighbours[above];
        /* At one start, a symbol with a size says where the function ends. */
        if (!side->below.name || symbol->start > side->below.start ||
            (symbol->start == side->below.start && !side->below.size &&
             (symbol->size || is_better(symbol, &side->below)))) {
            side->below = *symbol;
            side->section_end = section_end;
        }
    }
    if (above > 0 && symbol->start < search->neighbours[above - 1].next)
        search->neighbours[above - 1].next = symbol->start;
}

static void add(struct search *search, const struct symbol_table *table,
                const struct symbol_entry *entry)
{
    const struct symbol symbol = {
        .name = table->texts + entry->name,
        .start = entry->start,
        .size = entry->size,
        .rank = (uint8_t)entry->rank,
    };
    if (symbol.size)
        add_sized(search, &symbol);
    add_neighbour(search, &symbol, entry->section_end);
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

int symbolize_symbols_find(struct symbols *symbols, const struct symbol_table *table,
                           const struct addresses *addresses, const struct symbolize_bounds *bounds)
{
    const size_t count = addresses->count + 1;
    struct search search = {addresses, symbols, NULL, max_steps};
    *symbols = (struct symbols){.ada = table->ada};
    symbols->sized = calloc(count, sizeof *symbols->sized);
    symbols->unsized = calloc(count, sizeof *symbols->unsized);
    search.neighbours = calloc(count, sizeof *search.neighbours);
    if (!symbols->sized || !symbols->unsized || !search.neighbours) {
        free(search.neighbours);
        symbolize_symbols_release(symbols);
        return SPROF_ENOMEM;
    }
    for (size_t i = 0; i < count; i++)
        search.neighbours[i].next = UINT64_MAX;
    for (size_t i = 0; i < table->count; i++)
        add(&search, table, &table->entries[i]);
    spread(search.neighbours, addresses->count);
    for (size_t i = 0; i < addresses->count; i++)
        name_unsized(&search, i, bounds);
    free(search.neighbours);
    return 0;
}

void symbolize_symbols_release(struct symbols *symbols)
{
    free(symbols->sized);
    free(symbols->unsized);
    *symbols = (struct symbols){0};
}
