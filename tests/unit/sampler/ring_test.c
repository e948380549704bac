#include "sampler/ring.h"

#include <CUnit/CUnit.h>
#include <string.h>

enum { SIZE = 64 };

/* A ring in plain memory. */
static struct perf_event_mmap_page page;
static uint64_t words[SIZE / 8];

static struct sampler_ring empty_ring(void)
{
    memset(&page, 0, sizeof page);
    memset(words, 0, sizeof words);
    return sampler_ring_of((uint8_t *)words, SIZE, (void *)&page.data_head,
                           (void *)&page.data_tail);
}

static void put_header(uint64_t offset, uint16_t size)
{
    const struct perf_event_header header = {.type = PERF_RECORD_COMM, .size = size};
    for (size_t i = 0; i < sizeof header; i++)
        ((uint8_t *)words)[(offset + i) % SIZE] = ((const uint8_t *)&header)[i];
}

static void test_head_is_seen_and_tail_published_once(void)
{
    struct sampler_ring ring = empty_ring();
    CU_ASSERT_FALSE(sampler_ring_refresh(&ring));
    page.data_head = 16;
    CU_ASSERT_TRUE(sampler_ring_refresh(&ring));
    CU_ASSERT_FALSE(sampler_ring_refresh(&ring));
    ring.tail = 16;
    CU_ASSERT_EQUAL(page.data_tail, 0);
    sampler_ring_publish(&ring);
    CU_ASSERT_EQUAL(page.data_tail, 16);
}

static void test_impossible_heads_give_nothing(void)
{
    static const uint64_t heads[] = {SIZE + 8, UINT64_MAX, 1};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct perf_event_header header;
        struct sampler_ring ring = empty_ring();
        page.data_head = heads[i];
        sampler_ring_refresh(&ring);
        CU_ASSERT_FALSE(sampler_ring_header(&ring, ring.tail, &header));
    }
}

static void test_impossible_sizes_are_no_records(void)
{
    static const uint16_t sizes[] = {0, 7, 33, 40, 65528};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct perf_event_header header;
        struct sampler_ring ring = empty_ring();
        page.data_head = 32;
        put_header(0, sizes[i]);
        sampler_ring_refresh(&ring);
        CU_ASSERT_FALSE(sampler_ring_header(&ring, 0, &header));
    }
}

static void test_a_record_that_wraps_is_copied(void)
{
    struct perf_event_header header;
    struct sampler_ring ring = empty_ring();
    ring.tail = SIZE - 16;
    page.data_head = SIZE + 16;
    put_header(SIZE - 16, 32);
    words[7] = 0x1111;
    words[0] = 0x2222;
    words[1] = 0x3333;
    sampler_ring_refresh(&ring);
    CU_ASSERT_TRUE_FATAL(sampler_ring_header(&ring, ring.tail, &header));
    static _Alignas(8) uint8_t buffer[SAMPLER_RING_RECORD_MAX];
    bool copied = false;
    const uint64_t *record =
        (const void *)sampler_ring_record(&ring, ring.tail, &header, buffer, &copied);
    CU_ASSERT_TRUE(copied);
    CU_ASSERT_EQUAL(record[1], 0x1111);
    CU_ASSERT_EQUAL(record[2], 0x2222);
    CU_ASSERT_EQUAL(record[3], 0x3333);
    CU_ASSERT_EQUAL(sampler_ring_word(&ring, ring.tail + 24), 0x3333);
}

static void test_a_record_that_does_not_wrap_stays(void)
{
    struct sampler_ring ring = empty_ring();
    ring.tail = SIZE - 16;
    page.data_head = SIZE;
    put_header(SIZE - 16, 16);
    sampler_ring_refresh(&ring);
    bool copied = true;
    struct perf_event_header header;
    CU_ASSERT_TRUE_FATAL(sampler_ring_header(&ring, ring.tail, &header));
    CU_ASSERT_PTR_EQUAL(sampler_ring_record(&ring, ring.tail, &header, NULL, &copied), &words[6]);
    CU_ASSERT_FALSE(copied);
}

/* A record of a size of its own, and the next one, whose header wraps. */
static void test_records_begin_anywhere(void)
{
    static _Alignas(8) uint8_t buffer[SAMPLER_RING_RECORD_MAX];
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    struct perf_event_header header;
    struct sampler_ring ring = empty_ring();
    bool copied = true;
    page.data_head = SIZE - 3 + 17;
    put_header(0, SIZE - 3);
    put_header(SIZE - 3, 17);
    memcpy((uint8_t *)words + 5, bytes, sizeof bytes);
    sampler_ring_refresh(&ring);
    ring.head = page.data_head; /* as if the first bytes had been read before the last came */
    CU_ASSERT_TRUE(sampler_ring_header(&ring, SIZE - 3, &header));
    CU_ASSERT_EQUAL(header.size, 17);
    CU_ASSERT_EQUAL(header.type, PERF_RECORD_COMM);
    const uint8_t *record =
        (const void *)sampler_ring_record(&ring, SIZE - 3, &header, buffer, &copied);
    CU_ASSERT_TRUE(copied);
    CU_ASSERT_PTR_EQUAL(record, buffer);
    CU_ASSERT_FALSE(memcmp(record + sizeof header, bytes, sizeof bytes));
    CU_ASSERT_EQUAL(sampler_ring_word(&ring, SIZE + 5), 0x0807060504030201);
    CU_ASSERT_EQUAL(sampler_ring_word(&ring, SIZE + 6), 0x0908070605040302);
    ring.tail = SIZE + 5; /* not aligned, though it does not wrap */
    put_header(SIZE + 5, 9);
    CU_ASSERT_TRUE(sampler_ring_header(&ring, SIZE + 5, &header));
    CU_ASSERT_PTR_EQUAL(sampler_ring_record(&ring, SIZE + 5, &header, buffer, &copied), buffer);
    CU_ASSERT_TRUE(copied);
}

/* A writer that changes a record after its header was checked gains nothing. */
static void test_an_untrusted_writer(void)
{
    static _Alignas(8) uint8_t buffer[SAMPLER_RING_RECORD_MAX];
    struct perf_event_header header;
    struct sampler_ring ring = empty_ring();
    bool copied = false;
    ring.untrusted = true;
    page.data_head = 16;
    put_header(0, 16);
    sampler_ring_refresh(&ring);
    CU_ASSERT_TRUE_FATAL(sampler_ring_header(&ring, 0, &header));
    put_header(0, 65535);
    const struct perf_event_header *record =
        sampler_ring_record(&ring, 0, &header, buffer, &copied);
    CU_ASSERT_TRUE(copied);
    CU_ASSERT_PTR_EQUAL(record, buffer);
    CU_ASSERT_EQUAL(record->size, 16);
}

void sprof_suite_sampler_ring(void);
void sprof_suite_sampler_ring(void)
{
    CU_pSuite suite = CU_add_suite("sampler/ring", NULL, NULL);
    CU_add_test(suite, "the head is seen, the tail published",
                test_head_is_seen_and_tail_published_once);
    CU_add_test(suite, "impossible heads give nothing", test_impossible_heads_give_nothing);
    CU_add_test(suite, "impossible sizes are no records", test_impossible_sizes_are_no_records);
    CU_add_test(suite, "a record that wraps is copied", test_a_record_that_wraps_is_copied);
    CU_add_test(suite, "one that does not stays", test_a_record_that_does_not_wrap_stays);
    CU_add_test(suite, "records begin anywhere", test_records_begin_anywhere);
    CU_add_test(suite, "an untrusted writer", test_an_untrusted_writer);
}
