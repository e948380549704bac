/* Reads the debug information of the program once, and hands out changed copies of it. */
#include "tests/fuzz/dwarf_sections.h"

#include "image/image.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { SECTIONS = 9, ADDRESSES_MAX = 512, CHANGE_BYTES = 6 };

static const char *const names[SECTIONS] = {
    ".debug_info",   ".debug_abbrev",   ".debug_line", ".debug_str",        ".debug_line_str",
    ".debug_ranges", ".debug_rnglists", ".debug_addr", ".debug_str_offsets"};

static struct sprof_bytes *section_of(struct dwarf_sections *sections, size_t number)
{
    struct sprof_bytes *const all[SECTIONS] = {
        &sections->info,     &sections->abbrev,   &sections->line,
        &sections->str,      &sections->line_str, &sections->ranges,
        &sections->rnglists, &sections->addr,     &sections->str_offsets};
    return all[number];
}

static struct image *program(void)
{
    static struct image *image;
    const struct image_request request = {.file.path = SPROF_FUZZ_DWARF_PROGRAM};
    if (!image)
        FUZZ_REQUIRE(image_open(&image, &request, NULL) == 0);
    return image;
}

struct addresses dwarf_sections_addresses(void)
{
    static uint64_t items[ADDRESSES_MAX];
    static size_t count;
    struct image_extent text;
    if (count)
        return (struct addresses){items, count};
    FUZZ_REQUIRE(image_section_extent(program(), ".text", &text));
    const uint64_t step = text.size / ADDRESSES_MAX + 1;
    for (uint64_t at = 0; at < text.size; at += step)
        items[count++] = text.vaddr + at;
    return (struct addresses){items, count};
}

struct dwarf_sections dwarf_sections_changed(const uint8_t *data, size_t size)
{
    struct dwarf_sections changed = {0};
    for (size_t i = 0; i < SECTIONS; i++) {
        const struct sprof_bytes sound = image_section(program(), names[i], NULL);
        FUZZ_REQUIRE(sound.size || i >= 3);
        uint8_t *copy = malloc(sound.size + 1); /* a NUL stands behind, as image_section has it */
        FUZZ_REQUIRE(copy);
        if (sound.size)
            memcpy(copy, sound.data, sound.size);
        copy[sound.size] = 0;
        *section_of(&changed, i) = (struct sprof_bytes){copy, sound.size};
    }
    for (size_t i = 0; i + CHANGE_BYTES <= size; i += CHANGE_BYTES) {
        const struct sprof_bytes *section = section_of(&changed, data[i] % SECTIONS);
        if (section->size < 2)
            continue;
        const size_t place = (size_t)(data[i + 1] | data[i + 2] << 8) % (section->size - 1);
        memcpy((uint8_t *)section->data + place, data + i + 4, 1 + data[i + 3] % 2);
    }
    return changed;
}

void dwarf_sections_release(struct dwarf_sections *sections)
{
    for (size_t i = 0; i < SECTIONS; i++)
        free((void *)section_of(sections, i)->data);
}

static size_t length_of(const struct function_index *index, uint32_t text)
{
    const char *found = symbolize_function_index_text_of(index, text);
    return found ? strlen(found) : 0;
}

void dwarf_sections_look_up(const struct function_index *index)
{
    const struct addresses addresses = dwarf_sections_addresses();
    for (size_t i = 0; i < addresses.count; i++) {
        const struct index_piece *piece = symbolize_function_index_find(index, addresses.items[i]);
        if (!piece)
            continue;
        FUZZ_REQUIRE(addresses.items[i] >= piece->low && addresses.items[i] < piece->high);
        const struct index_line *line =
            symbolize_function_index_line(index, piece, addresses.items[i]);
        size_t work = line ? length_of(index, line->file) : 0, depth = 0;
        for (const struct index_call *call =
                 symbolize_function_index_innermost(index, piece, addresses.items[i]);
             call; call = symbolize_function_index_outer(index, piece, call)) {
            FUZZ_REQUIRE(depth++ < piece->call_count);
            work += length_of(index, call->file);
            FUZZ_REQUIRE(call->description <= index->descriptions.count);
            if (call->description)
                work +=
                    length_of(index, index->descriptions.items[call->description - 1].linkage_name);
        }
        if (piece->description)
            work += length_of(index, index->descriptions.items[piece->description - 1].file);
        FUZZ_REQUIRE(work < SIZE_MAX);
    }
}
