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

void sprof_suite_symbolize_perf_map(void);
void sprof_suite_symbolize_perf_map(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/perf_map", NULL, NULL);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "an endless line", test_endless_line);
    CU_add_test(suite, "noise", test_noise);
}
