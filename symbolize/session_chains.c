/* The function of an address and the calls inlined there: by debug information, by symbols, or by
 * the bounds of a function without a name. */
#include "symbolize/session.h"

#include "symbolize/demangle.h"
#include "symbolize/lines.h"

#include <stdlib.h>
#include <string.h>

/* What covers an address: an entry of libdw's, or a piece of the index. Both NULL: nothing known.
 */
struct covering {
    const struct flat_entry *entry;
    const struct index_piece *piece;
};

static struct description describe_number(struct symbolize_session *session, uint32_t number)
{
    struct index_description *found = &session->index.descriptions.items[number - 1];
    const struct names_ahead_name *ahead =
        symbolize_names_ahead_find(&session->question.ahead, number);
    if (found->entry && symbolize_session_open_dwarf(session)) {
        if (ahead)
            symbolize_dwarf_names_take(&session->names, found, &ahead->said);
        else
            symbolize_dwarf_names_describe(&session->names, found);
        session->described++;
    }
    const char *demangled = symbolize_function_index_text_of(&session->index, found->name);
    return (struct description){
        .linkage_name = symbolize_function_index_text_of(&session->index, found->linkage_name),
        .demangled = demangled || !ahead ? demangled : ahead->demangled,
        .declared = {symbolize_function_index_text_of(&session->index, found->file), found->line},
        .ada = found->ada != 0,
    };
}

static struct description describe(struct symbolize_session *session,
                                   const struct covering *covering)
{
    if (covering->entry)
        return symbolize_lines_describe(&covering->entry->die, &session->libdw_names,
                                        &session->libdw_nodes);
    if (covering->piece && covering->piece->description)
        return describe_number(session, covering->piece->description);
    return (struct description){0};
}

static const struct flat_entry *entry_of(const struct symbolize_session *session, uint32_t entry)
{
    return entry ? &session->question.flat.entries.items[entry - 1] : NULL;
}

/* Of a function by its symbol, the name that was made of its entry. */
static const char *inlined_name(const char *symbol, const char *name,
                                const struct description *description)
{
    const char *made = description->linkage_name;
    const bool is_made = made && name && symbol[0] == '_' && !strchr(symbol, '.') &&
                         made[0] != '_' && strchr(made, '(');
    return is_made && strcmp(made, name) ? made : NULL;
}

static uint32_t add_function(struct symbolize_session *session, uint64_t key,
                             const char *linkage_name, uint64_t start, uint64_t size,
                             const struct description *description)
{
    const bool known = description->demangled && description->linkage_name &&
                       !strcmp(description->linkage_name, linkage_name);
    char *name = known ? NULL
                       : symbolize_demangle_name(linkage_name,
                                                 description->ada || session->question.symbols.ada);
    const struct symbolize_function function = {
        .name = known ? description->demangled : name,
        .linkage_name = linkage_name,
        .inlined_name =
            inlined_name(linkage_name, known ? description->demangled : name, description),
        .start = start,
        .size = size,
        .file = description->declared.file,
        .line = description->declared.line,
        .named = true,
    };
    const uint32_t index = symbolize_builder_add(&session->question.builder, key, &function);
    free(name);
    return index;
}

/* The length of a name without a suffix that distinguishes functions of one name, once they stand
 * in one symbol table: LTO's, ThinLTO's, and of -funique-internal-linkage-names. They are numbered
 * anew in every build. Parts and clones (.cold, .part.0, .constprop.0) are other code of their
 * function, and keep theirs. */
static size_t without_number(const char *name, size_t length)
{
    static const char *const marks[] = {".lto_priv.", ".llvm.", ".__uniq."};
    size_t end = length;
    while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    for (size_t i = 0; i < sizeof marks / sizeof *marks && end < length; i++) {
        const size_t size = strlen(marks[i]);
        if (end > size && !memcmp(name + end - size, marks[i], size))
            return end - size;
    }
    return length;
}

/* A function that is called as its entry says, but for a number: GCC's nested ones. */
static bool is_numbered(const char *name, size_t length, const char *entry)
{
    const size_t base = entry ? strlen(entry) : 0;
    return base && base < length && !memcmp(name, entry, base) && name[base] == '.' &&
           strspn(name + base + 1, "0123456789") == length - base - 1;
}

/* What a function is called by its symbol. The tables of old libraries write the version into the
 * name, too: memcpy@@GLIBC_2.14. */
static char *plain_name(const char *name, const struct description *description)
{
    const char *at = strchr(name, '@');
    size_t length = at && at != name ? (size_t)(at - name) : strlen(name), before;
    do {
        before = length;
        length = without_number(name, length);
    } while (length < before);
    if (is_numbered(name, length, description->linkage_name))
        length = strlen(description->linkage_name);
    return strndup(name, length);
}

static uint32_t function_of_symbol(struct symbolize_session *session, const struct symbol *symbol,
                                   const struct covering *covering)
{
    uint32_t index;
    const uint64_t key = symbolize_builder_physical_key(symbol->start);
    if (symbolize_builder_find(&session->question.builder, key, &index))
        return index;
    const struct description description = describe(session, covering);
    char *name = plain_name(symbol->name, &description);
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
    const uint64_t key = symbolize_builder_physical_key(start);
    if (symbolize_builder_find(&session->question.builder, key, index))
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
    if (!symbolize_plt_find(&session->plt, address, &target, &start, &size))
        return false;
    const uint64_t key = symbolize_builder_physical_key(start);
    if (symbolize_builder_find(&session->question.builder, key, index))
        return true;
    struct sprof_str name = {0}, linkage_name = {0};
    char *demangled = symbolize_demangle_name(target, false);
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
    *index = symbolize_builder_add(&session->question.builder, key, &function);
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
    return symbolize_builder_add_unnamed(&session->question.builder, image_path(session->image),
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
    if (!symbolize_builder_find(&session->question.builder, key, &index))
        index = add_function(session, key, description.linkage_name, 0, 0, &description);
    if (sprof_map_put(&session->question.inlined, identity, index))
        session->question.builder.failed = true;
    return index;
}

static uint32_t inlined_entry(struct symbolize_session *session, const struct flat_entry *entry)
{
    const uint64_t identity = (uint64_t)(uintptr_t)symbolize_lines_identity(&entry->die);
    const uint64_t *known = sprof_map_get(&session->question.inlined, identity);
    return known ? (uint32_t)*known
                 : inlined_function(session, identity,
                                    symbolize_lines_describe(&entry->die, &session->libdw_names,
                                                             &session->libdw_nodes));
}

/* Demangling is half of the work the second time. */
static void keep_name(struct symbolize_session *session, uint32_t number, uint32_t function)
{
    struct index_description *description = &session->index.descriptions.items[number - 1];
    if (!session->keyed || description->name || !description->linkage_name ||
        session->question.builder.failed)
        return;
    const struct symbolize_function *named = &session->question.builder.functions.items[function];
    const char *linkage_name =
        symbolize_function_index_text_of(&session->index, description->linkage_name);
    if (!strcmp(named->linkage_name, linkage_name))
        description->name = symbolize_function_index_text(&session->index, named->name);
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
        place = symbolize_lines_of_address(&session->question.flat, *left);
        number = session->question.flat.of[*left].entry;
    }
    for (const struct flat_entry *entry = entry_of(session, number); entry && entry->parent;
         entry = entry_of(session, number)) {
        symbolize_builder_add_frame(&session->question.builder, inlined_entry(session, entry),
                                    place.file, place.line);
        place = symbolize_lines_of_call(&session->question.flat, number);
        number = entry->parent;
    }
    const struct covering covering = {.entry = entry_of(session, number)};
    symbolize_builder_add_frame(&session->question.builder,
                                physical_function(session, address, &covering), place.file,
                                place.line);
}

static void add_chain_by_index(struct symbolize_session *session, size_t address,
                               const struct index_piece *piece)
{
    const uint64_t vaddr = session->question.addresses.items[address];
    const struct function_index *index = &session->index;
    const struct index_line *line = symbolize_function_index_line(index, piece, vaddr);
    const char *file = line ? symbolize_function_index_text_of(index, line->file) : NULL;
    uint32_t number = line ? line->line : 0;
    const struct index_call *call = symbolize_function_index_innermost(index, piece, vaddr);
    for (int level = 0; call && level < INDEX_LEVELS_MAX; level++) {
        symbolize_builder_add_frame(&session->question.builder,
                                    inlined_number(session, call->description), file, number);
        file = symbolize_function_index_text_of(index, call->file);
        number = call->line;
        call = symbolize_function_index_outer(index, piece, call);
    }
    const struct covering covering = {.piece = piece};
    const uint32_t function = physical_function(session, address, &covering);
    if (piece->description)
        keep_name(session, piece->description, function);
    symbolize_builder_add_frame(&session->question.builder, function, file, number);
}

void symbolize_session_add_chain(struct symbolize_session *session, size_t address)
{
    const struct index_piece *piece =
        symbolize_function_index_find(&session->index, session->question.addresses.items[address]);
    symbolize_builder_open_chain(&session->question.builder);
    if (piece)
        add_chain_by_index(session, address, piece);
    else
        add_chain_by_libdw(session, address);
}
