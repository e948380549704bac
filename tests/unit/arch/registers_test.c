#include "arch/arch.h"

#include <CUnit/CUnit.h>

/* The kernel is asked for each register once, and for no other. */
static void test_mask(void)
{
    uint64_t mask = arch_perf_register_mask();
    for (size_t i = 0; i < ARCH_REGISTERS; i++) {
        const uint64_t bit = UINT64_C(1) << arch_perf_registers[i].kernel;
        CU_ASSERT_TRUE((mask & bit) != 0);
        mask &= ~bit;
    }
    CU_ASSERT_EQUAL(mask, 0);
}

void sprof_suite_arch_registers(void);
void sprof_suite_arch_registers(void)
{
    CU_pSuite suite = CU_add_suite("arch/registers", NULL, NULL);
    CU_add_test(suite, "the mask of all", test_mask);
}
