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
    CU_ASSERT_EQUAL(sprof_hash_bytes(NULL, 0), UINT64_C(0x2d06800538d394c2));
    CU_ASSERT_EQUAL(sprof_hash_bytes("a", 1), UINT64_C(0xe6c632b61e964e1f));
    CU_ASSERT_EQUAL(sprof_hash_bytes("\0", 1), UINT64_C(0xc44bdff4074eecdb));
    CU_ASSERT_EQUAL(sprof_hash_bytes("\0\0", 2), UINT64_C(0x3325230e1f285505));
    CU_ASSERT_EQUAL(sprof_hash_bytes(every, sizeof every), UINT64_C(0x9408a4433b952d71));
}

static void test_text_is_its_bytes(void)
{
    CU_ASSERT_EQUAL(sprof_hash_text(""), sprof_hash_bytes(NULL, 0));
    CU_ASSERT_EQUAL(sprof_hash_text("main"), UINT64_C(0x49de89cb7af55ee5));
    CU_ASSERT_EQUAL(sprof_hash_text("/usr/lib/x86_64-linux-gnu/libc.so.6"),
                    UINT64_C(0xa0ae5f3cd7646b2a));
}

static void test_digest_depends_on_pieces(void)
{
    struct sprof_digest whole = {0}, pieces = {0}, other = {0};
    sprof_digest_add(&whole, "abcdef", 6);
    sprof_digest_add(&pieces, "abc", 3);
    sprof_digest_add(&pieces, "def", 3);
    sprof_digest_add(&other, "def", 3);
    sprof_digest_add(&other, "abc", 3);
    CU_ASSERT_FALSE(sprof_digest_equal(whole, pieces));
    CU_ASSERT_FALSE(sprof_digest_equal(pieces, other));
    CU_ASSERT_FALSE(sprof_digest_equal(whole, (struct sprof_digest){0}));
    struct sprof_digest again = {0};
    sprof_digest_add(&again, "abcdef", 6);
    CU_ASSERT_TRUE(sprof_digest_equal(whole, again));
    sprof_digest_add(&again, "", 0);
    CU_ASSERT_FALSE(sprof_digest_equal(whole, again));
}

void sprof_suite_base_hash(void);
void sprof_suite_base_hash(void)
{
    CU_pSuite suite = CU_add_suite("base/hash", NULL, NULL);
    CU_add_test(suite, "mix never changes", test_mix_never_changes);
    CU_add_test(suite, "pair never changes", test_pair_never_changes);
    CU_add_test(suite, "bytes never change", test_bytes_never_change);
    CU_add_test(suite, "text is its bytes", test_text_is_its_bytes);
    CU_add_test(suite, "a digest depends on its pieces", test_digest_depends_on_pieces);
}
