#include "tests/unit/symbolize/jit_check.h"

static void test_lines(void)
{
    static const char map[] = "1000 100 LazyCompile:~a x.js:1\n"
                              "2000 10 with spaces  inside \n"
                              "0x3000 0X10 prefixed\r\n"
                              "1080 10 newer\n"
                              "garbage\n"
                              "\n"
                              "4000 0 empty\n"
                              "ffffffffffffff00 200 wraps\n"
                              "11112222333344445 1 too long\n"
                              "5000 10\n"
                              "7f0000000000 20 last without a newline";
    struct fixture fixture;
    fixture_open(&fixture);
    struct symbolize_jit *jit = jit_check_open(&fixture, map, sizeof map - 1);
    jit_check(jit, 0xfff, NULL, NULL, 0);
    jit_check(jit, 0x1000, "LazyCompile:~a x.js:1", NULL, 0);
    jit_check(jit, 0x1085, "newer", NULL, 0);
    jit_check(jit, 0x1090, "LazyCompile:~a x.js:1", NULL, 0);
    jit_check(jit, 0x1100, NULL, NULL, 0);
    jit_check(jit, 0x200f, "with spaces  inside ", NULL, 0);
    jit_check(jit, 0x3001, "prefixed", NULL, 0);
    jit_check(jit, 0x4000, NULL, NULL, 0);
    jit_check(jit, 0x5000, NULL, NULL, 0);
    jit_check(jit, 0x7f000000001f, "last without a newline", NULL, 0);
    CU_ASSERT_EQUAL(symbolize_jit_bad_lines(jit), 5);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

/* One line that never ends, between good ones. */
static void test_endless_line(void)
{
    enum { SIZE = 2 << 20 };
    char *map = malloc(SIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(map);
    struct fixture fixture;
    fixture_open(&fixture);
    memset(map, 'x', SIZE);
    memcpy(map, "1000 10 before\n2000 10 ", 23);
    memcpy(map + SIZE - 16, "\n3000 10 after\n\n", 16);
    struct symbolize_jit *jit = jit_check_open(&fixture, map, SIZE);
    jit_check(jit, 0x1000, "before", NULL, 0);
    jit_check(jit, 0x2000, NULL, NULL, 0);
    jit_check(jit, 0x3000, "after", NULL, 0);
    CU_ASSERT_EQUAL(symbolize_jit_bad_lines(jit), 1);
    symbolize_jit_free(jit);
    free(map);
    fixture_close(&fixture);
}

static void test_noise(void)
{
    struct fixture fixture;
    uint8_t noise[4096];
    fixture_open(&fixture);
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t state = seed;
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (uint8_t) "0123456789abcdef \n\nxyz"[fixture_random(&state) % 22];
        struct symbolize_jit *jit = jit_check_open(&fixture, noise, sizeof noise);
        CU_ASSERT_TRUE(symbolize_jit_bad_lines(jit) > 0);
        symbolize_jit_free(jit);
    }
    fixture_close(&fixture);
}

struct seen {
    size_t count;
    uint32_t number[4];
    uint64_t until_ns[4];
};

static int note_older(void *context, size_t address, uint32_t number, uint64_t until_ns)
{
    struct seen *seen = context;
    CU_ASSERT_EQUAL(address, 0);
    CU_ASSERT_TRUE_FATAL(seen->count < 4);
    seen->number[seen->count] = number;
    seen->until_ns[seen->count++] = until_ns;
    return 0;
}

/* Four pieces at one address; the second and the third came together. */
static void test_dates(void)
{
    static const char map[] =
        "1000 40 first\n1000 40 second\n1000 40 third\n1000 40 fourth\n1000 40 late\n";
    static const uint64_t address = 0x1010;
    const struct symbolize_jit_growth growth[] = {
        {0, 1000, 14}, {2000, 3000, 43}, {4000, 6000, 58}};
    struct fixture fixture;
    fixture_open(&fixture);
    struct symbolize_jit *jit = jit_check_open(&fixture, map, sizeof map - 1);
    struct seen seen = {0};
    CU_ASSERT_EQUAL(symbolize_jit_each_older(jit, &address, 1, note_older, &seen), 0);
    CU_ASSERT_EQUAL(seen.count, 0);                 /* no times */
    symbolize_jit_date(jit, growth, 3, 60000, 100); /* "late" came after the last look */
    CU_ASSERT_EQUAL(symbolize_jit_each_older(jit, &address, 1, note_older, &seen), 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 3);
    CU_ASSERT_EQUAL(seen.number[0], 1);
    CU_ASSERT_EQUAL(seen.until_ns[0], 60100);
    CU_ASSERT_EQUAL(seen.number[1], 2);
    CU_ASSERT_EQUAL(seen.until_ns[1], 5100);
    CU_ASSERT_EQUAL(seen.number[2], 4);
    CU_ASSERT_EQUAL(seen.until_ns[2], 2600);
    /* A fork between the looks may have had the second and third already, but not the fourth. */
    CU_ASSERT_EQUAL(symbolize_jit_succeed(jit, 2200, NULL), 0);
    jit_check(jit, address, "third", NULL, 0);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

/* Whole blocks are written by a program that collects its lines: since the block before. */
static void test_blocks(void)
{
    static const uint64_t address = 0x1010;
    static char map[8192];
    struct fixture fixture;
    fixture_open(&fixture);
    memset(map, '\n', sizeof map);
    memcpy(map, "1000 40 first", 13);
    memcpy(map + 5000, "1000 40 second", 14);
    const struct symbolize_jit_growth growth[] = {{0, 1000, 4096}, {8000, 9000, 8192}};
    struct symbolize_jit *jit = jit_check_open(&fixture, map, sizeof map);
    struct seen seen = {0};
    symbolize_jit_date(jit, growth, 2, 10000, 0);
    CU_ASSERT_EQUAL(symbolize_jit_each_older(jit, &address, 1, note_older, &seen), 0);
    CU_ASSERT_EQUAL_FATAL(seen.count, 1);
    CU_ASSERT_EQUAL(seen.until_ns[0], 5000);
    symbolize_jit_free(jit);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_perf_map(void);
void sprof_suite_symbolize_perf_map(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/perf_map", NULL, NULL);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "an endless line", test_endless_line);
    CU_add_test(suite, "noise", test_noise);
    CU_add_test(suite, "dates", test_dates);
    CU_add_test(suite, "blocks", test_blocks);
}
