/* One image: its symbols, then its DWARF, then the bounds of functions nobody named. */
#include "symbolize/addresses.h"
#include "symbolize/builder.h"
#include "symbolize/demangle.h"
#include "symbolize/dwarf_functions.h"
#include "symbolize/function_index.h"
#include "symbolize/lines.h"
#include "symbolize/plt.h"
#include "symbolize/symbols.h"
#include "symbolize/units.h"

#include <stdlib.h>
#include <string.h>

struct job {
    struct builder builder;
    struct image *image;
    const struct symbolize_options *options;
    struct module module; /* opened when something is needed that the cache has not */
    bool module_opened, module_usable;
    struct symbol_table table;
    struct image *debug; /* the separate debug file, NULL where there is none */
    bool keyed;          /* what is found can be kept in the cache */
    bool has_dwarf;      /* perhaps */
    bool worth_storing;  /* the index has grown */
    struct sprof_digest index_key;
    struct function_index index;
    struct dwarf_names names; /* what the index is filled from */
    Dwarf *dwarf;             /* NULL: not opened, or there is none */
    uint64_t delta;           /* DWARF's address = vaddr + delta */
    bool dwarf_opened;
    size_t described; /* names that were read */
    struct addresses addresses;
    const struct symbolize_bounds *bounds;
    struct symbols symbols;
    struct plt plt;
    struct flat flat;               /* of the addresses that the index has not */
    struct addresses missing;       /* these */
    struct sprof_map missing_index; /* address → its place among them */
    struct sprof_map inlined;       /* identity of an entry → its function */
};

static bool open_module(struct job *job)
{
    if (!job->module_opened)
        job->module_usable = module_open(&job->module, job->image, job->options);
    job->module_opened = true;
    return job->module_usable;
}

static bool has_dwarf(const struct image *image)
{
    return image_has_section(image, ".debug_info") || image_has_section(image, ".zdebug_info");
}

/* The symbols of the image and its debug file. Returns 1 where the image cannot be read. */
static int find_symbols(struct job *job)
{
    struct sprof_digest key = {0};
    struct image *debug = job->debug = module_open_debug(job->image, job->options);
    /* What debuginfod may send has no identity before it is there. */
    const bool certain = debug || !module_may_use_debuginfod(job->options);
    job->keyed = certain && job->options->cache;
    job->has_dwarf = !job->options->symbols_only &&
                     (!certain || has_dwarf(job->image) || (debug && has_dwarf(debug)));
    if (job->keyed)
        key = symbol_table_key(job->image, debug, job->options->cache);
    int code = 0;
    if (!job->keyed || !symbol_table_find(&job->table, job->options->cache, key)) {
        code = open_module(job) ? symbol_table_read(&job->table, &job->module) : 1;
        if (!code && job->keyed)
            symbol_table_store(&job->table, job->options->cache, key);
    }
    return code;
}

static bool is_named_without_dwarf(struct job *job, size_t address)
{
    const char *target;
    uint64_t start, size;
    return job->symbols.sized[address].name ||
           plt_find(&job->plt, job->addresses.items[address], &target, &start, &size);
}

/* Distribution debug files are compressed as a whole: libc's costs 40 ms before the first line. */
static struct image_packing packing(const struct job *job)
{
    return job->debug ? image_packing(job->debug) : (struct image_packing){0};
}

static bool is_packed(const struct job *job)
{
    enum { CHEAP_BYTES = 128 * 1024 };
    return packing(job).packed >= CHEAP_BYTES;
}

/* A handful of addresses that have names already is not worth it; the symbols come from the same
 * file. */
static bool dwarf_is_worth_it(struct job *job)
{
    enum { FEW = 32 };
    if (!is_packed(job) || job->addresses.count > FEW)
        return true;
    for (size_t i = 0; i < job->addresses.count; i++)
        if (!is_named_without_dwarf(job, i))
            return true;
    return false;
}

static struct sprof_digest index_key(struct job *job)
{
    static const char *const sections[] = {
        ".debug_info",    ".debug_abbrev",   ".debug_line", ".debug_str",         ".debug_line_str",
        ".debug_ranges",  ".debug_rnglists", ".debug_addr", ".debug_str_offsets", ".zdebug_info",
        ".zdebug_abbrev", ".zdebug_line",    ".zdebug_str", ".zdebug_ranges",     NULL};
    struct sprof_digest key = image_content(job->image, job->options->cache, sections);
    if (job->debug) {
        const struct sprof_digest debug = image_content(job->debug, job->options->cache, sections);
        sprof_digest_add(&key, &debug, sizeof debug);
    }
    /* What dwz moved elsewhere is found or not: names found without it are not those with it. */
    struct image *const files[] = {job->image, job->debug};
    for (size_t i = 0; i < 2 && files[i]; i++) {
        struct image *alternate;
        if (image_open_alternate(&alternate, job->image, files[i], NULL) || !alternate)
            continue;
        const struct sprof_digest shared = image_content(alternate, job->options->cache, sections);
        sprof_digest_add(&key, &shared, sizeof shared);
        image_free(alternate);
    }
    return key;
}

/* Collects the addresses that the index does not know, in order. */
static int find_missing(struct job *job)
{
    uint64_t *items = malloc((job->addresses.count + 1) * sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items && i < job->addresses.count; i++)
        if (!function_index_find(&job->index, job->addresses.items[i]))
            items[count++] = job->addresses.items[i];
    free((void *)job->missing.items);
    job->missing = (struct addresses){items, count};
    return items ? 0 : SPROF_ENOMEM;
}

/* Of addresses without a function the line alone is kept, if there is one: each stands for itself.
 */
static void keep_single_addresses(struct job *job)
{
    struct function_index *index = &job->index;
    for (size_t i = 0; i < job->missing.count && job->flat.of; i++) {
        if (job->flat.of[i].entry)
            continue;
        const struct place place = lines_of_address(&job->flat, i);
        const struct index_line line = {0, function_index_text(index, place.file), place.line};
        const struct index_piece piece = {.low = job->missing.items[i],
                                          .high = job->missing.items[i] + 1,
                                          .first_call = (uint32_t)index->calls.count,
                                          .first_range = (uint32_t)index->ranges.count,
                                          .first_line = (uint32_t)index->lines.count,
                                          .line_count = 1};
        if (sprof_vec_push(&index->lines, line) || sprof_vec_push(&index->pieces, piece))
            index->failed = true;
    }
}

static bool open_dwarf(struct job *job)
{
    struct dwarf_sections sections;
    if (!job->dwarf_opened && open_module(job)) {
        job->dwarf = module_dwarf(&job->module, job->debug, &job->delta);
        if (job->dwarf) {
            module_dwarf_sections(job->dwarf, &sections);
            dwarf_names_open(&job->names, &sections, &job->index);
        }
    }
    job->dwarf_opened = true;
    return job->dwarf != NULL;
}

static bool is_read_whole(const struct job *job)
{
    enum { WHOLE_BYTES = 16 << 20 };
    return job->keyed && is_packed(job) && packing(job).unpacked <= WHOLE_BYTES;
}

/* What had to be unpacked is read with all functions and names, so that it need not be unpacked
 * again as long as the cache has them. */
static void read_whole(struct job *job)
{
    struct function_index *index = &job->index;
    function_index_release(index);
    dwarf_functions_add(&job->names, job->delta, NULL);
    for (size_t i = 0; i < index->descriptions.count && !index->failed; i++)
        if (index->descriptions.items[i].entry)
            dwarf_names_describe(&job->names, &index->descriptions.items[i]);
    index->whole = true;
}

/* First by the index, then the functions that can be added to it, then what only libdw can read. */
static int read_dwarf(struct job *job)
{
    function_index_own(&job->index);
    if (is_read_whole(job) && !job->index.whole)
        read_whole(job);
    else if (!job->index.whole)
        dwarf_functions_add(&job->names, job->delta, &job->missing);
    function_index_sort(&job->index);
    if (job->index.failed || find_missing(job))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < job->missing.count; i++)
        if (sprof_map_put(&job->missing_index, job->missing.items[i], i))
            return SPROF_ENOMEM;
    return job->missing.count ? units_flatten(&job->flat, job->dwarf, job->delta, &job->missing)
                              : 0;
}

/* A few functions or names more are not worth writing all of them again, but where they had to be
 * unpacked. */
static bool is_worth_storing(const struct job *job, size_t added)
{
    return job->keyed && added && (added >= job->addresses.count / 64 || is_packed(job));
}

static int read_debug_information(struct job *job)
{
    if (symbols_find(&job->symbols, &job->table, &job->addresses, job->bounds))
        return SPROF_ENOMEM;
    if (!job->has_dwarf)
        return 0;
    if (job->keyed) {
        job->index_key = index_key(job);
        function_index_load(&job->index, job->options->cache, job->index_key);
    }
    if (job->index.failed || find_missing(job))
        return SPROF_ENOMEM;
    if (!job->missing.count || !dwarf_is_worth_it(job) || !open_dwarf(job))
        return 0;
    const size_t asked = job->missing.count;
    const int code = read_dwarf(job);
    if (!code && is_worth_storing(job, asked)) {
        keep_single_addresses(job);
        function_index_sort(&job->index);
        job->worth_storing = true;
    }
    return code || job->index.failed ? SPROF_ENOMEM : 0;
}

/* What covers an address: an entry of libdw's, or a piece of the index. Both NULL: nothing known.
 */
struct covering {
    const struct flat_entry *entry;
    const struct index_piece *piece;
};

static struct description describe_number(struct job *job, uint32_t number)
{
    struct index_description *found = &job->index.descriptions.items[number - 1];
    if (found->entry && open_dwarf(job)) {
        dwarf_names_describe(&job->names, found);
        job->described++;
    }
    return (struct description){
        .linkage_name = function_index_text_of(&job->index, found->linkage_name),
        .demangled = function_index_text_of(&job->index, found->name),
        .declared = {function_index_text_of(&job->index, found->file), found->line},
        .ada = found->ada != 0,
    };
}

static struct description describe(struct job *job, const struct covering *covering)
{
    if (covering->entry)
        return lines_describe(&covering->entry->die);
    if (covering->piece && covering->piece->description)
        return describe_number(job, covering->piece->description);
    return (struct description){0};
}

static const struct flat_entry *entry_of(const struct job *job, uint32_t entry)
{
    return entry ? &job->flat.entries.items[entry - 1] : NULL;
}

static uint32_t add_function(struct job *job, uint64_t key, const char *linkage_name,
                             uint64_t start, uint64_t size, const struct description *description)
{
    const bool known = description->demangled && description->linkage_name &&
                       !strcmp(description->linkage_name, linkage_name);
    char *name = known ? NULL : demangle_name(linkage_name, description->ada || job->symbols.ada);
    const struct symbolize_function function = {
        .name = known ? description->demangled : name,
        .linkage_name = linkage_name,
        .start = start,
        .size = size,
        .file = description->declared.file,
        .line = description->declared.line,
        .named = true,
    };
    const uint32_t index = builder_add(&job->builder, key, &function);
    free(name);
    return index;
}

/* The tables of old libraries write the version into the name: memcpy@@GLIBC_2.14. */
static char *without_version(const char *name)
{
    const char *at = strchr(name, '@');
    return at && at != name ? strndup(name, (size_t)(at - name)) : strdup(name);
}

static uint32_t function_of_symbol(struct job *job, const struct symbol *symbol,
                                   const struct covering *covering)
{
    uint32_t index;
    const uint64_t key = builder_physical_key(symbol->start);
    if (builder_find(&job->builder, key, &index))
        return index;
    char *name = without_version(symbol->name);
    const struct description description = describe(job, covering);
    index = add_function(job, key, name ? name : symbol->name, symbol->start, symbol->size,
                         &description);
    free(name);
    return index;
}

static bool function_of_covering(struct job *job, const struct covering *covering, uint32_t *index)
{
    uint64_t start = 0, size = 0;
    if (covering->entry) {
        start = covering->entry->start;
        size = covering->entry->size;
    } else if (covering->piece && covering->piece->description) {
        start = covering->piece->low;
        size = covering->piece->high - start;
    } else {
        return false;
    }
    const uint64_t key = builder_physical_key(start);
    if (builder_find(&job->builder, key, index))
        return true;
    const struct description description = describe(job, covering);
    if (!description.linkage_name)
        return false;
    *index = add_function(job, key, description.linkage_name, start, size, &description);
    return true;
}

/* Shown as the function it leads to, "malloc@plt", as other tools do. */
static bool function_of_plt_entry(struct job *job, uint64_t address, uint32_t *index)
{
    const char *target;
    uint64_t start, size;
    if (!plt_find(&job->plt, address, &target, &start, &size))
        return false;
    const uint64_t key = builder_physical_key(start);
    if (builder_find(&job->builder, key, index))
        return true;
    struct sprof_str name = {0}, linkage_name = {0};
    char *demangled = demangle_name(target, false);
    sprof_str_appendf(&name, "%s@plt", demangled ? demangled : target);
    sprof_str_appendf(&linkage_name, "%s@plt", target);
    job->builder.failed |= name.failed || linkage_name.failed;
    const struct symbolize_function function = {
        .name = name.text,
        .linkage_name = linkage_name.text,
        .start = start,
        .size = size,
        .named = true,
    };
    *index = builder_add(&job->builder, key, &function);
    free(demangled);
    sprof_str_release(&name);
    sprof_str_release(&linkage_name);
    return true;
}

/* Symbols go first: they name a function the same way with and without debug information. */
static uint32_t physical_function(struct job *job, size_t address, const struct covering *covering)
{
    uint32_t index;
    if (job->symbols.sized[address].name)
        return function_of_symbol(job, &job->symbols.sized[address], covering);
    if (function_of_covering(job, covering, &index))
        return index;
    if (function_of_plt_entry(job, job->addresses.items[address], &index))
        return index;
    if (job->symbols.unsized[address].name)
        return function_of_symbol(job, &job->symbols.unsized[address], covering);
    return builder_add_unnamed(&job->builder, image_path(job->image), job->addresses.items[address],
                               job->bounds);
}

/* `identity` names the same function wherever it is inlined. */
static uint32_t inlined_function(struct job *job, uint64_t identity, struct description description)
{
    if (!description.linkage_name)
        description.linkage_name = "[inlined]";
    const uint64_t key = builder_inlined_key(description.linkage_name, description.declared.file,
                                             description.declared.line);
    uint32_t index;
    if (!builder_find(&job->builder, key, &index))
        index = add_function(job, key, description.linkage_name, 0, 0, &description);
    if (sprof_map_put(&job->inlined, identity, index))
        job->builder.failed = true;
    return index;
}

static uint32_t inlined_entry(struct job *job, const struct flat_entry *entry)
{
    const uint64_t identity = (uint64_t)(uintptr_t)lines_identity(&entry->die);
    const uint64_t *known = sprof_map_get(&job->inlined, identity);
    return known ? (uint32_t)*known : inlined_function(job, identity, lines_describe(&entry->die));
}

/* Demangling is half of the work the second time. */
static void keep_name(struct job *job, uint32_t number, uint32_t function)
{
    struct index_description *description = &job->index.descriptions.items[number - 1];
    if (!job->keyed || description->name || !description->linkage_name || job->builder.failed)
        return;
    const struct symbolize_function *named = &job->builder.functions.items[function];
    const char *linkage_name = function_index_text_of(&job->index, description->linkage_name);
    if (!strcmp(named->linkage_name, linkage_name))
        description->name = function_index_text(&job->index, named->name);
}

static uint32_t inlined_number(struct job *job, uint32_t number)
{
    const uint64_t identity = number; /* no address is so small */
    const uint64_t *known = sprof_map_get(&job->inlined, identity);
    if (known)
        return (uint32_t)*known;
    const uint32_t index = inlined_function(job, identity, describe_number(job, number));
    keep_name(job, number, index);
    return index;
}

static void add_chain_by_libdw(struct job *job, size_t address)
{
    const uint64_t *missing = sprof_map_get(&job->missing_index, job->addresses.items[address]);
    struct place place = {0};
    uint32_t number = 0;
    if (job->flat.of && missing) {
        place = lines_of_address(&job->flat, *missing);
        number = job->flat.of[*missing].entry;
    }
    for (const struct flat_entry *entry = entry_of(job, number); entry && entry->parent;
         entry = entry_of(job, number)) {
        builder_add_frame(&job->builder, inlined_entry(job, entry), place.file, place.line);
        place = lines_of_call(&job->flat, number);
        number = entry->parent;
    }
    const struct covering covering = {.entry = entry_of(job, number)};
    builder_add_frame(&job->builder, physical_function(job, address, &covering), place.file,
                      place.line);
}

static void add_chain_by_index(struct job *job, size_t address, const struct index_piece *piece)
{
    enum { MAX_LEVELS = 200 };
    const uint64_t vaddr = job->addresses.items[address];
    const struct function_index *index = &job->index;
    const struct index_line *line = function_index_line(index, piece, vaddr);
    const char *file = line ? function_index_text_of(index, line->file) : NULL;
    uint32_t number = line ? line->line : 0;
    const struct index_call *call = function_index_innermost(index, piece, vaddr);
    for (int level = 0; call && level < MAX_LEVELS; level++) {
        builder_add_frame(&job->builder, inlined_number(job, call->description), file, number);
        file = function_index_text_of(index, call->file);
        number = call->line;
        call = function_index_outer(index, piece, call);
    }
    const struct covering covering = {.piece = piece};
    const uint32_t function = physical_function(job, address, &covering);
    if (piece->description)
        keep_name(job, piece->description, function);
    builder_add_frame(&job->builder, function, file, number);
}

static void add_chain(struct job *job, size_t address)
{
    const struct index_piece *piece =
        function_index_find(&job->index, job->addresses.items[address]);
    builder_open_chain(&job->builder);
    if (piece)
        add_chain_by_index(job, address, piece);
    else
        add_chain_by_libdw(job, address);
}

static void add_unnamed(struct builder *builder, const char *module, uint64_t address,
                        const struct symbolize_bounds *bounds)
{
    builder_open_chain(builder);
    builder_add_frame(builder, builder_add_unnamed(builder, module, address, bounds), NULL, 0);
}

int symbolize_image(struct symbolize_result *result, struct image *image, const uint64_t *addresses,
                    size_t count, const struct symbolize_bounds *bounds,
                    const struct symbolize_options *options, struct sprof_error *error)
{
    static const struct symbolize_options defaults = {0};
    struct job job = {.image = image,
                      .options = options ? options : &defaults,
                      .addresses = {addresses, count},
                      .bounds = bounds,
                      .plt = {.image = image}};
    const int unreadable = find_symbols(&job);
    const bool readable = !unreadable;
    if (unreadable < 0 || (readable && read_debug_information(&job)))
        job.builder.failed = true;
    for (size_t i = 0; i < count && !job.builder.failed; i++) {
        if (readable)
            add_chain(&job, i);
        else
            add_unnamed(&job.builder, image_path(image), addresses[i], bounds);
    }
    const int code = builder_finish(&job.builder, result, error);
    if (!code && (job.worth_storing || is_worth_storing(&job, job.described)))
        function_index_store(&job.index, job.options->cache, job.index_key);
    sprof_map_release(&job.inlined);
    sprof_map_release(&job.missing_index);
    free((void *)job.missing.items);
    dwarf_names_release(&job.names);
    function_index_release(&job.index);
    units_release(&job.flat);
    symbols_release(&job.symbols);
    symbol_table_release(&job.table);
    module_release(&job.module);
    image_free(job.debug);
    return code;
}

int symbolize_without_image(struct symbolize_result *result, const char *module_name,
                            const uint64_t *addresses, size_t count,
                            const struct symbolize_bounds *bounds, struct sprof_error *error)
{
    struct builder builder = {0};
    for (size_t i = 0; i < count && !builder.failed; i++)
        add_unnamed(&builder, module_name, addresses[i], bounds);
    return builder_finish(&builder, result, error);
}
