/* Shortens names that are shown one after the other, so that no two look the same. */
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

struct names_screen {
    struct sprof_arena arena;
    struct sprof_map numbers; /* hash of a name → number of its text, from 1 */
    struct sprof_map taken;   /* hashes of texts */
    SPROF_VEC(const char *) texts;
};

struct names_screen *names_screen_new(void)
{
    return calloc(1, sizeof(struct names_screen));
}

void names_screen_free(struct names_screen *screen)
{
    if (!screen)
        return;
    sprof_map_release(&screen->numbers);
    sprof_map_release(&screen->taken);
    sprof_vec_release(&screen->texts);
    sprof_arena_release(&screen->arena);
    free(screen);
}

/* Takes the shortest text that no other name has. NULL when out of memory. */
static const char *take(struct names_screen *screen, const char *name)
{
    struct sprof_str text = {0};
    const char *kept = NULL;
    for (enum names_detail detail = NAMES_SHORT; detail < NAMES_DETAILS; detail++) {
        sprof_str_clear(&text);
        if (names_append(&text, name, detail) || text.failed)
            break;
        uint64_t *is_taken = sprof_map_at(&screen->taken, sprof_hash_text(text.text));
        if (!is_taken)
            break;
        if (*is_taken && detail < NAMES_FULL)
            continue;
        *is_taken = true;
        kept = sprof_arena_copy(&screen->arena, text.text, text.length);
        break;
    }
    sprof_str_release(&text);
    return kept;
}

const char *names_screen_show(struct names_screen *screen, const char *name)
{
    uint64_t *number =
        screen && *name ? sprof_map_at(&screen->numbers, sprof_hash_text(name)) : NULL;
    if (!number)
        return name;
    if (!*number) {
        const char *text = take(screen, name);
        if (!text || sprof_vec_push(&screen->texts, text))
            return name;
        *number = screen->texts.count;
    }
    return screen->texts.items[*number - 1];
}
