#include "recording/build.h"

#include "model/model.h"

#include <elf.h>
#include <sys/auxv.h>
#include <unistd.h>

enum { MAX_TEXT_RANGES = 64, PLT_ENTRY_BYTES = 16, MAX_VDSO_PAGES = 16 };

/* Roots that no call frame information marks, besides the entry point. A thread's start is not
 * among them: clone is called by the parent, and only the child's part of it, which tables mark or
 * the bytes tell, is a root. */
static const char *const root_names[] = {"_start", "_dl_start_user", NULL};
enum { ROOT_NAMES = sizeof root_names / sizeof *root_names - 1 };

/* Where in an entry of a lazy PLT the push ends, by the bytes of its first real entry. */
static uint8_t push_offset(struct sprof_bytes plt)
{
    static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
    if (plt.size < 2 * PLT_ENTRY_BYTES)
        return 0;
    const uint8_t *entry = plt.data + PLT_ENTRY_BYTES;
    if (memcmp(entry, endbr64, sizeof endbr64) == 0)
        return entry[4] == 0x68 ? 9 : 0;
    return entry[6] == 0x68 ? 11 : 0;
}

static size_t find_plts(struct image *image, struct unwind_plt plt[3])
{
    static const char *const names[3] = {".plt", ".plt.sec", ".plt.got"};
    size_t count = 0;
    for (size_t i = 0; i < 3; i++) {
        uint64_t vaddr;
        const struct sprof_bytes bytes = image_section(image, names[i], &vaddr);
        if (bytes.size)
            plt[count++] =
                (struct unwind_plt){{vaddr, vaddr + bytes.size}, i == 0 ? push_offset(bytes) : 0};
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

static size_t find_roots(struct image *image, uint64_t *roots)
{
    struct image_symbol symbols[ROOT_NAMES] = {0};
    image_find_symbols(image, root_names, symbols);
    size_t count = 0;
    for (size_t i = 0; i < ROOT_NAMES; i++)
        if (symbols[i].vaddr)
            roots[count++] = symbols[i].vaddr;
    return count;
}

/* A program, or the dynamic loader: its entry point is where a thread starts. Other libraries may
 * have an entry point that means nothing. */
static bool is_started_by_kernel(const struct image *image)
{
    const char *soname = image_soname(image);
    return image_is_executable(image) || (soname && strncmp(soname, "ld-", 3) == 0);
}

static int build_from(struct unwind_table **table, struct image *image, struct image *frames,
                      struct sprof_error *error)
{
    struct unwind_range text[MAX_TEXT_RANGES];
    struct unwind_plt plt[3];
    uint64_t roots[ROOT_NAMES];
    struct unwind_source source = {.text = text, .plt = plt, .root_vaddr = roots};
    source.text_count = find_text(image, text);
    source.plt_count = find_plts(image, plt);
    source.root_count = find_roots(image, roots);
    source.entry_vaddr = is_started_by_kernel(image) ? image_entry(image) : 0;
    source.eh_frame = image_section(frames, ".eh_frame", &source.eh_frame_vaddr);
    source.eh_frame_hdr = image_section(frames, ".eh_frame_hdr", &source.eh_frame_hdr_vaddr);
    source.debug_frame = image_section(frames, ".debug_frame", NULL);
    source.gopclntab = image_section(image, ".gopclntab", &source.gopclntab_vaddr);
    source.text_bytes = image_section(image, ".text", &source.text_vaddr);
    image_section(image, ".got", &source.got_vaddr);
    const int result = unwind_table_build(table, &source, error);
    image_drop_sections(image);
    return result;
}

int record_build_table(struct unwind_table **table, struct image *image, struct sprof_error *error)
{
    int result = build_from(table, image, image, error);
    struct image *debug = NULL;
    if (result == SPROF_ENOTFOUND && image_open_debug(&debug, image, NULL) == 0)
        result = build_from(table, image, debug, error);
    image_free(debug);
    return result;
}

size_t record_startup_ranges(struct image *image, const struct unwind_table *table,
                             struct unwind_range *ranges, size_t capacity)
{
    const char *const *names = model_startup_names();
    size_t count = 0, named = 0;
    while (names[named])
        named++;
    struct image_symbol *symbols = calloc(named + 1, sizeof *symbols);
    if (!symbols)
        return 0;
    image_find_symbols(image, names, symbols);
    for (size_t i = 0; i < named && count < capacity; i++)
        if (symbols[i].size)
            ranges[count++] =
                (struct unwind_range){symbols[i].vaddr, symbols[i].vaddr + symbols[i].size};
    free(symbols);
    struct unwind_range entry;
    if (count < capacity && image_is_executable(image) && table &&
        unwind_table_function(table, image_entry(image), &entry))
        ranges[count++] = entry;
    return count;
}

/* The size of the vdso by its section headers, which end it. */
static size_t vdso_size(const uint8_t *start)
{
    Elf64_Ehdr header;
    memcpy(&header, start, sizeof header);
    const size_t size = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
    const size_t limit = (size_t)sysconf(_SC_PAGESIZE) * MAX_VDSO_PAGES;
    return size <= limit ? size : 0;
}

int record_open_image(struct image **image, const struct image_request *request,
                      struct sprof_error *error)
{
    if (strcmp(request->file.path, "[vdso]") != 0)
        return image_open(image, request, error);
    const uint8_t *start = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    if (!start)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "this process has no vdso to read");
    return image_open_memory(image, "[vdso]", (struct sprof_bytes){start, vdso_size(start)}, error);
}
