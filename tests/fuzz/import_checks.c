#include "tests/fuzz/import_checks.h"

#include "import/parts.h"
#include "tests/fuzz/fuzz.h"

/* Each import has a recording of its own, whose threads take longer to start than a small input to
 * read. */
void fuzz_import(const char *format, const uint8_t *data, size_t size)
{
    static const struct import_options options = {.input = "fuzz"};
    const struct import_format *importer = import_format_find(format, NULL);
    const struct sprof_bytes bytes = {data, size};
    struct import import;
    struct import_input input;
    struct sprof_error error = {0};
    FUZZ_REQUIRE(importer);
    FUZZ_REQUIRE(import_format_of(bytes));
    FUZZ_REQUIRE(import_open(&import, &options, NULL) == 0);
    FUZZ_REQUIRE(import_input_memory(&input, bytes) == 0);
    const int result = importer->read(&import, &input, &error);
    FUZZ_REQUIRE(result <= 0 && (result == 0) == (error.message[0] == '\0'));
    uint64_t samples = 0;
    for (size_t i = 0; i < import.samples.count; i++) {
        const struct import_sample *sample = &import.samples.items[i];
        FUZZ_REQUIRE(sample->event < import.events.count && sample->node && sample->thread);
        samples += sample->cost.samples;
    }
    FUZZ_REQUIRE(samples == import.taken);
    /* Malformed lines are left out, but not all of them, nor most of a text of a guessed format. */
    FUZZ_REQUIRE(result || import.samples.count);
    FUZZ_REQUIRE(result || !import.any_text || import.bad_lines <= import.good_lines);
    size_t levels = 0;
    for (size_t i = 0; i < import.names.addresses.count; i++) {
        FUZZ_REQUIRE(import.names.addresses.items[i].end > levels);
        levels = import.names.addresses.items[i].end;
    }
    FUZZ_REQUIRE(levels == import.names.levels.count);
    import_free(&import);
    import_input_close(&input);
}
