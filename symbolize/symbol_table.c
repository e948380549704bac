/* Gathers, stores and finds again the code symbols of an image. */
#include "symbolize/symbol_table.h"

#include <stdlib.h>
#include <string.h>

/* Raised whenever other symbols are gathered, or distinguished in another way. */
enum { SYMBOL_TABLE_VERSION = 2 };

/* A stored table: this, the entries, the texts. */
struct header {
    uint64_t count, text_bytes, ada;
};

struct gathering {
    struct module *module;
    Elf *elf;        /* that the last symbol came from … */
    size_t text_end; /* … and where the texts of its symbols end at most */
    SPROF_VEC(struct symbol_entry) entries;
    struct sprof_str texts;
    bool ada;
};

/* == Gathering == */

/* An indirect function's code is that of its resolver, which may have a symbol of its own. */
static uint32_t rank_of(const GElf_Sym *symbol)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);
    const uint32_t kind = type == STT_GNU_IFUNC ? 2 : type == STT_NOTYPE ? 4 : 0;
    return kind + (bind == STB_LOCAL ? 1u : 0);
}

static bool is_code(const GElf_Sym *symbol, GElf_Word section)
{
    const unsigned type = GELF_ST_TYPE(symbol->st_info);
    return (type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC) &&
           section != SHN_UNDEF && section != SHN_ABS && section != SHN_COMMON;
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

/* Of the largest table of names that symbols use. */
static size_t string_bytes(Elf *elf)
{
    size_t most = 0;
    Elf_Scn *section = NULL;
    while (elf && (section = elf_nextscn(elf, section))) {
        GElf_Shdr header;
        if (!gelf_getshdr(section, &header) ||
            (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
            continue;
        Elf_Scn *strings = elf_getscn(elf, header.sh_link);
        const Elf_Data *data = strings ? elf_rawdata(strings, NULL) : NULL;
        most = data && data->d_size > most ? data->d_size : most;
    }
    return most;
}

/* Linkers share the ends of names, which adds little. Where names share more than that, they
 * could be far longer together than their file. */
static bool has_room(struct gathering *gathering, Elf *elf, size_t bytes)
{
    enum { SHARED = 4, LEAST = 65536 };
    if (elf != gathering->elf) {
        gathering->elf = elf;
        gathering->text_end = gathering->texts.length + LEAST + SHARED * string_bytes(elf);
    }
    return bytes <= gathering->text_end && gathering->texts.length <= gathering->text_end - bytes &&
           gathering->texts.length <= UINT32_MAX / 2;
}

static int add(struct gathering *gathering, int index)
{
    const struct module *module = gathering->module;
    GElf_Sym symbol;
    GElf_Addr value;
    GElf_Word section;
    Elf *elf;
    Dwarf_Addr bias;
    const char *name =
        dwfl_module_getsym_info(module->dwfl_module, index, &symbol, &value, &section, &elf, &bias);
    const size_t bytes = name ? strlen(name) + 1 : 0;
    if (bytes < 2 || !is_code(&symbol, section) || !has_room(gathering, elf, bytes))
        return 0;
    const struct symbol_entry entry = {
        .start = value - module->bias,
        .size = symbol.st_size,
        .section_end = section_end(elf, section, bias - module->bias),
        .name = (uint32_t)gathering->texts.length,
        .rank = rank_of(&symbol),
    };
    gathering->ada |= !strcmp(name, "adainit");
    return sprof_str_append_bytes(&gathering->texts, name, bytes) ||
                   sprof_vec_push(&gathering->entries, entry)
               ? SPROF_ENOMEM
               : 0;
}

int symbolize_symbol_table_read(struct symbol_table *table, struct module *module)
{
    struct gathering gathering = {.module = module};
    const int total = dwfl_module_getsymtab(module->dwfl_module);
    int code = 0;
    for (int i = 1; i < total && !code; i++)
        code = add(&gathering, i);
    const size_t entry_bytes = gathering.entries.count * sizeof *gathering.entries.items;
    uint8_t *storage = code ? NULL : malloc(entry_bytes + gathering.texts.length + 1);
    *table = (struct symbol_table){0};
    if (storage) {
        if (entry_bytes)
            memcpy(storage, gathering.entries.items, entry_bytes);
        if (gathering.texts.length)
            memcpy(storage + entry_bytes, gathering.texts.text, gathering.texts.length);
        *table = (struct symbol_table){.entries = (const struct symbol_entry *)storage,
                                       .count = gathering.entries.count,
                                       .texts = (const char *)storage + entry_bytes,
                                       .text_bytes = gathering.texts.length,
                                       .ada = gathering.ada,
                                       .storage = storage};
    }
    sprof_vec_release(&gathering.entries);
    sprof_str_release(&gathering.texts);
    return storage ? 0 : SPROF_ENOMEM;
}

void symbolize_symbol_table_release(struct symbol_table *table)
{
    free(table->storage);
    *table = (struct symbol_table){0};
}

/* == The cache == */

struct sprof_digest symbolize_symbol_table_key(struct image *image, struct image *debug,
                                               struct cache *cache)
{
    static const char *const sections[] = {".symtab", ".strtab",        ".dynsym",
                                           ".dynstr", ".gnu_debugdata", NULL};
    struct sprof_digest key = image_content(image, cache, sections, 1);
    sprof_digest_add_number(&key, SYMBOL_TABLE_VERSION);
    if (debug) {
        const struct sprof_digest content = image_content(debug, cache, sections, 1);
        sprof_digest_add(&key, &content, sizeof content);
    }
    return key;
}

/* The texts end with a NUL, and every name is one of them, another for each symbol: names that
 * shared their ends could be far longer together than all texts. */
static bool is_valid(const struct symbol_table *table)
{
    if (!table->text_bytes || table->texts[table->text_bytes - 1])
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const uint32_t name = table->entries[i].name;
        if (name >= table->text_bytes || (name && table->texts[name - 1]) ||
            (i && name <= table->entries[i - 1].name) || table->entries[i].rank > UINT8_MAX)
            return false;
    }
    return true;
}

bool symbolize_symbol_table_take(struct symbol_table *table, struct sprof_bytes bytes)
{
    struct header header;
    *table = (struct symbol_table){.storage = (uint8_t *)bytes.data};
    if (bytes.size >= sizeof header) {
        memcpy(&header, bytes.data, sizeof header);
        const size_t left = bytes.size - sizeof header;
        if (header.count <= left / sizeof *table->entries &&
            header.text_bytes == left - (size_t)header.count * sizeof *table->entries) {
            table->entries = (const struct symbol_entry *)(bytes.data + sizeof header);
            table->count = (size_t)header.count;
            table->texts = (const char *)(table->entries + table->count);
            table->text_bytes = (size_t)header.text_bytes;
            table->ada = header.ada != 0;
        }
    }
    if (table->count && is_valid(table))
        return true;
    symbolize_symbol_table_release(table);
    return false;
}

bool symbolize_symbol_table_find(struct symbol_table *table, struct cache *cache,
                                 struct sprof_digest key)
{
    return symbolize_symbol_table_take(table, cache_get(cache, CACHE_SYMBOLS, key));
}

void symbolize_symbol_table_store(const struct symbol_table *table, struct cache *cache,
                                  struct sprof_digest key)
{
    const struct header header = {table->count, table->text_bytes, table->ada};
    const struct sprof_bytes pieces[] = {
        {(const uint8_t *)&header, sizeof header},
        {(const uint8_t *)table->entries, table->count * sizeof *table->entries},
        {(const uint8_t *)table->texts, table->text_bytes}};
    if (table->count)
        cache_put(cache, CACHE_SYMBOLS, key, pieces, 3);
}
