#include "symbolize/module.h"
#include "tests/unit/symbolize/naming.h"

static void test_paths_that_could_wait(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, "mkfifo pipe; echo text >file");
    CU_ASSERT_FALSE(symbolize_module_path_is_safe(fixture.directory, "pipe"));
    CU_ASSERT_FALSE(symbolize_module_path_is_safe(NULL, fixture_path(&fixture, "pipe")));
    CU_ASSERT_TRUE(symbolize_module_path_is_safe(fixture.directory, "file"));
    CU_ASSERT_TRUE(symbolize_module_path_is_safe(fixture.directory, "missing"));
    CU_ASSERT_FALSE(symbolize_module_path_is_safe("/ignored", "/dev/zero"));
    fixture_close(&fixture);
}

/* A few kilobytes that claim to unpack to more than any memory: the names stay, the lines go. */
static void test_boastful_compression(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", "int main(void) { return 0; }\n");
    fixture_run(&fixture,
                "cc -g a.c -o a; objcopy --compress-debug-sections=zlib-gabi a;"
                "offset=$(readelf -SW a | sed -n 's/.*\\.debug_[a-z]* *PROGBITS *[0-9a-f]* "
                "\\([0-9a-f]*\\) [0-9a-f]* [0-9a-f]* *M\\?S\\?C.*/\\1/p' | head -1);"
                "test -n \"$offset\";"
                "printf '\\377\\377\\377\\377\\377\\377' | dd of=a bs=1 conv=notrunc status=none "
                "seek=$((0x$offset + 8))");
    const uint64_t address = naming_nm(&fixture, "a", "main");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, address), 0);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_STRING_EQUAL(naming_function(&naming, address)->name, "main");
    CU_ASSERT_EQUAL(naming_function(&naming, address)->line, 0);
    naming_close(&naming);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_module(void);
void sprof_suite_symbolize_module(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/module", NULL, NULL);
    CU_add_test(suite, "paths that could wait", test_paths_that_could_wait);
    CU_add_test(suite, "boastful compression", test_boastful_compression);
}
