/* The values were computed by another implementation. They are identity in every recording that was
 * ever made: when a test here fails, the hash is wrong, not the test. */
#include "base/base.h"

#include <CUnit/CUnit.h>

static void test_mix_never_changes(void)
{
    CU_ASSERT_EQUAL(sprof_hash_mix(0), 0);
    CU_ASSERT_EQUAL(sprof_hash_mix(1), UINT64_C(0xb456bcfc34c2cb2c));
    CU_ASSERT_EQUAL(sprof_hash_mix(2), UINT64_C(0x3abf2a20650683e7));
    CU_ASSERT_EQUAL(sprof_hash_mix(UINT64_C(1) << 63), UINT64_C(0x8f780810af31a493));
    CU_ASSERT_EQUAL(sprof_hash_mix(UINT64_MAX), UINT64_C(0x64b5720b4b825f21));
}

static void test_pair_never_changes(void)
{
    CU_ASSERT_EQUAL(sprof_hash_pair(0, 0), 0);
    CU_ASSERT_EQUAL(sprof_hash_pair(1, 2), UINT64_C(0x57e07fb88c3c3901));
    CU_ASSERT_EQUAL(sprof_hash_pair(2, 1), UINT64_C(0x6164cd518437aeb4));
    CU_ASSERT_EQUAL(sprof_hash_pair(UINT64_MAX, 0), UINT64_C(0xd314d4f7bbe9a09e));
    CU_ASSERT_EQUAL(sprof_hash_pair(0, UINT64_MAX), UINT64_C(0xfa605f44aea3667d));
}

static void test_bytes_never_change(void)
{
    uint8_t every[256];
    for (size_t i = 0; i < sizeof every; i++)
        every[i] = (uint8_t)i;
    CU_ASSERT_EQUAL(sprof_hash_bytes(NULL, 0), UINT64_C(0xefd01f60ba992926));
    CU_ASSERT_EQUAL(sprof_hash_bytes("a", 1), UINT64_C(0x82a2a958a9bece5b));
    CU_ASSERT_EQUAL(sprof_hash_bytes("\0", 1), UINT64_C(0xb9034ad37056f5fb));
    CU_ASSERT_EQUAL(sprof_hash_bytes("\0\0", 2), UINT64_C(0xdb01c3104e99566d));
    CU_ASSERT_EQUAL(sprof_hash_bytes(every, sizeof every), UINT64_C(0x2067db6dbd4efa06));
}

static void test_text_is_its_bytes(void)
{
    CU_ASSERT_EQUAL(sprof_hash_text(""), sprof_hash_bytes(NULL, 0));
    CU_ASSERT_EQUAL(sprof_hash_text("main"), UINT64_C(0xd0e2f4e86303bb30));
    CU_ASSERT_EQUAL(sprof_hash_text("/usr/lib/x86_64-linux-gnu/libc.so.6"),
                    UINT64_C(0xb1169e0e1a74d257));
}

void sprof_suite_base_hash(void);
void sprof_suite_base_hash(void)
{
    CU_pSuite suite = CU_add_suite("base/hash", NULL, NULL);
    CU_add_test(suite, "mix never changes", test_mix_never_changes);
    CU_add_test(suite, "pair never changes", test_pair_never_changes);
    CU_add_test(suite, "bytes never change", test_bytes_never_change);
    CU_add_test(suite, "text is its bytes", test_text_is_its_bytes);
}
