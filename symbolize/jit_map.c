/* Code compiled at run time, as it was read: pieces in the order of their file, and the names of
 * addresses in them. */
#include "symbolize/jit_map.h"

#include "symbolize/addresses.h"
#include "symbolize/builder.h"

#include <stdlib.h>
#include <string.h>

int symbolize_jit_add(struct symbolize_jit *jit, struct jit_entry entry, const char *name,
                      size_t length)
{
    if (jit->entries.count >= JIT_MAX_ENTRIES) {
        jit->bad_lines++;
        jit->is_cut = true;
        return 0;
    }
    entry.name = sprof_arena_copy(&jit->texts, name, length < JIT_MAX_NAME ? length : JIT_MAX_NAME);
    return entry.name ? sprof_vec_push(&jit->entries, entry) : SPROF_ENOMEM;
}

void symbolize_jit_free(struct symbolize_jit *jit)
{
    if (!jit)
        return;
    sprof_vec_release(&jit->entries);
    sprof_vec_release(&jit->lines);
    sprof_arena_release(&jit->texts);
    free(jit);
}

uint64_t symbolize_jit_bad_lines(const struct symbolize_jit *jit)
{
    return jit->bad_lines;
}

bool symbolize_jit_is_cut(const struct symbolize_jit *jit)
{
    return jit->is_cut;
}

static int copy_lines(struct symbolize_jit *jit, const struct symbolize_jit *heirs)
{
    for (size_t i = 0; i < heirs->lines.count; i++) {
        struct jit_line line = heirs->lines.items[i];
        if (i && line.file == heirs->lines.items[i - 1].file)
            line.file = jit->last_file;
        else if (!(line.file = jit->last_file = sprof_arena_text(&jit->texts, line.file)))
            return SPROF_ENOMEM;
        if (sprof_vec_push(&jit->lines, line))
            return SPROF_ENOMEM;
    }
    return 0;
}

static uint64_t loaded_ns(const struct jit_entry *entry)
{
    return entry->line_end ? entry->earliest_ns : entry->time_ns;
}

/* Lines of a perf map that came together have one time, so none is known to be older. */
static bool is_older(const struct jit_entry *entry, const struct jit_entry *next)
{
    return entry->time_ns && (!entry->line_end || entry->time_ns < next->time_ns);
}

int symbolize_jit_succeed(struct symbolize_jit *jit, uint64_t until_ns,
                          const struct symbolize_jit *heirs)
{
    const uint32_t first_line = (uint32_t)jit->lines.count;
    size_t kept = 0;
    for (size_t i = 0; i < jit->entries.count; i++)
        if (loaded_ns(&jit->entries.items[i]) < until_ns)
            jit->entries.items[kept++] = jit->entries.items[i];
    jit->entries.count = kept;
    if (!heirs)
        return 0;
    int result = copy_lines(jit, heirs);
    for (size_t i = 0; i < heirs->entries.count && !result; i++) {
        struct jit_entry entry = heirs->entries.items[i];
        entry.line += first_line;
        result = symbolize_jit_add(jit, entry, entry.name, strlen(entry.name));
    }
    jit->is_cut |= heirs->is_cut;
    jit->bad_lines += heirs->bad_lines;
    return result;
}

/* Newest entries first, each takes the addresses that are still free; `next` leads over those that
 * are taken (path halving), so that a file of overlapping entries costs no more than another. */
static size_t next_free(size_t *next, size_t i)
{
    while (next[i] != i) {
        next[i] = next[next[i]];
        i = next[i];
    }
    return i;
}

static void assign(const struct symbolize_jit *jit, const struct addresses *addresses, size_t *next,
                   uint32_t *entry_of)
{
    for (size_t e = jit->entries.count; e-- > 0;) {
        const struct jit_entry *entry = &jit->entries.items[e];
        size_t i = next_free(next, addresses_lower_bound(addresses, entry->start));
        while (i < addresses->count && addresses->items[i] - entry->start < entry->size) {
            entry_of[i] = (uint32_t)(e + 1);
            next[i] = i + 1;
            i = next_free(next, i);
        }
    }
}

/* == Older code == */

enum { NUMBER_MAX = UINT16_MAX };

static uint64_t plain(uint64_t address)
{
    return address & ((UINT64_C(1) << SYMBOLIZE_JIT_ADDRESS_BITS) - 1);
}

/* An address with a number, and how many of the entries seen so far, newest first, cover it. */
struct numbered {
    uint64_t address;
    uint32_t number, seen;
    size_t at; /* among the addresses */
};

static int by_address(const void *left, const void *right)
{
    const struct numbered *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static size_t first_from(const struct numbered *items, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those with a number are the last of the sorted addresses. */
static int assign_numbered(const struct symbolize_jit *jit, const struct addresses *addresses,
                           uint32_t *entry_of)
{
    const size_t first =
        addresses_lower_bound(addresses, UINT64_C(1) << SYMBOLIZE_JIT_ADDRESS_BITS);
    const size_t count = addresses->count - first;
    struct numbered *items = calloc(count + 1, sizeof *items);
    if (!items)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < count; i++)
        items[i] = (struct numbered){
            plain(addresses->items[first + i]),
            (uint32_t)(addresses->items[first + i] >> SYMBOLIZE_JIT_ADDRESS_BITS), 0, first + i};
    qsort(items, count, sizeof *items, by_address);
    for (size_t e = jit->entries.count; count && e-- > 0;) {
        const struct jit_entry *entry = &jit->entries.items[e];
        for (size_t i = first_from(items, count, entry->start);
             i < count && items[i].address - entry->start < entry->size; i++)
            if (items[i].seen++ == items[i].number)
                entry_of[items[i].at] = (uint32_t)(e + 1);
    }
    free(items);
    return 0;
}

/* What covers an address. */
struct cover {
    const struct jit_entry *newest, *last; /* NULL: none seen yet */
    uint32_t seen;
};

int symbolize_jit_each_older(const struct symbolize_jit *jit, const uint64_t *addresses,
                             size_t count, symbolize_jit_older *older, void *context)
{
    const struct addresses asked = {addresses, count};
    struct cover *covers = calloc(count + 1, sizeof *covers);
    int result = covers ? 0 : SPROF_ENOMEM;
    for (size_t e = jit->entries.count; !result && e-- > 0;) {
        const struct jit_entry *entry = &jit->entries.items[e];
        for (size_t i = addresses_lower_bound(&asked, entry->start);
             !result && i < count && addresses[i] - entry->start < entry->size; i++) {
            struct cover *cover = &covers[i];
            if (!cover->newest)
                cover->newest = entry;
            else if (is_older(entry, cover->last) && cover->seen <= NUMBER_MAX)
                result =
                    older(context, i, strcmp(entry->name, cover->newest->name) ? cover->seen : 0,
                          cover->last->time_ns);
            cover->last = entry;
            cover->seen++;
        }
    }
    free(covers);
    return result;
}

/* == Chains == */

/* The last line at or before the address. */
static struct jit_line line_of(const struct symbolize_jit *jit, const struct jit_entry *entry,
                               uint64_t address)
{
    struct jit_line best = {0};
    for (uint32_t i = 0; i < entry->line_count; i++) {
        const struct jit_line *line = &jit->lines.items[entry->line + i];
        const uint64_t at = line->address + entry->moved;
        if (at <= address && (!best.file || line->address >= best.address))
            best = *line;
    }
    return best;
}

static void add_chain(struct builder *builder, const struct symbolize_jit *jit, uint32_t number,
                      uint64_t address)
{
    symbolize_builder_open_chain(builder);
    if (!number)
        return;
    const struct jit_entry *entry = &jit->entries.items[number - 1];
    const struct jit_line line = line_of(jit, entry, address);
    const uint64_t key = sprof_hash_mix(number);
    uint32_t function;
    if (!symbolize_builder_find(builder, key, &function))
        function = symbolize_builder_add(builder, key,
                                         &(struct symbolize_function){.linkage_name = entry->name,
                                                                      .start = entry->start,
                                                                      .size = entry->size,
                                                                      .named = true});
    symbolize_builder_add_frame(builder, function, line.file, line.line);
}

int symbolize_jit(struct symbolize_result *result, const struct symbolize_jit *jit,
                  const uint64_t *addresses, size_t count, struct sprof_error *error)
{
    const struct addresses asked = {addresses, count};
    struct builder builder = {0};
    size_t *next = calloc(count + 1, sizeof *next);
    uint32_t *entry_of = calloc(count + 1, sizeof *entry_of);
    builder.failed = !next || !entry_of;
    for (size_t i = 0; i <= count && next; i++)
        next[i] = i;
    if (!builder.failed)
        assign(jit, &asked, next, entry_of);
    builder.failed = builder.failed || assign_numbered(jit, &asked, entry_of);
    for (size_t i = 0; i < count && !builder.failed; i++)
        add_chain(&builder, jit, entry_of[i], plain(addresses[i]));
    free(next);
    free(entry_of);
    return symbolize_builder_finish(&builder, result, error);
}
