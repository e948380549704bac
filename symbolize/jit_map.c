/* Code compiled at run time, as it was read: pieces in the order of their file, and the names of
 * addresses in them. */
#include "symbolize/jit_map.h"

#include "symbolize/addresses.h"
#include "symbolize/builder.h"

#include <stdlib.h>

int jit_add(struct symbolize_jit *jit, struct jit_entry entry, const char *name, size_t length)
{
    if (jit->entries.count >= JIT_MAX_ENTRIES) {
        jit->bad_lines++;
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
    builder_open_chain(builder);
    if (!number)
        return;
    const struct jit_entry *entry = &jit->entries.items[number - 1];
    const struct jit_line line = line_of(jit, entry, address);
    const uint64_t key = sprof_hash_mix(number);
    uint32_t function;
    if (!builder_find(builder, key, &function))
        function = builder_add(builder, key,
                               &(struct symbolize_function){.linkage_name = entry->name,
                                                            .start = entry->start,
                                                            .size = entry->size,
                                                            .named = true});
    builder_add_frame(builder, function, line.file, line.line);
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
    for (size_t i = 0; i < count && !builder.failed; i++)
        add_chain(&builder, jit, entry_of[i], addresses[i]);
    free(next);
    free(entry_of);
    return builder_finish(&builder, result, error);
}
