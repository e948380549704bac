/* Any bytes as instructions: what is said of them is inside them, and what is moved is one again.
 */
#include "arch/arch.h"
#include "tests/fuzz/fuzz.h"

static void check(const uint8_t *code, size_t size, const struct arch_instruction *instruction)
{
    uint8_t moved[ARCH_MOVED_BYTES];
    struct arch_instruction again;
    FUZZ_REQUIRE(instruction->length >= 1 && instruction->length <= size);
    FUZZ_REQUIRE(instruction->length <= ARCH_INSTRUCTION_BYTES);
    FUZZ_REQUIRE(instruction->effect <= ARCH_EFFECT_STOPS && instruction->flow <= ARCH_FLOW_STOP);
    FUZZ_REQUIRE(instruction->field_at + instruction->field_size <= instruction->length);
    FUZZ_REQUIRE(instruction->base >= -1 && instruction->base < ARCH_REGISTERS);
    FUZZ_REQUIRE(instruction->index >= -1 && instruction->index < ARCH_REGISTERS);
    const size_t length = arch_instruction_move(code, instruction, 0x1000, 0x200000, moved);
    FUZZ_REQUIRE(length <= sizeof moved);
    FUZZ_REQUIRE(!length || arch_instruction_decode(moved, length, &again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        struct arch_instruction instruction;
        const bool is_one = arch_instruction_decode(data + at, size - at, &instruction);
        if (is_one)
            check(data + at, size - at, &instruction);
        at += is_one ? instruction.length : 1;
    }
    return 0;
}
