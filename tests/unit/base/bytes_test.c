#include "base/base.h"

#include <CUnit/CUnit.h>

/* Every test reads from a copy of exactly its size, so that the sanitizer sees one byte too many.
 */
struct copied {
    struct sprof_reader reader;
    uint8_t *bytes;
};

static struct copied copy_of(const void *bytes, size_t size)
{
    struct copied copied = {.bytes = malloc(size + !size)};
    if (size)
        memcpy(copied.bytes, bytes, size);
    copied.reader = sprof_reader_of((struct sprof_bytes){copied.bytes, size});
    return copied;
}

#define COPY_OF(...) copy_of((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void test_fixed_numbers(void)
{
    struct copied in = COPY_OF(1, 2, 1, 4, 3, 2, 1, 8, 7, 6, 5, 4, 3, 2, 1);
    CU_ASSERT_EQUAL(sprof_reader_u8(&in.reader), 1);
    CU_ASSERT_EQUAL(sprof_reader_u16(&in.reader), 0x0102);
    CU_ASSERT_EQUAL(sprof_reader_u32(&in.reader), 0x01020304);
    CU_ASSERT_EQUAL(sprof_reader_offset(&in.reader), 7);
    CU_ASSERT_EQUAL(sprof_reader_u64(&in.reader), 0x0102030405060708);
    CU_ASSERT_EQUAL(sprof_reader_left(&in.reader), 0);
    CU_ASSERT_FALSE(in.reader.failed);
    free(in.bytes);
}

static void test_past_the_end_stays_failed(void)
{
    struct copied in = COPY_OF(1, 2, 3);
    CU_ASSERT_EQUAL(sprof_reader_u32(&in.reader), 0);
    CU_ASSERT_TRUE(in.reader.failed);
    CU_ASSERT_EQUAL(sprof_reader_u8(&in.reader), 0);
    CU_ASSERT_EQUAL(sprof_reader_offset(&in.reader), 0);
    sprof_reader_seek(&in.reader, 1);
    CU_ASSERT_TRUE(in.reader.failed);
    CU_ASSERT_PTR_NULL(sprof_reader_take(&in.reader, 0));
    CU_ASSERT_PTR_NULL(sprof_reader_text(&in.reader));
    CU_ASSERT_EQUAL(sprof_reader_uleb(&in.reader), 0);
    CU_ASSERT_EQUAL(sprof_reader_sleb(&in.reader), 0);
    free(in.bytes);
}

static void test_no_bytes_at_all(void)
{
    struct sprof_reader reader = sprof_reader_of((struct sprof_bytes){NULL, 0});
    CU_ASSERT_EQUAL(sprof_reader_left(&reader), 0);
    CU_ASSERT_EQUAL(sprof_reader_u8(&reader), 0);
    CU_ASSERT_TRUE(reader.failed);
    reader = sprof_reader_of((struct sprof_bytes){NULL, 0});
    CU_ASSERT_PTR_NULL(sprof_reader_text(&reader));
    CU_ASSERT_TRUE(reader.failed);
}

static void test_seek(void)
{
    struct copied in = COPY_OF(10, 11, 12);
    sprof_reader_seek(&in.reader, 2);
    CU_ASSERT_EQUAL(sprof_reader_u8(&in.reader), 12);
    sprof_reader_seek(&in.reader, 0);
    CU_ASSERT_EQUAL(sprof_reader_u8(&in.reader), 10);
    sprof_reader_seek(&in.reader, 3);
    CU_ASSERT_FALSE(in.reader.failed);
    sprof_reader_seek(&in.reader, 4);
    CU_ASSERT_TRUE(in.reader.failed);
    free(in.bytes);
}

static void test_take(void)
{
    struct copied in = COPY_OF(10, 11, 12);
    CU_ASSERT_PTR_EQUAL(sprof_reader_take(&in.reader, 2), in.bytes);
    CU_ASSERT_PTR_NULL(sprof_reader_take(&in.reader, SIZE_MAX));
    CU_ASSERT_TRUE(in.reader.failed);
    CU_ASSERT_EQUAL(sprof_reader_offset(&in.reader), 2);
    free(in.bytes);
}

static void test_text(void)
{
    struct copied in = copy_of("ab\0\0cd", 6);
    CU_ASSERT_STRING_EQUAL(sprof_reader_text(&in.reader), "ab");
    CU_ASSERT_STRING_EQUAL(sprof_reader_text(&in.reader), "");
    CU_ASSERT_FALSE(in.reader.failed);
    CU_ASSERT_PTR_NULL(sprof_reader_text(&in.reader));
    CU_ASSERT_TRUE(in.reader.failed);
    free(in.bytes);
}

/* == LEB128 == */

struct leb {
    uint8_t bytes[16];
    size_t size;
    uint64_t value;
    int failed;
};

#define NINE(byte) byte, byte, byte, byte, byte, byte, byte, byte, byte
#define LEB(value_, failed_, ...)                                                                  \
    {                                                                                              \
        .bytes = {__VA_ARGS__}, .size = sizeof((const uint8_t[]){__VA_ARGS__}),                    \
        .value = (uint64_t)(value_), .failed = (failed_)                                           \
    }

/* The first are the examples of DWARF 5, section 7.6. */
static const struct leb unsigned_numbers[] = {
    LEB(2, 0, 2),
    LEB(127, 0, 127),
    LEB(128, 0, 0x80, 1),
    LEB(129, 0, 0x81, 1),
    LEB(12857, 0, 0x39 | 0x80, 100),
    LEB(0, 0, 0),
    LEB(0, 0, 0x80, 0x80, 0),
    LEB(1, 0, 0x81, NINE(0x80), 0x80, 0),
    LEB(UINT64_MAX, 0, NINE(0xff), 1),
    LEB(UINT64_C(1) << 63, 0, NINE(0x80), 1),
    LEB(0, 1, NINE(0x80), 2),
    LEB(0, 1, NINE(0xff), 3),
    LEB(0, 1, NINE(0x80), 0x80, 1),
    LEB(0, 1, 0x80),
    LEB(0, 1, 0xff, 0xff),
};

static const struct leb signed_numbers[] = {
    LEB(2, 0, 2),
    LEB(-2, 0, 0x7e),
    LEB(127, 0, 0xff, 0),
    LEB(-127, 0, 0x81, 0x7f),
    LEB(128, 0, 0x80, 1),
    LEB(-128, 0, 0x80, 0x7f),
    LEB(129, 0, 0x81, 1),
    LEB(-129, 0, 0xff, 0x7e),
    LEB(63, 0, 0x3f),
    LEB(-64, 0, 0x40),
    LEB(-1, 0, 0xff, 0xff, 0x7f),
    LEB(0, 0, 0x80, 0x80, 0),
    LEB(INT64_MAX, 0, NINE(0xff), 0),
    LEB(INT64_MIN, 0, NINE(0x80), 0x7f),
    LEB(-1, 0, NINE(0xff), 0x7f),
    LEB(-(INT64_C(1) << 62), 0, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40),
    LEB(0, 1, NINE(0x80), 1), /* 2^63 */
    LEB(0, 1, NINE(0x80), 2),
    LEB(0, 1, NINE(0xff), 0x7e),
    LEB(0, 1, NINE(0x80), 0x80, 0),
    LEB(0, 1, 0xff),
};

static void test_uleb(void)
{
    for (size_t i = 0; i < sizeof unsigned_numbers / sizeof *unsigned_numbers; i++) {
        const struct leb *number = &unsigned_numbers[i];
        struct copied in = copy_of(number->bytes, number->size);
        CU_ASSERT_EQUAL(sprof_reader_uleb(&in.reader), number->value);
        CU_ASSERT_EQUAL(in.reader.failed, number->failed);
        if (!number->failed)
            CU_ASSERT_EQUAL(sprof_reader_left(&in.reader), 0);
        free(in.bytes);
    }
}

static void test_sleb(void)
{
    for (size_t i = 0; i < sizeof signed_numbers / sizeof *signed_numbers; i++) {
        const struct leb *number = &signed_numbers[i];
        struct copied in = copy_of(number->bytes, number->size);
        CU_ASSERT_EQUAL((uint64_t)sprof_reader_sleb(&in.reader), number->value);
        CU_ASSERT_EQUAL(in.reader.failed, number->failed);
        if (!number->failed)
            CU_ASSERT_EQUAL(sprof_reader_left(&in.reader), 0);
        free(in.bytes);
    }
}

static void test_padding_without_end(void)
{
    static uint8_t padding[100000];
    memset(padding, 0x80, sizeof padding);
    struct copied in = copy_of(padding, sizeof padding);
    CU_ASSERT_EQUAL(sprof_reader_uleb(&in.reader), 0);
    CU_ASSERT_TRUE(in.reader.failed);
    CU_ASSERT_TRUE(sprof_reader_offset(&in.reader) < 1000);
    free(in.bytes);
}

void sprof_suite_base_bytes(void);
void sprof_suite_base_bytes(void)
{
    CU_pSuite suite = CU_add_suite("base/bytes", NULL, NULL);
    CU_add_test(suite, "fixed numbers", test_fixed_numbers);
    CU_add_test(suite, "past the end stays failed", test_past_the_end_stays_failed);
    CU_add_test(suite, "no bytes at all", test_no_bytes_at_all);
    CU_add_test(suite, "seek", test_seek);
    CU_add_test(suite, "take", test_take);
    CU_add_test(suite, "text", test_text);
    CU_add_test(suite, "uleb", test_uleb);
    CU_add_test(suite, "sleb", test_sleb);
    CU_add_test(suite, "padding without end", test_padding_without_end);
}
