/* Reads what a question needs and the cache does not have: symbols, then debug information. */
#include "symbolize/session.h"

#include "symbolize/dwarf_shares.h"
#include "symbolize/lines.h"

#include <stdlib.h>

static bool open_module(struct symbolize_session *session)
{
    if (!session->module_opened)
        session->module_usable =
            symbolize_module_open(&session->module, session->image, &session->options);
    session->module_opened = true;
    return session->module_usable;
}

bool symbolize_session_file_has_dwarf(const struct image *image)
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
        key = symbolize_symbol_table_key(session->image, session->debug, session->options.cache);
    int code = 0;
    if (!session->keyed ||
        !symbolize_symbol_table_find(&session->table, session->options.cache, key)) {
        code = open_module(session) ? symbolize_symbol_table_read(&session->table, &session->module)
                                    : 1;
        if (!code && session->keyed && image_stayed_whole(session->image))
            symbolize_symbol_table_store(&session->table, session->options.cache, key);
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
           symbolize_plt_find(&session->plt, session->question.addresses.items[address], &target,
                              &start, &size);
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

static bool is_unpacked_soon(const struct symbolize_session *session)
{
    enum { SOON_BYTES = 16 << 20 };
    return packing(session).unpacked <= SOON_BYTES;
}

/* What takes long to unpack is not worth it for a handful of addresses that have names already; the
 * symbols come from the same file. Of all others the answer for an address does not depend on how
 * many there are, so that a function is the same one in a short run and in a long one. */
static bool dwarf_is_worth_it(struct symbolize_session *session)
{
    enum { FEW = 32 };
    if (!is_packed(session) || is_unpacked_soon(session) || session->question.addresses.count > FEW)
        return true;
    for (size_t i = 0; i < session->question.addresses.count; i++)
        if (!is_named_without_dwarf(session, i))
            return true;
    return false;
}

const char *const session_debug_sections[] = {
    ".debug_info",    ".debug_abbrev",   ".debug_line", ".debug_str",         ".debug_line_str",
    ".debug_ranges",  ".debug_rnglists", ".debug_addr", ".debug_str_offsets", ".zdebug_info",
    ".zdebug_abbrev", ".zdebug_line",    ".zdebug_str", ".zdebug_ranges",     NULL};

/* What is prepared is read by its own thread alone, whose use of time is bounded. */
unsigned symbolize_session_threads(const struct symbolize_session *session)
{
    if (session->stop)
        return 1;
    return session->options.threads ? session->options.threads : sprof_threads_useful();
}

const struct sprof_digest *symbolize_session_index_key(struct symbolize_session *session,
                                                       unsigned threads)
{
    if (session->has_index_key)
        return &session->index_key;
    struct sprof_digest key =
        image_content(session->image, session->options.cache, session_debug_sections, threads);
    if (session->debug) {
        const struct sprof_digest debug =
            image_content(session->debug, session->options.cache, session_debug_sections, threads);
        sprof_digest_add(&key, &debug, sizeof debug);
    }
    /* What dwz moved elsewhere is found or not: names found without it are not those with it. */
    struct image *const files[] = {session->image, session->debug};
    for (size_t i = 0; i < 2 && files[i]; i++) {
        struct image *alternate;
        if (image_open_alternate(&alternate, session->image, files[i], NULL) || !alternate)
            continue;
        const struct sprof_digest shared =
            image_content(alternate, session->options.cache, session_debug_sections, threads);
        sprof_digest_add(&key, &shared, sizeof shared);
        image_free(alternate);
    }
    session->index_key = key;
    session->has_index_key = true;
    return &session->index_key;
}

/* Collects the addresses that the index lacks, in order. */
static int find_missing(struct symbolize_session *session)
{
    uint64_t *items = malloc((session->question.addresses.count + 1) * sizeof *items);
    size_t count = 0;
    for (size_t i = 0; items && i < session->question.addresses.count; i++)
        if (!symbolize_function_index_find(&session->index, session->question.addresses.items[i]))
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
            place = symbolize_lines_of_address(&session->question.flat, *left);
        const struct index_line line = {0, symbolize_function_index_text(index, place.file),
                                        place.line};
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

/* The size of the function at vaddr 0, 0 unknown. */
static uint64_t size_at_zero(const struct symbol_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (!table->entries[i].start && table->entries[i].size)
            return table->entries[i].size;
    return 0;
}

/* Where the image's code lies, in DWARF's addresses; the symbols have been read. */
static void find_code(struct symbolize_session *session)
{
    const size_t count = image_code(session->image, &session->code);
    const bool has_zero = count && !session->code[0].start;
    for (size_t i = 0; i < count; i++) {
        session->code[i].start += session->delta;
        session->code[i].end += session->delta;
    }
    session->names.dwarf.code = (struct dwarf_code){
        .stretches = session->code,
        .count = count,
        .has_zero = has_zero,
        .zero = session->delta,
        .zero_size = has_zero ? size_at_zero(&session->table) : 0,
    };
}

bool symbolize_session_open_dwarf(struct symbolize_session *session)
{
    struct dwarf_sections sections;
    if (!session->dwarf_opened && open_module(session)) {
        session->dwarf = symbolize_module_dwarf(&session->module, session->debug, &session->delta);
        if (session->dwarf) {
            symbolize_module_dwarf_sections(session->dwarf, &sections);
            symbolize_dwarf_names_open(&session->names, &sections, &session->index);
            find_code(session);
        }
    }
    session->dwarf_opened = true;
    return session->dwarf != NULL;
}

static bool is_read_whole(const struct symbolize_session *session)
{
    return session->keyed && !session->names.files.count && is_packed(session) &&
           is_unpacked_soon(session);
}

/* What is prepared is read by its own thread alone, whose use of time is bounded. NULL: all. */
static void add_functions(struct symbolize_session *session, const struct addresses *addresses)
{
    const size_t count = addresses ? addresses->count : SIZE_MAX;
    const unsigned threads = session->options.threads
                                 ? session->options.threads
                                 : symbolize_dwarf_shares_threads(&session->names.dwarf, count);
    if (session->stop)
        symbolize_dwarf_functions_add(&session->names, session->delta, addresses, session->stop);
    else
        symbolize_dwarf_shares_add(&session->names, session->delta, addresses, threads);
}

/* What had to be unpacked is read with all functions and names, so that it need not be unpacked
 * again as long as the cache has them. */
static void read_whole(struct symbolize_session *session)
{
    struct function_index *index = &session->index;
    symbolize_function_index_release(index);
    add_functions(session, NULL);
    for (size_t i = 0; i < index->descriptions.count && !index->failed; i++)
        if (index->descriptions.items[i].entry)
            symbolize_dwarf_names_describe(&session->names, &index->descriptions.items[i]);
    index->whole = true;
}

/* What the index cannot hold, and no unit rules out. */
static int ask_libdw(struct symbolize_session *session)
{
    struct question *question = &session->question;
    const size_t count = question->missing.count;
    uint64_t *left = malloc((count + 1) * sizeof *left);
    bool *claimed = calloc(count + 1, sizeof *claimed);
    const bool known = claimed && symbolize_dwarf_functions_claim(&session->names, session->delta,
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
        code = symbolize_units_flatten(&question->flat, session->dwarf, session->delta,
                                       &session->names.dwarf.code, &question->left);
    question->settled = !code;
    return code;
}

/* First by the index, then the functions that can be added to it, then what only libdw can read. */
static int read_dwarf(struct symbolize_session *session)
{
    symbolize_function_index_own(&session->index);
    if (is_read_whole(session) && !session->index.whole)
        read_whole(session);
    else if (!session->index.whole)
        add_functions(session, &session->question.missing);
    symbolize_function_index_sort(&session->index);
    if (session->index.failed || find_missing(session))
        return SPROF_ENOMEM;
    return session->stop ? 0 : ask_libdw(session);
}

/* A few functions or names more are not worth writing all of them again, but where they had to be
 * unpacked. */
bool symbolize_session_is_worth_storing(const struct symbolize_session *session)
{
    const size_t added = session->added > session->described ? session->added : session->described;
    return session->keyed && added && (added >= session->asked / 64 || is_packed(session));
}

static int read_debug_information(struct symbolize_session *session)
{
    if (symbolize_symbols_find(&session->question.symbols, &session->table,
                               &session->question.addresses, session->question.bounds))
        return SPROF_ENOMEM;
    if (!session->has_dwarf)
        return 0;
    if (session->keyed && !session->index_loaded)
        symbolize_function_index_load(
            &session->index, session->options.cache,
            *symbolize_session_index_key(session, symbolize_session_threads(session)));
    session->index_loaded = true;
    if (session->index.failed || find_missing(session))
        return SPROF_ENOMEM;
    if (!session->question.missing.count || !dwarf_is_worth_it(session) ||
        !symbolize_session_open_dwarf(session))
        return 0;
    const size_t asked = session->question.missing.count;
    const int code = read_dwarf(session);
    session->question.read = asked;
    session->added += asked - (session->stop ? session->question.missing.count : 0);
    if (!code) {
        keep_single_addresses(session);
        symbolize_function_index_sort(&session->index);
    }
    return code || session->index.failed ? SPROF_ENOMEM : 0;
}

int symbolize_session_read(struct symbolize_session *session)
{
    const int code = read_symbols(session);
    return code || !session->readable ? code : read_debug_information(session);
}
