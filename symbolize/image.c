/* One image: its symbols, then its DWARF, then the bounds of functions nobody named. */
#include "symbolize/addresses.h"
#include "symbolize/builder.h"
#include "symbolize/demangle.h"
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
    bool has_dwarf; /* perhaps */
    struct addresses addresses;
    const struct symbolize_bounds *bounds;
    struct symbols symbols;
    struct plt plt;
    struct flat flat;
    struct sprof_map inlined; /* identity of an entry → its function */
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
    struct image *debug = module_open_debug(job->image, job->options);
    /* What debuginfod may send has no identity before it is there. */
    const bool certain = debug || !module_may_use_debuginfod(job->options);
    const bool keyed = certain && job->options->cache;
    job->has_dwarf = !job->options->symbols_only &&
                     (!certain || has_dwarf(job->image) || (debug && has_dwarf(debug)));
    if (keyed)
        key = symbol_table_key(job->image, debug, job->options->cache);
    int code = 0;
    if (!keyed || !symbol_table_find(&job->table, job->options->cache, key)) {
        code = open_module(job) ? symbol_table_read(&job->table, &job->module) : 1;
        if (!code && keyed)
            symbol_table_store(&job->table, job->options->cache, key);
    }
    if (debug && job->has_dwarf && open_module(job))
        module_measure_debug_file(&job->module, image_fd(debug));
    image_free(debug);
    return code;
}

static bool is_named_without_dwarf(struct job *job, size_t address)
{
    const char *target;
    uint64_t start, size;
    return job->symbols.sized[address].name ||
           plt_find(&job->plt, job->addresses.items[address], &target, &start, &size);
}

/* Distribution debug files are compressed as a whole: libc's costs 40 ms before the first line. A
 * handful of addresses that have names already is not worth it; the symbols come from the same
 * file. */
static bool dwarf_is_worth_it(struct job *job)
{
    enum { FEW = 32, CHEAP_BYTES = 128 * 1024 };
    if (job->module.packed_bytes < CHEAP_BYTES || job->addresses.count > FEW)
        return true;
    for (size_t i = 0; i < job->addresses.count; i++)
        if (!is_named_without_dwarf(job, i))
            return true;
    return false;
}

static int read_debug_information(struct job *job)
{
    uint64_t delta = 0;
    if (symbols_find(&job->symbols, &job->table, &job->addresses, job->bounds))
        return SPROF_ENOMEM;
    const bool wanted = job->has_dwarf && dwarf_is_worth_it(job) && open_module(job);
    Dwarf *dwarf = wanted ? module_dwarf(&job->module, &delta) : NULL;
    return dwarf ? units_flatten(&job->flat, dwarf, delta, &job->addresses) : 0;
}

static const struct flat_entry *entry_of(const struct job *job, uint32_t entry)
{
    return entry ? &job->flat.entries.items[entry - 1] : NULL;
}

static uint32_t add_function(struct job *job, uint64_t key, const char *linkage_name,
                             uint64_t start, uint64_t size, const struct description *description)
{
    char *name = demangle_name(linkage_name, description->ada || job->symbols.ada);
    const struct symbolize_function function = {
        .name = name,
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
                                   const struct flat_entry *entry)
{
    uint32_t index;
    const uint64_t key = builder_physical_key(symbol->start);
    if (builder_find(&job->builder, key, &index))
        return index;
    char *name = without_version(symbol->name);
    const struct description description =
        entry ? lines_describe(&entry->die) : (struct description){0};
    index = add_function(job, key, name ? name : symbol->name, symbol->start, symbol->size,
                         &description);
    free(name);
    return index;
}

static bool function_of_entry(struct job *job, const struct flat_entry *entry, uint32_t *index)
{
    const uint64_t key = builder_physical_key(entry->start);
    if (builder_find(&job->builder, key, index))
        return true;
    const struct description description = lines_describe(&entry->die);
    if (!description.linkage_name)
        return false;
    *index =
        add_function(job, key, description.linkage_name, entry->start, entry->size, &description);
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
static uint32_t physical_function(struct job *job, size_t address, uint32_t number)
{
    const struct flat_entry *entry = entry_of(job, number);
    uint32_t index;
    if (job->symbols.sized[address].name)
        return function_of_symbol(job, &job->symbols.sized[address], entry);
    if (entry && function_of_entry(job, entry, &index))
        return index;
    if (function_of_plt_entry(job, job->addresses.items[address], &index))
        return index;
    if (job->symbols.unsized[address].name)
        return function_of_symbol(job, &job->symbols.unsized[address], entry);
    return builder_add_unnamed(&job->builder, image_path(job->image), job->addresses.items[address],
                               job->bounds);
}

static uint32_t inlined_function(struct job *job, const struct flat_entry *entry)
{
    const uint64_t identity = (uint64_t)(uintptr_t)lines_identity(&entry->die);
    const uint64_t *known = sprof_map_get(&job->inlined, identity);
    if (known)
        return (uint32_t)*known;
    struct description description = lines_describe(&entry->die);
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

static void add_chain(struct job *job, size_t address)
{
    struct place place = {0};
    uint32_t number = 0;
    builder_open_chain(&job->builder);
    if (job->flat.of) {
        place = lines_of_address(&job->flat, address);
        number = job->flat.of[address].entry;
    }
    for (const struct flat_entry *entry = entry_of(job, number); entry && entry->parent;
         entry = entry_of(job, number)) {
        builder_add_frame(&job->builder, inlined_function(job, entry), place.file, place.line);
        place = lines_of_call(&job->flat, number);
        number = entry->parent;
    }
    builder_add_frame(&job->builder, physical_function(job, address, number), place.file,
                      place.line);
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
    sprof_map_release(&job.inlined);
    units_release(&job.flat);
    symbols_release(&job.symbols);
    symbol_table_release(&job.table);
    module_release(&job.module);
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
