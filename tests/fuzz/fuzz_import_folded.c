#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/import_checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import("folded", data, size);
    return 0;
}
