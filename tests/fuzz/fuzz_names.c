/* Names with anything in them: each is shown as something, and no two look the same. The lines of
 * the input are the names of one table. */
#include "base/base.h"
#include "names/names.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sprof_arena arena = {0};
    struct sprof_map seen = {0};
    SPROF_VEC(const char *) names = {0};
    char *text = sprof_arena_copy(&arena, (const char *)data, size);
    FUZZ_REQUIRE(text);
    for (char *line = text, *end; line < text + size; line = end + 1) {
        end = line + strcspn(line, "\n");
        *end = '\0';
        FUZZ_REQUIRE(!sprof_vec_push(&names, line));
    }
    const char **shown = malloc((names.count + 1) * sizeof *shown);
    FUZZ_REQUIRE(shown && !names_shorten(&arena, names.items, names.count, shown));
    for (size_t i = 0; i < names.count; i++) {
        const uint64_t name = sprof_hash_text(names.items[i]);
        uint64_t *known = sprof_map_at(&seen, sprof_hash_text(shown[i]));
        FUZZ_REQUIRE(known && (!*known || *known == name));
        *known = name;
        FUZZ_REQUIRE(!*names.items[i] || names_last(shown[i]) < strlen(shown[i]));
        FUZZ_REQUIRE(!*names.items[i] || names_last(names.items[i]) < strlen(names.items[i]));
    }
    sprof_map_release(&seen);
    sprof_vec_release(&names);
    sprof_arena_release(&arena);
    free(shown);
    return 0;
}
