#include "tests/fuzz/fuzz.h"
#include "unwind/arch/x86_64/decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        struct unwind_instruction instruction;
        if (!unwind_instruction_decode(data + at, size - at, &instruction))
            return 0;
        FUZZ_REQUIRE(instruction.length >= 1 && instruction.length <= size - at);
        FUZZ_REQUIRE(instruction.length <= UNWIND_INSTRUCTION_BYTES);
        FUZZ_REQUIRE(instruction.effect <= UNWIND_EFFECT_STOPS);
        at += instruction.length;
    }
    return 0;
}
