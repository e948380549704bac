/* Shortens the names of a table so that no two look the same. */
#include "names/names.h"

#include <string.h>

struct entry {
    const char *name, *shown;
    enum names_detail detail;
    bool same; /* another name looks like it */
};

struct name_table {
    struct sprof_arena *arena;
    struct sprof_map numbers; /* hash of a text → its entry's number, from 1 */
    SPROF_VEC(struct entry) entries;
    struct sprof_str text;
};

/* Writes the entry with the next detail that changes its looks. */
static int raise_detail(struct name_table *table, struct entry *entry)
{
    const char *before = entry->shown;
    while (entry->detail < NAMES_FULL) {
        entry->detail++;
        sprof_str_clear(&table->text);
        if (names_append(&table->text, entry->name, entry->detail) || table->text.failed)
            return SPROF_ENOMEM;
        if (before && !strcmp(table->text.text, before))
            continue;
        entry->shown = strcmp(table->text.text, entry->name)
                           ? sprof_arena_copy(table->arena, table->text.text, table->text.length)
                           : entry->name;
        return entry->shown ? 0 : SPROF_ENOMEM;
    }
    return 0;
}

static int add(struct name_table *table, const char *name, uint64_t *number)
{
    uint64_t *known = sprof_map_at(&table->numbers, sprof_hash_text(name));
    struct entry entry = {.name = name, .shown = name};
    if (!known)
        return SPROF_ENOMEM;
    if (!*known) {
        *known = table->entries.count + 1;
        sprof_str_clear(&table->text);
        if (names_append(&table->text, name, NAMES_SHORT) || table->text.failed)
            return SPROF_ENOMEM;
        if (*name && strcmp(table->text.text, name))
            entry.shown = sprof_arena_copy(table->arena, table->text.text, table->text.length);
        if (!entry.shown || sprof_vec_push(&table->entries, entry))
            return SPROF_ENOMEM;
    }
    *number = *known;
    return 0;
}

/* Marks entries that look like another. */
static int compare(struct name_table *table, bool *any)
{
    *any = false;
    sprof_map_clear(&table->numbers);
    for (size_t i = 0; i < table->entries.count; i++) {
        struct entry *entry = &table->entries.items[i];
        uint64_t *known = sprof_map_at(&table->numbers, sprof_hash_text(entry->shown));
        if (!known)
            return SPROF_ENOMEM;
        if (*known)
            *any = entry->same = table->entries.items[*known - 1].same = true;
        else
            *known = i + 1;
    }
    return 0;
}

/* Ends: in each round some name gets more detail, and full names differ. */
static int tell_apart(struct name_table *table)
{
    bool any = true;
    while (any) {
        if (compare(table, &any))
            return SPROF_ENOMEM;
        for (size_t i = 0; i < table->entries.count; i++) {
            struct entry *entry = &table->entries.items[i];
            if (entry->same && raise_detail(table, entry))
                return SPROF_ENOMEM;
            entry->same = false;
        }
    }
    return 0;
}

int names_shorten(struct sprof_arena *arena, const char *const *names, size_t count,
                  const char **shown)
{
    struct name_table table = {.arena = arena};
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    int result = numbers ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++)
        result = add(&table, names[i], &numbers[i]);
    if (!result)
        result = tell_apart(&table);
    for (size_t i = 0; i < count && !result; i++)
        shown[i] = table.entries.items[numbers[i] - 1].shown;
    free(numbers);
    sprof_map_release(&table.numbers);
    sprof_vec_release(&table.entries);
    sprof_str_release(&table.text);
    return result;
}
