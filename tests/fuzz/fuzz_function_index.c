/* Stored indexes of functions with anything in them: what is taken can be asked, and grows. */
#include "tests/fuzz/dwarf_sections.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

/* What the cache holds of the program, by way of a cache. */
static struct sprof_bytes sound_index(void)
{
    char directory[] = "/tmp/sprof-fuzz-XXXXXX", command[64];
    const struct addresses addresses = dwarf_sections_addresses();
    struct dwarf_sections sections = dwarf_sections_changed(NULL, 0);
    struct function_index index = {0};
    struct dwarf_names dwarf;
    FUZZ_REQUIRE(mkdtemp(directory));
    struct cache *cache = cache_open(directory);
    symbolize_dwarf_names_open(&dwarf, &sections, &index);
    symbolize_dwarf_functions_add(&dwarf, 0, &addresses, NULL);
    symbolize_function_index_sort(&index);
    for (size_t i = 0; i < index.descriptions.count; i++)
        symbolize_dwarf_names_describe(&dwarf, &index.descriptions.items[i]);
    const struct sprof_digest key = {1, 1};
    symbolize_function_index_store(&index, cache, key);
    const struct sprof_bytes bytes = cache_get(cache, CACHE_LINES, key);
    FUZZ_REQUIRE(bytes.size && index.calls.count);
    cache_free(cache, 0);
    symbolize_dwarf_names_release(&dwarf);
    symbolize_function_index_release(&index);
    dwarf_sections_release(&sections);
    snprintf(command, sizeof command, "rm -r %s", directory);
    FUZZ_REQUIRE(system(command) == 0);
    return bytes;
}

/* The input is a list of changes, each a place and two bytes, as fuzz_table has it; where the first
 * place lies behind the end, the bytes are cut short there instead. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CHANGE_BYTES = 4 };
    static struct sprof_bytes sound;
    if (!sound.data)
        sound = sound_index();
    uint8_t *bytes =
        aligned_alloc(CACHE_ALIGNMENT, (sound.size / CACHE_ALIGNMENT + 1) * CACHE_ALIGNMENT);
    FUZZ_REQUIRE(bytes);
    memcpy(bytes, sound.data, sound.size);
    size_t length = sound.size;
    for (size_t i = 0; i + CHANGE_BYTES <= size; i += CHANGE_BYTES) {
        const size_t place = (size_t)(data[i] | data[i + 1] << 8);
        if (!i && place >= 0xff00)
            length = data[i + 2] * (sound.size / 256);
        else
            memcpy(bytes + place % (sound.size - 1), data + i + 2, 2);
    }
    struct function_index index = {0};
    const bool taken = symbolize_function_index_take(&index, (struct sprof_bytes){bytes, length});
    FUZZ_REQUIRE(taken || size >= CHANGE_BYTES);
    if (taken) {
        dwarf_sections_look_up(&index);
        symbolize_function_index_own(&index);
        FUZZ_REQUIRE(index.failed || symbolize_function_index_text(&index, "added"));
        dwarf_sections_look_up(&index);
    }
    symbolize_function_index_release(&index);
    return 0;
}
