/* Which files of a process have an unwinder in them, as that for exceptions. */
#include "trace/attach/leaving.h"

#include <elf.h>
#include <string.h>

/* An unwinder asks the loader where files lie, by one of these. */
static bool is_question(const char *name)
{
    return !strcmp(name, "dl_iterate_phdr") || !strcmp(name, "_dl_find_object");
}

/* Whoever asks that and takes no unwinder from elsewhere may have one linked in, without a name.
 * That a library defines these names, as the C library does, makes it none. */
static bool has_unwinder(struct image *image)
{
    const struct sprof_bytes symbols = image_section(image, ".dynsym", NULL);
    const struct sprof_bytes names = image_section(image, ".dynstr", NULL);
    bool asks = false, takes = false;
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, symbols.data + at, sizeof symbol);
        if (symbol.st_shndx != SHN_UNDEF || symbol.st_name >= names.size ||
            !memchr(names.data + symbol.st_name, '\0', names.size - symbol.st_name))
            continue;
        const char *name = (const char *)names.data + symbol.st_name;
        asks |= is_question(name);
        takes |= !strncmp(name, "_Unwind_", sizeof "_Unwind_" - 1);
    }
    return asks && !takes;
}

/* What cannot be looked into counts as one. */
static bool look_into(const struct trace_leaving *leaving, const struct trace_text *text)
{
    const char *path = text->file.path;
    struct image *image;
    if (strstr(path, "/libgcc_s") || strstr(path, "/libunwind") ||
        trace_text_open(leaving, text, &image, NULL))
        return true;
    const bool unwinds = has_unwinder(image);
    image_free(image);
    return unwinds;
}

static const struct trace_known_file *find(const struct trace_leaving *leaving, const char *path)
{
    for (size_t i = 0; i < leaving->known_files.count; i++)
        if (!strcmp(leaving->known_files.items[i].path, path))
            return &leaving->known_files.items[i];
    return NULL;
}

void trace_leaving_know_files(struct trace_leaving *leaving)
{
    for (size_t i = 0; i < leaving->texts.count; i++) {
        const struct trace_text *text = &leaving->texts.items[i];
        if (find(leaving, text->file.path))
            continue;
        const struct trace_known_file file = {text->file.path, look_into(leaving, text)};
        if (sprof_vec_push(&leaving->known_files, file))
            return;
    }
}

bool trace_leaving_is_unwinder(const struct trace_leaving *leaving, const uint64_t *words,
                               size_t count)
{
    for (size_t k = 0; k < leaving->texts.count; k++) {
        const struct trace_text *text = &leaving->texts.items[k];
        const struct trace_known_file *file = find(leaving, text->file.path);
        if (file && !file->unwinds)
            continue;
        for (size_t i = 0; i < count; i++)
            if (trace_span_holds(&text->span, words[i]))
                return true;
    }
    return false;
}
