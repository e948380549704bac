/* From an opened image to what unwinding needs of it, through the cache. */
#include "recording/build.h"

#include "arch/arch.h"
#include "model/model.h"

#include <elf.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MAX_TEXT_RANGES = 64, MAX_VDSO_PAGES = 16 };

/* Roots that no call frame information marks, besides the entry point. A thread's start is not
 * among them: clone is called by the parent. Only the child's part of it is a root, which tables
 * or its bytes mark. */
static const char *const root_names[] = {"_start", "_dl_start_user", NULL};
enum { ROOT_NAMES = sizeof root_names / sizeof *root_names - 1 };

static size_t find_plts(struct image *image, struct unwind_plt plt[3])
{
    static const char *const names[3] = {".plt", ".plt.sec", ".plt.got"};
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        uint64_t vaddr;
        const struct sprof_bytes bytes = image_section(image, names[i], &vaddr);
        if (bytes.size)
            plt[count++] = (struct unwind_plt){{vaddr, vaddr + bytes.size},
                                               i == 0 ? arch_code_plt_push(bytes) : 0};
    }
    return count;
}

static size_t find_text(struct image *image, struct unwind_range *text)
{
    const struct image_segment *segments;
    size_t count = image_text_segments(image, &segments);
    if (count > MAX_TEXT_RANGES)
        count = MAX_TEXT_RANGES;
    for (size_t i = 0; i < count; i++)
        text[i] = (struct unwind_range){segments[i].vaddr, segments[i].vaddr + segments[i].size};
    return count;
}

/* Symbols of roots and of start-up code, found in one pass over tables of perhaps 100 MB. */
struct found_symbols {
    const char **names; /* the roots, the start-up functions, NULL */
    struct image_symbol *symbols;
    size_t startup_count;
};

static bool find_all_symbols(struct image *image, struct found_symbols *found)
{
    const char *const *startup = model_startup_names();
    *found = (struct found_symbols){0};
    while (startup[found->startup_count])
        found->startup_count++;
    const size_t count = ROOT_NAMES + found->startup_count;
    found->names = calloc(count + 1, sizeof *found->names);
    found->symbols = calloc(count + 1, sizeof *found->symbols);
    if (!found->names || !found->symbols) {
        free(found->names);
        free(found->symbols);
        return false;
    }
    memcpy(found->names, root_names, ROOT_NAMES * sizeof *root_names);
    memcpy(found->names + ROOT_NAMES, startup, found->startup_count * sizeof *startup);
    image_find_symbols(image, found->names, found->symbols);
    return true;
}

/* A program, or the dynamic loader: its entry point is where a thread starts. Other libraries may
 * have an entry point that means nothing. */
static bool is_started_by_kernel(const struct image *image)
{
    const char *soname = image_soname(image);
    return image_is_executable(image) || (soname && strncmp(soname, "ld-", 3) == 0);
}

struct text_reader {
    const struct image *image;
    struct image_extent text;
};

static size_t read_text(void *context, uint64_t offset, void *buffer, size_t size)
{
    const struct text_reader *reader = context;
    const uint64_t left = reader->text.size - offset;
    return image_read(reader->image, reader->text.offset + offset, buffer,
                      size < left ? size : (size_t)left);
}

static int build_from(struct unwind_table **table, struct image *image, struct image *frames,
                      const struct found_symbols *found, struct sprof_error *error)
{
    struct unwind_range text[MAX_TEXT_RANGES];
    struct unwind_plt plt[3];
    uint64_t roots[ROOT_NAMES];
    struct unwind_source source = {.text = text, .plt = plt, .root_vaddr = roots};
    source.text_count = find_text(image, text);
    source.plt_count = find_plts(image, plt);
    for (size_t i = 0; i < ROOT_NAMES; i++)
        if (found->symbols[i].vaddr)
            roots[source.root_count++] = found->symbols[i].vaddr;
    source.entry_vaddr = is_started_by_kernel(image) ? image_entry(image) : 0;
    source.eh_frame = image_section(frames, ".eh_frame", &source.eh_frame_vaddr);
    source.eh_frame_hdr = image_section(frames, ".eh_frame_hdr", &source.eh_frame_hdr_vaddr);
    source.debug_frame = image_section(frames, ".debug_frame", NULL);
    source.gopclntab = image_section(image, ".gopclntab", &source.gopclntab_vaddr);
    struct text_reader text_reader = {.image = image};
    if (image_section_extent(image, ".text", &text_reader.text)) {
        source.text_vaddr = text_reader.text.vaddr;
        source.text_size = text_reader.text.size;
        source.read_text = read_text;
        source.text_context = &text_reader;
    }
    image_section(image, ".got", &source.got_vaddr);
    const int result = unwind_table_build(table, &source, error);
    image_drop_sections(image);
    return result;
}

/* Start-up functions by symbol and by entry point. */
static void take_startup_symbols(struct image *image, const struct found_symbols *found,
                                 struct recording_built *built)
{
    const struct image_symbol *symbols = found->symbols + ROOT_NAMES;
    for (size_t i = 0; i < found->startup_count && built->startup_count < RECORDING_STARTUP_RANGES;
         i++)
        if (symbols[i].size)
            built->startup[built->startup_count++] =
                (struct unwind_range){symbols[i].vaddr, symbols[i].vaddr + symbols[i].size};
    struct unwind_range entry;
    if (built->startup_count < RECORDING_STARTUP_RANGES && image_is_executable(image) &&
        built->table && unwind_table_function(built->table, image_entry(image), &entry))
        built->startup[built->startup_count++] = entry;
}

/* == The cache == */

/* What tables and start-up code are made from, besides the headers. */
static const char *const sections_read[] = {
    ".eh_frame", ".eh_frame_hdr", ".debug_frame", ".gopclntab", ".plt",    ".plt.sec",
    ".plt.got",  ".symtab",       ".strtab",      ".dynsym",    ".dynstr", NULL};

/* The debug file that call frame information is taken from; NULL where the image has its own, or
 * there is none. */
static struct image *open_frames(struct image *image)
{
    static const char *const own[] = {".eh_frame", ".debug_frame", ".gopclntab", NULL};
    for (size_t i = 0; own[i]; i++)
        if (image_has_section(image, own[i]))
            return NULL;
    struct image *debug = NULL;
    image_open_debug(&debug, image, NULL);
    return debug;
}

/* By content, and by whatever else decides the result. */
static struct sprof_digest find_key(struct image *image, struct image *debug, struct cache *cache)
{
    struct sprof_digest key = image_content(image, cache, sections_read, 1);
    sprof_digest_add_number(&key, UNWIND_TABLE_VERSION);
    for (size_t i = 0; i < ROOT_NAMES; i++)
        sprof_digest_add(&key, root_names[i], strlen(root_names[i]));
    for (const char *const *name = model_startup_names(); *name; name++)
        sprof_digest_add(&key, *name, strlen(*name));
    if (debug) {
        const struct sprof_digest content = image_content(debug, cache, sections_read, 1);
        sprof_digest_add(&key, &content, sizeof content);
    }
    return key;
}

static bool take_startup(struct recording_built *built, struct sprof_bytes bytes)
{
    if (!bytes.data || bytes.size % sizeof *built->startup || bytes.size > sizeof built->startup)
        return false;
    memcpy(built->startup, bytes.data, bytes.size);
    built->startup_count = bytes.size / sizeof *built->startup;
    return true;
}

bool recording_find_built(struct recording_built *built, struct image *image, struct cache *cache)
{
    *built = (struct recording_built){0};
    if (!cache)
        return false;
    struct image *debug = open_frames(image);
    built->key = find_key(image, debug, cache);
    built->has_key = true;
    const struct sprof_bytes startup = cache_get(cache, CACHE_STARTUP, built->key);
    if (take_startup(built, startup)) {
        uint64_t offset;
        const int file = cache_open_entry(cache, CACHE_TABLE, built->key, &offset);
        built->table = file < 0 ? NULL : unwind_table_open(file, offset);
    }
    free((void *)startup.data);
    image_free(debug);
    image_drop_sections(image);
    return built->table != NULL;
}

static void store(const struct recording_built *built, struct cache *cache)
{
    struct sprof_bytes table;
    const struct sprof_bytes startup = {(const uint8_t *)built->startup,
                                        built->startup_count * sizeof *built->startup};
    if (!built->has_key || unwind_table_save(built->table, &table))
        return;
    cache_put(cache, CACHE_TABLE, built->key, &table, 1);
    cache_put(cache, CACHE_STARTUP, built->key, &startup, 1);
    free((void *)table.data);
}

int recording_build(struct recording_built *built, struct image *image, struct cache *cache,
                    struct sprof_error *error)
{
    struct found_symbols found;
    if (!find_all_symbols(image, &found))
        return sprof_error_memory(error);
    struct image *debug = open_frames(image);
    built->startup_count = 0;
    int result = build_from(&built->table, image, image, &found, error);
    if (result == SPROF_ENOTFOUND && debug)
        result = build_from(&built->table, image, debug, &found, error);
    take_startup_symbols(image, &found, built);
    free(found.names);
    free(found.symbols);
    if (!result)
        store(built, cache);
    image_free(debug);
    image_drop_sections(image);
    return result;
}

/* == Opening == */

/* The size of the vdso by its section headers, which end it. */
static size_t vdso_size(const uint8_t *start)
{
    Elf64_Ehdr header;
    memcpy(&header, start, sizeof header);
    const size_t size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    const size_t limit = (size_t)sysconf(_SC_PAGESIZE) * MAX_VDSO_PAGES;
    return size <= limit ? size : 0;
}

int recording_open_image(struct image **image, const struct image_request *request,
                         struct sprof_error *error)
{
    if (strcmp(request->file.path, "[vdso]") != 0)
        return image_open(image, request, error);
    const uint8_t *start = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (!start)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "this process has no vdso to read");
    return image_open_memory(image, "[vdso]", (struct sprof_bytes){start, vdso_size(start)}, error);
}
