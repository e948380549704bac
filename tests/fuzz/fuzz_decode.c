#include "tests/fuzz/fuzz.h"
#include "arch/arch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        struct arch_instruction instruction;
        if (!arch_instruction_decode(data + at, size - at, &instruction))
            return 0;
        FUZZ_REQUIRE(instruction.length >= 1 && instruction.length <= size - at);
        FUZZ_REQUIRE(instruction.length <= ARCH_INSTRUCTION_BYTES);
        FUZZ_REQUIRE(instruction.effect <= ARCH_EFFECT_STOPS);
        at += instruction.length;
    }
    return 0;
}
