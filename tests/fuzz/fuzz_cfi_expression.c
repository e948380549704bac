#include "tests/fuzz/fuzz.h"
#include "unwind/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int initial_cfa = 0; initial_cfa < 2; initial_cfa++) {
        struct cfi_expression expression;
        if (!unwind_cfi_expression_reduce((struct sprof_bytes){data, size}, initial_cfa,
                                          &expression))
            continue;
        FUZZ_REQUIRE(size || initial_cfa);
        FUZZ_REQUIRE(expression.kind <= CFI_EXPR_COMPLEX);
        FUZZ_REQUIRE(expression.kind == CFI_EXPR_COMPLEX || expression.reg <= ARCH_PC);
        FUZZ_REQUIRE(expression.kind != CFI_EXPR_PLT || expression.offset < 16);
    }
    return 0;
}
