#include "import/rows.h"
#include "tests/fuzz/fuzz.h"

/* Whatever the input: what is read holds together, or an error says what is wrong. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sprof_bytes bytes = {data, size};
    struct import_rows rows = {0};
    struct import_input input;
    struct sprof_error error = {0};
    FUZZ_REQUIRE(import_input_memory(&input, bytes) == 0);
    FUZZ_REQUIRE(import_format_of(bytes));
    int result = import_rows_read(&rows, &input, &error);
    if (!result)
        result = import_rows_check(&rows, &error);
    FUZZ_REQUIRE(result <= 0 && (result == 0) == (error.message[0] == '\0'));
    FUZZ_REQUIRE(result || rows.costs.count);
    for (size_t i = 0; i < rows.paths.count; i++) {
        const struct import_row_path *path = &rows.paths.items[i];
        FUZZ_REQUIRE(path->count && path->first + path->count <= rows.chains.count);
    }
    for (size_t i = 0; i < rows.costs.count; i++)
        FUZZ_REQUIRE(rows.costs.items[i].service <= rows.texts.count &&
                     rows.costs.items[i].thread <= rows.texts.count);
    import_rows_release(&rows);
    import_input_close(&input);
    return 0;
}
