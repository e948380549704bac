#include "image/image.h"
#include "tests/unit/image/fixture.h"

static const char program[] = "int main(void) { return 0; }\n";

static struct image *open_fixture(struct fixture *fixture, const char *name)
{
    struct image *image = NULL;
    const struct image_request request = {.file.path = fixture_path(fixture, name)};
    CU_ASSERT_EQUAL(image_open(&image, &request, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    return image;
}

/* What opening the debug file of "a" gives: 0, SPROF_ENOTFOUND, or SPROF_EFORMAT for a file of
 * another build. */
static int open_debug(struct fixture *fixture)
{
    struct image *image = open_fixture(fixture, "a"), *debug = NULL;
    const int code = image_open_debug_below(&debug, image, fixture->directory, NULL);
    CU_ASSERT_EQUAL(debug && image_section(debug, ".debug_info", NULL).size, code == 0);
    image_free(debug);
    image_free(image);
    return code;
}

static void test_debug_link(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(&fixture, "cc -g -Wl,--build-id=none a.c -o a; objcopy --only-keep-debug a a.debug;"
                          "strip a; objcopy --add-gnu-debuglink=a.debug a");
    CU_ASSERT_EQUAL(open_debug(&fixture), 0);
    fixture_run(&fixture, "mkdir .debug && mv a.debug .debug");
    CU_ASSERT_EQUAL(open_debug(&fixture), 0);
    fixture_run(&fixture, "printf x >>.debug/a.debug"); /* the CRC does not fit any more */
    CU_ASSERT_EQUAL(open_debug(&fixture), SPROF_EFORMAT);
    fixture_run(&fixture, "rm .debug/a.debug; mkfifo .debug/a.debug a.debug");
    CU_ASSERT_EQUAL(open_debug(&fixture), SPROF_ENOTFOUND);
    fixture_close(&fixture);
}

static void test_build_id_directory(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", program);
    fixture_run(
        &fixture,
        "cc -g -Wl,--build-id=0xabcdef01 a.c -o a; cc -g -Wl,--build-id=0xabcdef02 a.c -o b;"
        "objcopy --only-keep-debug a a.debug; objcopy --only-keep-debug b b.debug;"
        "strip a; mkdir -p .build-id/ab; cp b.debug .build-id/ab/cdef01.debug");
    CU_ASSERT_EQUAL(open_debug(&fixture), SPROF_EFORMAT); /* another build under the right name */
    fixture_run(&fixture, "cp a.debug .build-id/ab/cdef01.debug");
    CU_ASSERT_EQUAL(open_debug(&fixture), 0);
    fixture_close(&fixture);
}

void sprof_suite_image_debug(void);
void sprof_suite_image_debug(void)
{
    CU_pSuite suite = CU_add_suite("image/debug", NULL, NULL);
    CU_add_test(suite, "debug link", test_debug_link);
    CU_add_test(suite, "build id directory", test_build_id_directory);
}
