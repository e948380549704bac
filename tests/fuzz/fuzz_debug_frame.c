#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/table_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct unwind_range text[] = {{0x1000, 0x9000}, {0x10000, 0x100000000000}};
    const struct unwind_source source = {.debug_frame = {data, size},
                                         .text_bytes = {data, size},
                                         .text_vaddr = 0x1000,
                                         .got_vaddr = 0x30000,
                                         .text = text,
                                         .text_count = 2};
    fuzz_table(&source);
    return 0;
}
