/* What a page packs comes out again: zlib and a plain reader of base64 and LEB128 are the oracles.
 */
#include "report/html/parts.h"

#include <CUnit/CUnit.h>
#include <string.h>
#include <zlib.h>

static int digit_value(char digit)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *place = digit ? strchr(digits, digit) : NULL;
    return place ? (int)(place - digits) : -1;
}

static size_t from_base64(const char *text, uint8_t *bytes)
{
    size_t count = 0;
    CU_ASSERT_EQUAL(strlen(text) % 4, 0);
    for (; *text; text += 4) {
        int values[4];
        for (size_t i = 0; i < 4; i++)
            values[i] = digit_value(text[i]);
        CU_ASSERT_FATAL(values[0] >= 0 && values[1] >= 0);
        bytes[count++] = (uint8_t)(values[0] << 2 | values[1] >> 4);
        if (values[2] >= 0)
            bytes[count++] = (uint8_t)(values[1] << 4 | values[2] >> 2);
        if (values[3] >= 0)
            bytes[count++] = (uint8_t)(values[2] << 6 | values[3]);
    }
    return count;
}

static void check_packed(const uint8_t *bytes, size_t size)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    CU_ASSERT_PTR_NOT_NULL_FATAL(memory);
    CU_ASSERT_EQUAL(report_html_packed(memory, bytes, size), 0);
    fclose(memory);
    uint8_t *packed = malloc(length + 4), *again = malloc(size + 1);
    CU_ASSERT_FATAL(packed && again);
    z_stream stream = {.next_in = packed,
                       .avail_in = (uInt)from_base64(text, packed),
                       .next_out = again,
                       .avail_out = (uInt)size + 1};
    CU_ASSERT_EQUAL(inflateInit2(&stream, -MAX_WBITS), Z_OK);
    CU_ASSERT_EQUAL(inflate(&stream, Z_FINISH), Z_STREAM_END);
    CU_ASSERT_EQUAL(stream.total_out, size);
    CU_ASSERT_EQUAL(memcmp(again, bytes, size), 0);
    inflateEnd(&stream);
    free(packed);
    free(again);
    free(text);
}

static void test_bytes_come_out_again(void)
{
    enum { MOST = 100000 };
    uint8_t *bytes = malloc(MOST);
    CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
    uint64_t state = 88172645463325252u; /* xorshift: bytes that do not shrink */
    for (size_t i = 0; i < MOST; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        bytes[i] = (uint8_t)state;
    }
    const size_t sizes[] = {0, 1, 2, 3, 4, 5, 30, 3072, 32768, MOST};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_packed(bytes, sizes[i]);
    memset(bytes, 'a', MOST);
    check_packed(bytes, MOST);
    free(bytes);
}

static uint64_t take_number(const struct html_columns *columns, size_t *at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = columns->bytes.items[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static void test_numbers_come_out_again(void)
{
    static const uint64_t values[] = {0,
                                      1,
                                      127,
                                      128,
                                      5,
                                      5,
                                      16383,
                                      16384,
                                      0,
                                      UINT32_MAX,
                                      3,
                                      1u << 20,
                                      (1u << 20) - 1,
                                      UINT64_C(1) << 53,
                                      0};
    const size_t count = sizeof values / sizeof *values;
    struct html_columns columns = {0};
    for (size_t i = 0; i < count; i++)
        report_html_column_plain(&columns, values[i]);
    report_html_column_begin(&columns);
    for (size_t i = 0; i < count; i++)
        report_html_column_difference(&columns, values[i]);
    CU_ASSERT_FALSE(columns.failed);
    size_t at = 0;
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(take_number(&columns, &at), values[i]);
    for (size_t i = 0; i < count; i++) {
        const uint64_t coded = take_number(&columns, &at);
        last += coded & 1 ? 0 - (coded + 1) / 2 : coded / 2;
        CU_ASSERT_EQUAL(last, values[i]);
    }
    CU_ASSERT_EQUAL(at, columns.bytes.count);
    sprof_vec_release(&columns.bytes);
}

void sprof_suite_report_encode(void);
void sprof_suite_report_encode(void)
{
    CU_pSuite suite = CU_add_suite("report/encode", NULL, NULL);
    CU_add_test(suite, "bytes come out again", test_bytes_come_out_again);
    CU_add_test(suite, "numbers come out again", test_numbers_come_out_again);
}
