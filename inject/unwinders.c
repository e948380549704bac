/* Finds files with an unwinder, as for exceptions. */
#include "inject/leaving.h"

#include <elf.h>
#include <string.h>

/* An unwinder imports one of these to find files. */
static bool is_question(const char *name)
{
    return !strcmp(name, "dl_iterate_phdr") || !strcmp(name, "_dl_find_object");
}

struct names {
    bool asks, takes; /* imports what finds files; imports an unwinder */
    bool has;         /* defines one */
    bool is_whole;    /* names local functions, too */
};

static struct names read_names(struct image *image, const char *table, const char *strings)
{
    const struct sprof_bytes symbols = image_section(image, table, NULL);
    const struct sprof_bytes texts = image_section(image, strings, NULL);
    struct names names = {0};
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.data + at, sizeof symbol);
        if (symbol.st_name >= texts.size ||
            !memchr(texts.data + symbol.st_name, '\0', texts.size - symbol.st_name))
            continue;
        const char *name = (const char *)texts.data + symbol.st_name;
        const bool is_elsewhere = symbol.st_shndx == SHN_UNDEF,
                   is_unwinder = !strncmp(name, "_Unwind_", sizeof "_Unwind_" - 1);
        names.asks |= is_elsewhere && is_question(name);
        names.takes |= is_elsewhere && is_unwinder;
        names.has |= !is_elsewhere && is_unwinder;
        names.is_whole |= !is_elsewhere && ELF64_ST_BIND(symbol.st_info) == STB_LOCAL &&
                          ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
    }
    return names;
}

/* A file that imports what finds files, but no unwinder, may have one, nameless if stripped. libc
 * defines these functions itself, and does not count. */
static bool has_unwinder(struct image *image)
{
    const struct names outside = read_names(image, ".dynsym", ".dynstr");
    if (!outside.asks || outside.takes)
        return false;
    const struct names all = read_names(image, ".symtab", ".strtab");
    return all.has || !all.is_whole;
}

/* A file that cannot be read counts as one with an unwinder. */
static bool registers_tables(const struct inject_leaving *leaving,
                             const struct inject_text_pages *text)
{
    const char *path = text->file.path;
    struct image *image;
    if (strstr(path, "/libgcc_s") || strstr(path, "/libunwind") ||
        inject_text_open(leaving, text, &image, NULL))
        return true;
    const bool unwinds = has_unwinder(image);
    image_free(image);
    return unwinds;
}

static const struct inject_known_file *find(const struct inject_leaving *leaving, const char *path)
{
    for (size_t i = 0; i < leaving->known_files.count; i++)
        if (!strcmp(leaving->known_files.items[i].path, path))
            return &leaving->known_files.items[i];
    return NULL;
}

void inject_leaving_know_files(struct inject_leaving *leaving)
{
    for (size_t i = 0; i < leaving->texts.count; i++) {
        const struct inject_text_pages *text = &leaving->texts.items[i];
        if (find(leaving, text->file.path))
            continue;
        const struct inject_known_file file = {text->file.path, registers_tables(leaving, text)};
        if (sprof_vec_push(&leaving->known_files, file))
            return;
    }
}

bool inject_leaving_is_unwinder(const struct inject_leaving *leaving, const uint64_t *words,
                                size_t count)
{
    for (size_t k = 0; k < leaving->texts.count; k++) {
        const struct inject_text_pages *text = &leaving->texts.items[k];
        const struct inject_known_file *file = find(leaving, text->file.path);
        if (file && !file->unwinds)
            continue;
        for (size_t i = 0; i < count; i++)
            if (inject_span_holds(&text->span, words[i]))
                return true;
    }
    return false;
}
