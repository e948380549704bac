/* Finds a few function symbols by name. Tables of symbols and their names may have 100 MB: both are
 * gone through in pieces, names first, so that a symbol's name is a number to compare. */
#include "image/elf_file.h"

#include <stdlib.h>
#include <string.h>

/* Where in a string table a name stands: linkers let one end in another. */
struct symbol_place {
    uint32_t offset, name;
};

struct places {
    SPROF_VEC(struct symbol_place) items; /* by offset */
    const char *const *names;
    bool is_last[256]; /* bytes that a name ends with */
    size_t longest;
};

/* Notes which names end right before `at`, where a NUL stands; `offset` is its own in the table. */
static bool note_names(struct places *places, const uint8_t *start, const uint8_t *at,
                       uint64_t offset)
{
    for (uint32_t i = 0; places->names[i]; i++) {
        const size_t length = strlen(places->names[i]);
        if (length > (size_t)(at - start) || length > offset ||
            memcmp(at - length, places->names[i], length) != 0)
            continue;
        if (sprof_vec_push(&places->items, ((struct symbol_place){(uint32_t)(offset - length), i})))
            return false;
    }
    return true;
}

static int by_offset(const void *left, const void *right)
{
    const struct symbol_place *a = left, *b = right;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Each piece begins with the end of the one before, where a name may have begun. */
static bool find_places(struct places *places, const struct image *image,
                        const struct image_extent *strings)
{
    uint8_t *piece = malloc(IMAGE_PIECE + places->longest);
    size_t kept = 0;
    bool fine = piece != NULL;
    for (uint64_t read = 0; fine && read < strings->size && strings->size <= UINT32_MAX;) {
        const uint64_t left = strings->size - read;
        const size_t got = image_read(image, strings->offset + read, piece + kept,
                                      left < IMAGE_PIECE ? (size_t)left : IMAGE_PIECE);
        const uint8_t *end = piece + kept + got;
        if (!got)
            break;
        for (const uint8_t *at = piece + kept;
             fine && (at = memchr(at, 0, (size_t)(end - at))) != NULL; at++)
            if (at > piece && places->is_last[at[-1]])
                fine = note_names(places, piece, at, read + (uint64_t)(at - piece) - kept);
        read += got;
        const size_t all = kept + got;
        kept = all < places->longest ? all : places->longest;
        memmove(piece, piece + all - kept, kept);
    }
    free(piece);
    if (places->items.count)
        qsort(places->items.items, places->items.count, sizeof *places->items.items, by_offset);
    return fine;
}

static bool is_function(const Elf64_Sym *symbol)
{
    const unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF &&
           (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC);
}

/* Several of the names may be the same. */
static void match(const struct places *places, const Elf64_Sym *symbol, struct image_symbol *out)
{
    const struct symbol_place wanted = {.offset = symbol->st_name};
    const struct symbol_place *first = places->items.items, *end = first + places->items.count;
    const struct symbol_place *found =
        bsearch(&wanted, first, places->items.count, sizeof wanted, by_offset);
    while (found && found > first && found[-1].offset == wanted.offset)
        found--;
    for (; found && found < end && found->offset == wanted.offset; found++)
        if (!out[found->name].vaddr)
            out[found->name] = (struct image_symbol){symbol->st_value, symbol->st_size};
}

static void search_table(const struct image *image, const char *table, struct places *places,
                         struct image_symbol *out)
{
    enum { AT_ONCE = 2048 };
    const struct image_section_header *header = image_section_header(image, table);
    struct image_extent symbols, strings;
    if (!header || header->link >= image->sections.count ||
        !image_section_extent(image, table, &symbols) ||
        !image_extent_of(image, &image->sections.items[header->link], &strings))
        return;
    places->items.count = 0;
    if (!find_places(places, image, &strings) || !places->items.count)
        return;
    Elf64_Sym *piece = malloc(AT_ONCE * sizeof *piece);
    for (uint64_t read = 0; piece && read + sizeof *piece <= symbols.size;) {
        const uint64_t left = (symbols.size - read) / sizeof *piece;
        const size_t count = image_read(image, symbols.offset + read, piece,
                                        (left < AT_ONCE ? (size_t)left : AT_ONCE) * sizeof *piece) /
                             sizeof *piece;
        for (size_t i = 0; i < count; i++)
            if (is_function(&piece[i]))
                match(places, &piece[i], out);
        if (!count)
            break;
        read += count * sizeof *piece;
    }
    free(piece);
}

void image_find_symbols(struct image *image, const char *const *names, struct image_symbol *out)
{
    struct places places = {.names = names};
    for (size_t i = 0; names[i]; i++) {
        const size_t length = strlen(names[i]);
        out[i] = (struct image_symbol){0};
        places.longest = length > places.longest ? length : places.longest;
        if (length)
            places.is_last[(uint8_t)names[i][length - 1]] = true;
    }
    search_table(image, ".symtab", &places, out);
    search_table(image, ".dynsym", &places, out);
    sprof_vec_release(&places.items);
}
