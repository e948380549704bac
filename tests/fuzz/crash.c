/* A fuzz target that crashes: its test must count as failed. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    FUZZ_REQUIRE(!data && !size);
    return 0;
}
