#include "tests/fuzz/fuzz.h"
#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t vaddr = 0;
    const int code = unwind_eh_frame_hdr_read((struct sprof_bytes){data, size}, 0x30000, &vaddr);
    FUZZ_REQUIRE(code == 0 || code == SPROF_EFORMAT);
    FUZZ_REQUIRE(code || (size > 4 && data[0] == 1));
    return 0;
}
