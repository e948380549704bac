/* One look for a function of the kernel. */
#ifndef SPROF_TESTS_UNIT_SYMBOLIZE_KERNEL_CHECK_H
#define SPROF_TESTS_UNIT_SYMBOLIZE_KERNEL_CHECK_H

#include "symbolize/kernel.h"

#include <CUnit/CUnit.h>

/* `found`: whether a look put an answer into `got`. `want` without a name: it must not have. */
static inline void kernel_check(bool found, const struct kernel_symbol *got,
                                const struct kernel_symbol *want)
{
    CU_ASSERT_EQUAL_FATAL(found, want->name != NULL);
    if (!found)
        return;
    CU_ASSERT_STRING_EQUAL(got->name, want->name);
    CU_ASSERT_EQUAL(got->start, want->start);
    CU_ASSERT_EQUAL(got->size, want->size);
    CU_ASSERT_EQUAL_FATAL(got->module != NULL, want->module != NULL);
    if (want->module)
        CU_ASSERT_STRING_EQUAL(got->module, want->module);
}

#endif
