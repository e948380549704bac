#include "tests/unit/symbolize/dwarf_source.h"
#include "tests/unit/symbolize/naming.h"

/* Two functions that are each other's origin, and a call whose origin is itself. */
static const char loop[] = DWARF_SOURCE_HEAD "left:\n"
                                             "    .byte 2\n"
                                             "    .quad code, 32\n"
                                             "    .long right - unit\n"
                                             "self:\n"
                                             "    .byte 5\n"
                                             "    .quad code, 16\n"
                                             "    .long self - unit\n"
                                             "    .byte 0, 0\n"
                                             "right:\n"
                                             "    .byte 2\n"
                                             "    .quad code + 32, 32\n"
                                             "    .long left - unit\n"
                                             "    .byte 0\n" DWARF_SOURCE_TAIL;

static void test_origins_in_a_loop_end(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.s", loop);
    fixture_run(&fixture, "cc -nostdlib -static a.s -o whole; objcopy --strip-all --keep-section="
                          ".debug_info --keep-section=.debug_abbrev whole a");
    const uint64_t code = naming_nm(&fixture, "whole", "code");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, code + 4), 0);
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, code + 40), 0);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(naming.result.frame_count, 3);
    CU_ASSERT_STRING_EQUAL(naming.result.functions[naming.result.frames[0].function].name,
                           "[inlined]");
    CU_ASSERT_FALSE(naming_function(&naming, code + 4)->named);
    CU_ASSERT_FALSE(naming_function(&naming, code + 40)->named);
    naming_close(&naming);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_lines(void);
void sprof_suite_symbolize_lines(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/lines", NULL, NULL);
    CU_add_test(suite, "origins in a loop", test_origins_in_a_loop_end);
}
