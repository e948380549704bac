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
#include <unistd.h>

/* What is asked for, and the answer while it grows. */
struct question {
    struct addresses addresses;
    const struct symbolize_bounds *bounds;
    struct builder builder;
    struct symbols symbols;
    struct addresses missing;    /* those that the index has not */
    struct addresses left;       /* of these what is left to libdw */
    struct sprof_map left_index; /* address → its place among them */
    struct flat flat;            /* of these */
    bool settled;                /* all this is known */
    struct sprof_map inlined;    /* identity of an entry → its function */
};

struct symbolize_session {
    struct image *image;
    struct symbolize_options options;
    struct module module; /* opened when something is needed that the cache has not */
    bool module_opened, module_usable;
    struct symbol_table table;
    bool table_read, readable; /* `readable`: the image, as far as its symbols show */
    bool index_loaded;
    const atomic_bool *stop; /* of what is prepared; NULL: a question, which is answered */
    struct image *debug;     /* the separate debug file, NULL where there is none */
    bool certain;            /* nothing more may come from debuginfod */
    bool keyed;              /* what is found can be kept in the cache */
    bool has_dwarf;          /* perhaps */
    bool has_index_key;
    struct sprof_digest index_key;
    struct function_index index;
    struct dwarf_names names; /* what the index is filled from */
    Dwarf *dwarf;             /* NULL: not opened, or there is none */
    uint64_t delta;           /* DWARF's address = vaddr + delta */
    bool dwarf_opened;
    struct plt plt;
    size_t asked, added, described; /* addresses, those that the index had not, and names read */
    struct question question;
};

static bool open_module(struct symbolize_session *session)
{
    if (!session->module_opened)
        session->module_usable = module_open(&session->module, session->image, &session->options);
    session->module_opened = true;
    return session->module_usable;
}

static bool has_dwarf(const struct image *image)
{
    return image_has_section(image, ".debug_info") || image_has_section(image, ".zdebug_info");
}

/* The symbols of the image and its debug file, once. Returns 0 or SPROF_ENOMEM. */
static int read_symbols(struct symbolize_session *session)
{
    struct sprof_digest key = {0};
    if (session->table_read)
        return 0;
    if (session->keyed)
        key = symbol_table_key(session->image, session->debug, session->options.cache);
    int code = 0;
    if (!session->keyed || !symbol_table_find(&session->table, session->options.cache, key)) {
        code = open_module(session) ? symbol_table_read(&session->table, &session->module) : 1;
        if (!code && session->keyed)
            symbol_table_store(&session->table, session->options.cache, key);
    }
    session->table_read = code >= 0;
    session->readable = code == 0;
    return code < 0 ? code : 0;
}

static bool is_named_without_dwarf(struct symbolize_session *session, size_t address)
{
    const char *target;
    uint64_t start, size;
    return session->question.symbols.sized[address].name ||
           plt_find(&session->plt, session->question.addresses.items[address], &target, &start,
                    &size);
}

/* Distribution debug files are compressed as a whole: libc's costs 40 ms before the first line. */
static struct image_packing packing(const struct symbolize_session *session)
{
    return session->debug ? image_packing(session->debug) : (struct image_packing){0};
}

static bool is_packed(const struct symbolize_session *session)
{
    enum { CHEAP_BYTES = 128 * 1024 };
    return packing(session).packed >= CHEAP_BYTES;
}

/* A handful of addresses that have names already is not worth it; the symbols come from the same
 * file. */
static bool dwarf_is_worth_it(struct symbolize_session *session)
{
    enum { FEW = 32 };
    if (!is_packed(session) || session->question.addresses.count > FEW)
        return true;
    for (size_t i = 0; i < session->question.addresses.count; i++)
        if (!is_named_without_dwarf(session, i))
            return true;
    return false;
}

static const char *const debug_sections[] = {
    ".debug_info",    ".debug_abbrev",   ".debug_line", ".debug_str",         ".debug_line_str",
    ".debug_ranges",  ".debug_rnglists", ".debug_addr", ".debug_str_offsets", ".zdebug_info",
    ".zdebug_abbrev", ".zdebug_line",    ".zdebug_str", ".zdebug_ranges",     NULL};

static const struct sprof_digest *index_key(struct symbolize_session *session)
{
    if (session->has_index_key)
        return &session->index_key;
    struct sprof_digest key = image_content(session->image, session->options.cache, debug_sections);
    if (session->debug) {
        const struct sprof_digest debug =
            image_content(session->debug, session->options.cache, debug_sections);
        sprof_digest_add(&key, &debug, sizeof debug);
    }
    /* What dwz moved elsewhere is found or not: names found without it are not those with it. */
    struct image *const files[] = {session->image, session->debug};
    for (size_t i = 0; i < 2 && files[i]; i++) {
        struct image *alternate;
        if (image_open_alternate(&alternate, session->image, files[i], NULL) || !alternate)
            continue;
        const struct sprof_digest shared =
            image_content(alternate, session->options.cache, debug_sections);
        sprof_digest_add(&key, &shared, sizeof shared);
        image_free(alternate);
    }
    session->index_key = key;
    session->has_index_key = true;
    return &session->index_key;
}

/* Collects the addresses that the index does not know, in order. */
static int find_missing(struct symbolize_session *session)
{
    uint64_t *items = malloc((session->question.addresses.count + 1) * sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items && i < session->question.addresses.count; i++)
        if (!function_index_find(&session->index, session->question.addresses.items[i]))
            items[count++] = session->question.addresses.items[i];
    free((void *)session->question.missing.items);
    session->question.missing = (struct addresses){items, count};
    return items ? 0 : SPROF_ENOMEM;
}

/* Of addresses without a function the line alone is kept, if there is one: each stands for itself.
 */
static void keep_single_addresses(struct symbolize_session *session)
{
    struct function_index *index = &session->index;
    const struct question *question = &session->question;
    for (size_t i = 0; i < question->missing.count && question->settled; i++) {
        const uint64_t *left = sprof_map_get(&question->left_index, question->missing.items[i]);
        struct place place = {0};
        if (left && question->flat.of[*left].entry)
            continue;
        if (left)
            place = lines_of_address(&session->question.flat, *left);
        const struct index_line line = {0, function_index_text(index, place.file), place.line};
        const struct index_piece piece = {.low = question->missing.items[i],
                                          .high = question->missing.items[i] + 1,
                                          .first_call = (uint32_t)index->calls.count,
                                          .first_range = (uint32_t)index->ranges.count,
                                          .first_line = (uint32_t)index->lines.count,
                                          .line_count = 1};
        if (sprof_vec_push(&index->lines, line) || sprof_vec_push(&index->pieces, piece))
            index->failed = true;
    }
}

static bool open_dwarf(struct symbolize_session *session)
{
    struct dwarf_sections sections;
    if (!session->dwarf_opened && open_module(session)) {
        session->dwarf = module_dwarf(&session->module, session->debug, &session->delta);
        if (session->dwarf) {
            module_dwarf_sections(session->dwarf, &sections);
            dwarf_names_open(&session->names, &sections, &session->index);
        }
    }
    session->dwarf_opened = true;
    return session->dwarf != NULL;
}

static bool is_read_whole(const struct symbolize_session *session)
{
    enum { WHOLE_BYTES = 16 << 20 };
    return session->keyed && !session->names.files.count && is_packed(session) &&
           packing(session).unpacked <= WHOLE_BYTES;
}

/* What had to be unpacked is read with all functions and names, so that it need not be unpacked
 * again as long as the cache has them. */
static void read_whole(struct symbolize_session *session)
{
    struct function_index *index = &session->index;
    function_index_release(index);
    dwarf_functions_add(&session->names, session->delta, NULL, NULL);
    for (size_t i = 0; i < index->descriptions.count && !index->failed; i++)
        if (index->descriptions.items[i].entry)
            dwarf_names_describe(&session->names, &index->descriptions.items[i]);
    index->whole = true;
}

/* What the index cannot hold, and no unit rules out. */
static int ask_libdw(struct symbolize_session *session)
{
    struct question *question = &session->question;
    const size_t count = question->missing.count;
    uint64_t *left = malloc((count + 1) * sizeof *left);
    bool *claimed = calloc(count + 1, sizeof *claimed);
    const bool known = claimed && dwarf_functions_claim(&session->names, session->delta,
                                                        &question->missing, claimed);
    int code = left && claimed ? 0 : SPROF_ENOMEM;
    question->left = (struct addresses){left, 0};
    for (size_t i = 0; i < count && !code; i++)
        if (!known || claimed[i]) {
            code = sprof_map_put(&question->left_index, question->missing.items[i],
                                 question->left.count);
            left[question->left.count++] = question->missing.items[i];
        }
    free(claimed);
    if (!code && question->left.count)
        code = units_flatten(&question->flat, session->dwarf, session->delta, &question->left);
    question->settled = !code;
    return code;
}

/* First by the index, then the functions that can be added to it, then what only libdw can read. */
static int read_dwarf(struct symbolize_session *session)
{
    function_index_own(&session->index);
    if (is_read_whole(session) && !session->index.whole)
        read_whole(session);
    else if (!session->index.whole)
        dwarf_functions_add(&session->names, session->delta, &session->question.missing,
                            session->stop);
    function_index_sort(&session->index);
    if (session->index.failed || find_missing(session))
        return SPROF_ENOMEM;
    return session->stop ? 0 : ask_libdw(session);
}

/* A few functions or names more are not worth writing all of them again, but where they had to be
 * unpacked. */
static bool is_worth_storing(const struct symbolize_session *session)
{
    const size_t added = session->added > session->described ? session->added : session->described;
    return session->keyed && added && (added >= session->asked / 64 || is_packed(session));
}

static int read_debug_information(struct symbolize_session *session)
{
    if (symbols_find(&session->question.symbols, &session->table, &session->question.addresses,
                     session->question.bounds))
        return SPROF_ENOMEM;
    if (!session->has_dwarf)
        return 0;
    if (session->keyed && !session->index_loaded)
        function_index_load(&session->index, session->options.cache, *index_key(session));
    session->index_loaded = true;
    if (session->index.failed || find_missing(session))
        return SPROF_ENOMEM;
    if (!session->question.missing.count || !dwarf_is_worth_it(session) || !open_dwarf(session))
        return 0;
    const size_t asked = session->question.missing.count;
    const int code = read_dwarf(session);
    session->added += asked - (session->stop ? session->question.missing.count : 0);
    if (!code && is_worth_storing(session)) {
        keep_single_addresses(session);
        function_index_sort(&session->index);
    }
    return code || session->index.failed ? SPROF_ENOMEM : 0;
}

/* What covers an address: an entry of libdw's, or a piece of the index. Both NULL: nothing known.
 */
struct covering {
    const struct flat_entry *entry;
    const struct index_piece *piece;
};

static struct description describe_number(struct symbolize_session *session, uint32_t number)
{
    struct index_description *found = &session->index.descriptions.items[number - 1];
    if (found->entry && open_dwarf(session)) {
        dwarf_names_describe(&session->names, found);
        session->described++;
    }
    return (struct description){
        .linkage_name = function_index_text_of(&session->index, found->linkage_name),
        .demangled = function_index_text_of(&session->index, found->name),
        .declared = {function_index_text_of(&session->index, found->file), found->line},
        .ada = found->ada != 0,
    };
}

static struct description describe(struct symbolize_session *session,
                                   const struct covering *covering)
{
    if (covering->entry)
        return lines_describe(&covering->entry->die);
    if (covering->piece && covering->piece->description)
        return describe_number(session, covering->piece->description);
    return (struct description){0};
}

static const struct flat_entry *entry_of(const struct symbolize_session *session, uint32_t entry)
{
    return entry ? &session->question.flat.entries.items[entry - 1] : NULL;
}

static uint32_t add_function(struct symbolize_session *session, uint64_t key,
                             const char *linkage_name, uint64_t start, uint64_t size,
                             const struct description *description)
{
    const bool known = description->demangled && description->linkage_name &&
                       !strcmp(description->linkage_name, linkage_name);
    char *name =
        known ? NULL
              : demangle_name(linkage_name, description->ada || session->question.symbols.ada);
    const struct symbolize_function function = {
        .name = known ? description->demangled : name,
        .linkage_name = linkage_name,
        .start = start,
        .size = size,
        .file = description->declared.file,
        .line = description->declared.line,
        .named = true,
    };
    const uint32_t index = builder_add(&session->question.builder, key, &function);
    free(name);
    return index;
}

/* The tables of old libraries write the version into the name: memcpy@@GLIBC_2.14. */
static char *without_version(const char *name)
{
    const char *at = strchr(name, '@');
    return at && at != name ? strndup(name, (size_t)(at - name)) : strdup(name);
}

static uint32_t function_of_symbol(struct symbolize_session *session, const struct symbol *symbol,
                                   const struct covering *covering)
{
    uint32_t index;
    const uint64_t key = builder_physical_key(symbol->start);
    if (builder_find(&session->question.builder, key, &index))
        return index;
    char *name = without_version(symbol->name);
    const struct description description = describe(session, covering);
    index = add_function(session, key, name ? name : symbol->name, symbol->start, symbol->size,
                         &description);
    free(name);
    return index;
}

static bool function_of_covering(struct symbolize_session *session, const struct covering *covering,
                                 uint32_t *index)
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
    if (builder_find(&session->question.builder, key, index))
        return true;
    const struct description description = describe(session, covering);
    if (!description.linkage_name)
        return false;
    *index = add_function(session, key, description.linkage_name, start, size, &description);
    return true;
}

/* Shown as the function it leads to, "malloc@plt", as other tools do. */
static bool function_of_plt_entry(struct symbolize_session *session, uint64_t address,
                                  uint32_t *index)
{
    const char *target;
    uint64_t start, size;
    if (!plt_find(&session->plt, address, &target, &start, &size))
        return false;
    const uint64_t key = builder_physical_key(start);
    if (builder_find(&session->question.builder, key, index))
        return true;
    struct sprof_str name = {0}, linkage_name = {0};
    char *demangled = demangle_name(target, false);
    sprof_str_appendf(&name, "%s@plt", demangled ? demangled : target);
    sprof_str_appendf(&linkage_name, "%s@plt", target);
    session->question.builder.failed |= name.failed || linkage_name.failed;
    const struct symbolize_function function = {
        .name = name.text,
        .linkage_name = linkage_name.text,
        .start = start,
        .size = size,
        .named = true,
    };
    *index = builder_add(&session->question.builder, key, &function);
    free(demangled);
    sprof_str_release(&name);
    sprof_str_release(&linkage_name);
    return true;
}

/* Symbols go first: they name a function the same way with and without debug information. */
static uint32_t physical_function(struct symbolize_session *session, size_t address,
                                  const struct covering *covering)
{
    uint32_t index;
    if (session->question.symbols.sized[address].name)
        return function_of_symbol(session, &session->question.symbols.sized[address], covering);
    if (function_of_covering(session, covering, &index))
        return index;
    if (function_of_plt_entry(session, session->question.addresses.items[address], &index))
        return index;
    if (session->question.symbols.unsized[address].name)
        return function_of_symbol(session, &session->question.symbols.unsized[address], covering);
    return builder_add_unnamed(&session->question.builder, image_path(session->image),
                               session->question.addresses.items[address],
                               session->question.bounds);
}

/* `identity` names the same function wherever it is inlined. */
static uint32_t inlined_function(struct symbolize_session *session, uint64_t identity,
                                 struct description description)
{
    if (!description.linkage_name)
        description.linkage_name = "[inlined]";
    const uint64_t key = builder_inlined_key(description.linkage_name, description.declared.file,
                                             description.declared.line);
    uint32_t index;
    if (!builder_find(&session->question.builder, key, &index))
        index = add_function(session, key, description.linkage_name, 0, 0, &description);
    if (sprof_map_put(&session->question.inlined, identity, index))
        session->question.builder.failed = true;
    return index;
}

static uint32_t inlined_entry(struct symbolize_session *session, const struct flat_entry *entry)
{
    const uint64_t identity = (uint64_t)(uintptr_t)lines_identity(&entry->die);
    const uint64_t *known = sprof_map_get(&session->question.inlined, identity);
    return known ? (uint32_t)*known
                 : inlined_function(session, identity, lines_describe(&entry->die));
}

/* Demangling is half of the work the second time. */
static void keep_name(struct symbolize_session *session, uint32_t number, uint32_t function)
{
    struct index_description *description = &session->index.descriptions.items[number - 1];
    if (!session->keyed || description->name || !description->linkage_name ||
        session->question.builder.failed)
        return;
    const struct symbolize_function *named = &session->question.builder.functions.items[function];
    const char *linkage_name = function_index_text_of(&session->index, description->linkage_name);
    if (!strcmp(named->linkage_name, linkage_name))
        description->name = function_index_text(&session->index, named->name);
}

static uint32_t inlined_number(struct symbolize_session *session, uint32_t number)
{
    const uint64_t identity = number; /* no address is so small */
    const uint64_t *known = sprof_map_get(&session->question.inlined, identity);
    if (known)
        return (uint32_t)*known;
    const uint32_t index = inlined_function(session, identity, describe_number(session, number));
    keep_name(session, number, index);
    return index;
}

static void add_chain_by_libdw(struct symbolize_session *session, size_t address)
{
    const uint64_t *left =
        sprof_map_get(&session->question.left_index, session->question.addresses.items[address]);
    struct place place = {0};
    uint32_t number = 0;
    if (session->question.flat.of && left) {
        place = lines_of_address(&session->question.flat, *left);
        number = session->question.flat.of[*left].entry;
    }
    for (const struct flat_entry *entry = entry_of(session, number); entry && entry->parent;
         entry = entry_of(session, number)) {
        builder_add_frame(&session->question.builder, inlined_entry(session, entry), place.file,
                          place.line);
        place = lines_of_call(&session->question.flat, number);
        number = entry->parent;
    }
    const struct covering covering = {.entry = entry_of(session, number)};
    builder_add_frame(&session->question.builder, physical_function(session, address, &covering),
                      place.file, place.line);
}

static void add_chain_by_index(struct symbolize_session *session, size_t address,
                               const struct index_piece *piece)
{
    enum { MAX_LEVELS = 200 };
    const uint64_t vaddr = session->question.addresses.items[address];
    const struct function_index *index = &session->index;
    const struct index_line *line = function_index_line(index, piece, vaddr);
    const char *file = line ? function_index_text_of(index, line->file) : NULL;
    uint32_t number = line ? line->line : 0;
    const struct index_call *call = function_index_innermost(index, piece, vaddr);
    for (int level = 0; call && level < MAX_LEVELS; level++) {
        builder_add_frame(&session->question.builder, inlined_number(session, call->description),
                          file, number);
        file = function_index_text_of(index, call->file);
        number = call->line;
        call = function_index_outer(index, piece, call);
    }
    const struct covering covering = {.piece = piece};
    const uint32_t function = physical_function(session, address, &covering);
    if (piece->description)
        keep_name(session, piece->description, function);
    builder_add_frame(&session->question.builder, function, file, number);
}

static void add_chain(struct symbolize_session *session, size_t address)
{
    const struct index_piece *piece =
        function_index_find(&session->index, session->question.addresses.items[address]);
    builder_open_chain(&session->question.builder);
    if (piece)
        add_chain_by_index(session, address, piece);
    else
        add_chain_by_libdw(session, address);
}

static void add_unnamed(struct builder *builder, const char *module, uint64_t address,
                        const struct symbolize_bounds *bounds)
{
    builder_open_chain(builder);
    builder_add_frame(builder, builder_add_unnamed(builder, module, address, bounds), NULL, 0);
}

/* == Sessions == */

int symbolize_session_open(struct symbolize_session **out, struct image *image,
                           const struct symbolize_options *options, struct sprof_error *error)
{
    struct symbolize_session *session = *out = calloc(1, sizeof *session);
    if (!session)
        return sprof_error_memory(error);
    session->image = session->plt.image = image;
    if (options)
        session->options = *options;
    struct image *debug = session->debug = module_open_debug(image, &session->options);
    /* What debuginfod may send has no identity before it is there. */
    session->certain = debug || !module_may_use_debuginfod(&session->options);
    session->keyed = session->certain && session->options.cache;
    session->has_dwarf = !session->options.symbols_only &&
                         (!session->certain || has_dwarf(image) || (debug && has_dwarf(debug)));
    return 0;
}

bool symbolize_session_has_news(const struct symbolize_session *session)
{
    return is_worth_storing(session) && !session->index.failed;
}

void symbolize_session_close(struct symbolize_session *session)
{
    if (!session)
        return;
    if (symbolize_session_has_news(session))
        function_index_store(&session->index, session->options.cache, *index_key(session));
    dwarf_names_release(&session->names);
    function_index_release(&session->index);
    symbol_table_release(&session->table);
    module_release(&session->module);
    image_free(session->debug);
    free(session);
}

static void begin_question(struct symbolize_session *session, const uint64_t *addresses,
                           size_t count, const struct symbolize_bounds *bounds)
{
    session->question = (struct question){.addresses = {addresses, count}, .bounds = bounds};
    session->asked = count;
    session->plt.steps = 0;
    dwarf_refill_steps(&session->names.dwarf);
}

/* What is left of a question besides the answer. */
static void end_question(struct symbolize_session *session)
{
    struct question *question = &session->question;
    sprof_map_release(&question->inlined);
    sprof_map_release(&question->left_index);
    free((void *)question->left.items);
    free((void *)question->missing.items);
    units_release(&question->flat);
    symbols_release(&question->symbols);
    session->question = (struct question){0};
}

int symbolize_session_ask(struct symbolize_session *session, struct symbolize_result *result,
                          const uint64_t *addresses, size_t count,
                          const struct symbolize_bounds *bounds, struct sprof_error *error)
{
    begin_question(session, addresses, count, bounds);
    struct builder *builder = &session->question.builder;
    builder->failed =
        read_symbols(session) || (session->readable && read_debug_information(session));
    for (size_t i = 0; i < count && !builder->failed; i++) {
        if (session->readable)
            add_chain(session, i);
        else
            add_unnamed(builder, image_path(session->image), addresses[i], bounds);
    }
    const int code = builder_finish(builder, result, error);
    end_question(session);
    return code;
}

uint64_t symbolize_session_preparable(struct symbolize_session *session)
{
    static const uint64_t incredible = UINT64_C(1) << 40; /* what a forged header may claim */
    uint64_t offset, bytes = 0;
    if (!session->certain || !session->has_dwarf)
        return 0;
    if (session->keyed) {
        const int kept =
            cache_open_entry(session->options.cache, CACHE_LINES, *index_key(session), &offset);
        if (kept >= 0) {
            close(kept);
            return 0;
        }
    }
    struct image *const files[] = {session->image, session->debug};
    for (size_t i = 0; i < 2 && files[i]; i++) {
        struct image_extent extent;
        for (const char *const *name = debug_sections; *name; name++)
            if (image_section_extent(files[i], *name, &extent))
                bytes += extent.size;
        const uint64_t unpacked = image_packing(files[i]).unpacked;
        bytes += unpacked < incredible ? unpacked : incredible;
    }
    return bytes;
}

/* Answers as symbolize_session_ask does and forgets the answer, but for what only libdw can read.
 */
void symbolize_session_prepare(struct symbolize_session *session, const uint64_t *addresses,
                               size_t count, const atomic_bool *stop)
{
    struct symbolize_result answer;
    begin_question(session, addresses, count, NULL);
    session->stop = stop;
    struct builder *builder = &session->question.builder;
    builder->failed =
        read_symbols(session) || (session->readable && read_debug_information(session));
    for (size_t i = 0; i < count && !builder->failed && session->readable; i++) {
        if (atomic_load_explicit(stop, memory_order_relaxed))
            break;
        if (function_index_find(&session->index, addresses[i]))
            add_chain(session, i);
    }
    if (!builder_finish(builder, &answer, NULL))
        symbolize_result_release(&answer);
    end_question(session);
    session->stop = NULL;
}

int symbolize_image(struct symbolize_result *result, struct image *image, const uint64_t *addresses,
                    size_t count, const struct symbolize_bounds *bounds,
                    const struct symbolize_options *options, struct sprof_error *error)
{
    struct symbolize_session *session;
    int code = symbolize_session_open(&session, image, options, error);
    if (!code)
        code = symbolize_session_ask(session, result, addresses, count, bounds, error);
    symbolize_session_close(session);
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
