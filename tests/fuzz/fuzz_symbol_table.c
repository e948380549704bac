/* Stored tables of symbols with anything in them: every name of what is taken can be read. */
#include "cache/cache.h"
#include "symbolize/symbol_table.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

static struct sprof_bytes sound_table(void)
{
    char directory[] = "/tmp/sprof-fuzz-XXXXXX", command[64];
    static const char texts[] = "first\0second\0third";
    static const struct symbol_entry entries[] = {
        {0x1000, 0x10, 0x2000, 0, 1}, {0x1010, 0, 0x2000, 6, 2}, {0x1800, 0x20, 0, 13, 3}};
    const struct symbol_table table = {
        .entries = entries, .count = 3, .texts = texts, .text_bytes = sizeof texts};
    const struct sprof_digest key = {1, 1};
    FUZZ_REQUIRE(mkdtemp(directory));
    struct cache *cache = cache_open(directory);
    symbolize_symbol_table_store(&table, cache, key);
    const struct sprof_bytes bytes = cache_get(cache, CACHE_SYMBOLS, key);
    FUZZ_REQUIRE(bytes.size);
    cache_free(cache, 0);
    snprintf(command, sizeof command, "rm -r %s", directory);
    FUZZ_REQUIRE(system(command) == 0);
    return bytes;
}

/* The input is a list of changes to a sound table, each a place and two bytes; a last single byte
 * cuts the table to so many bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CHANGE_BYTES = 3 };
    static struct sprof_bytes sound;
    if (!sound.data)
        sound = sound_table();
    const size_t length = size % CHANGE_BYTES == 1 ? data[size - 1] % sound.size : sound.size;
    uint8_t *bytes =
        aligned_alloc(CACHE_ALIGNMENT, (sound.size / CACHE_ALIGNMENT + 1) * CACHE_ALIGNMENT);
    FUZZ_REQUIRE(bytes);
    memcpy(bytes, sound.data, sound.size);
    for (size_t i = 0; i + CHANGE_BYTES <= size; i += CHANGE_BYTES)
        memcpy(bytes + data[i] % (sound.size - 1), data + i + 1, 2);
    uint8_t *exact = aligned_alloc(8, (length + 7) / 8 * 8 + 8);
    FUZZ_REQUIRE(exact);
    memcpy(exact, bytes, length);
    free(bytes);
    struct symbol_table table;
    const bool taken = symbolize_symbol_table_take(&table, (struct sprof_bytes){exact, length});
    FUZZ_REQUIRE(taken || size);
    for (size_t i = 0; taken && i < table.count; i++)
        FUZZ_REQUIRE(strlen(table.texts + table.entries[i].name) < length);
    symbolize_symbol_table_release(&table);
    return 0;
}
