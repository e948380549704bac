/* Stored tables with anything in them, and checksums that fit: what is loaded can be looked up and
 * walked by. */
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/walk_input.h"
#include "tests/unit/unwind/cfi_bytes.h"
#include "unwind/table.h"

#include <string.h>

enum { FRAMES_MAX = 500 };

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct unwind_region *region = context;
    return address >= region->start && address < region->end ? region : NULL;
}

static void look_up(const struct unwind_table *table)
{
    uint64_t start, rule, from = 0;
    struct unwind_range function;
    for (size_t i = 0; i < 5000 && unwind_table_row_from(table, from, &start, &rule); i++) {
        struct unwind_row row;
        FUZZ_REQUIRE(start >= from && unwind_rule_is_valid(rule));
        unwind_table_row(table, start, &row);
        unwind_table_lookup(table, start - 1);
        from = start + 1;
        if (!from)
            return;
    }
    for (size_t i = 0; i < table->function_count; i++)
        unwind_table_function(table, table->base + unwind_table_nth(table, i)->start, &function);
}

/* From every part of the code once, with the bytes themselves as stack. */
static void walk(const struct unwind_table *table, const uint8_t *data, size_t size)
{
    static struct unwind_walker *walker;
    static uint32_t generation;
    if (!walker)
        walker = unwind_walker_new(FRAMES_MAX);
    FUZZ_REQUIRE(walker);
    const struct unwind_region region = {.start = WALK_INPUT_CODE,
                                         .end = WALK_INPUT_CODE + table->span,
                                         .bias = WALK_INPUT_CODE - table->base,
                                         .kind = UNWIND_REGION_TABLE,
                                         .table = table};
    const struct unwind_memory memory = {
        .slice = data, .slice_address = WALK_INPUT_STACK, .slice_size = size};
    for (unsigned part = 0; part < 16; part++) {
        struct unwind_registers registers = {0};
        for (size_t i = 0; i < ARCH_REGISTERS; i++)
            registers.value[i] = WALK_INPUT_STACK + 8 * i;
        registers.value[ARCH_PC] = WALK_INPUT_CODE + table->span / 16 * part;
        if (!++generation)
            generation++;
        const struct unwind_space space = {find_region, (void *)&region, generation};
        const struct unwind_stack stack = unwind_walk(walker, &space, &memory, &registers);
        FUZZ_REQUIRE(stack.count >= 1 && stack.count <= FRAMES_MAX);
    }
}

/* A sound table with rules of every kind, and more rows in one place than a page holds. */
static struct sprof_bytes sound_table(void)
{
    static const struct unwind_range text = {0x1000, 0x9000};
    struct cfi_bytes section = {0};
    cfi_bytes_cie(&section, "zR");
    CFI_BYTES_FDE(&section, 0x1000, 0x100, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x48, 0x0c, 7,
                  8);
    CFI_BYTES_FDE(&section, 0x1100, 0x100, 0x07, 16);
    CFI_BYTES_FDE(&section, 0x1200, 0x100, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0);
    CFI_BYTES_FDE(&section, 0x1300, 0x100, 0x0e, 0, 0x09, 16, 5);
    CFI_BYTES_FDE(&section, 0x1400, 0x100, 0x0c, 5, 0, 0x09, 7, 8, 0x09, 6, 9, 0x09, 16, 1);
    uint8_t crowd[3 * 40];
    for (size_t i = 0; i < 40; i++)
        memcpy(crowd + 3 * i, (const uint8_t[]){0x41, 0x0e, (uint8_t)(8 + 8 * (i % 3))}, 3);
    cfi_bytes_fde(&section, 0x8000, 0x100, crowd, sizeof crowd);
    const struct unwind_source source = {.eh_frame = {section.data, section.size},
                                         .eh_frame_vaddr = 0x20000,
                                         .text = &text,
                                         .text_count = 1};
    struct unwind_table *table = NULL;
    struct sprof_bytes bytes = {0};
    FUZZ_REQUIRE(unwind_table_build(&table, &source, NULL) == 0);
    FUZZ_REQUIRE(unwind_table_save(table, &bytes) == 0);
    unwind_table_free(table);
    return bytes;
}

/* The input is a list of changes to a sound table, each a place and two bytes, so that no corpus
 * grows old when the format of tables changes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { CHANGE_BYTES = 4 };
    static struct sprof_bytes sound;
    if (!sound.data)
        sound = sound_table();
    uint8_t *bytes = aligned_alloc(64, sound.size);
    FUZZ_REQUIRE(bytes && sound.size % 64 == 0);
    memcpy(bytes, sound.data, sound.size);
    for (size_t i = 0; i + CHANGE_BYTES <= size; i += CHANGE_BYTES) {
        const size_t place = (size_t)(data[i] | data[i + 1] << 8) % (sound.size - 1);
        memcpy(bytes + place, data + i + 2, 2);
    }
    unwind_table_seal((struct sprof_bytes){bytes, sound.size});
    struct unwind_table *table = unwind_table_load((struct sprof_bytes){bytes, sound.size});
    free(bytes);
    FUZZ_REQUIRE(table || size >= CHANGE_BYTES);
    if (!table)
        return 0;
    look_up(table);
    walk(table, data, size);
    unwind_table_free(table);
    return 0;
}
