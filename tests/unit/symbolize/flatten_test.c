#include "tests/unit/symbolize/dwarf_source.h"
#include "tests/unit/symbolize/naming.h"

/* Blocks within blocks, DEPTH times, with a call that was inlined in the innermost. */
static const char nest[] = DWARF_SOURCE_HEAD "outer:\n"
                                             "    .byte 4\n"
                                             "    .asciz \"outer\"\n"
                                             "    .quad code, 64\n"
                                             "    .rept DEPTH\n"
                                             "    .byte 3\n"
                                             "    .endr\n"
                                             "    .byte 5\n"
                                             "    .quad code, 16\n"
                                             "    .long outer - unit\n"
                                             "    .byte 0\n"
                                             "    .rept DEPTH\n"
                                             "    .byte 0\n"
                                             "    .endr\n"
                                             "    .byte 0\n" DWARF_SOURCE_TAIL;

/* Returns how many frames the innermost place has. */
static size_t frames_at_depth(struct fixture *fixture, int depth)
{
    char command[256];
    snprintf(command, sizeof command,
             "cc -Wa,--defsym,DEPTH=%d -nostdlib -static a.s -o whole; objcopy --strip-all "
             "--keep-section=.debug_info --keep-section=.debug_abbrev whole a",
             depth);
    fixture_run(fixture, command);
    const uint64_t code = naming_nm(fixture, "whole", "code");
    struct naming naming = {.image = naming_image(fixture_path(fixture, "a"))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, code + 4), 0);
    naming_run(&naming, NULL, NULL);
    const struct symbolize_function *function = naming_function(&naming, code + 4);
    CU_ASSERT_STRING_EQUAL(function->name, "outer");
    CU_ASSERT_EQUAL(function->start, code);
    CU_ASSERT_EQUAL(function->size, 64);
    const size_t count = naming.result.frame_count;
    naming_close(&naming);
    return count;
}

static void test_depth_is_bounded(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.s", nest);
    CU_ASSERT_EQUAL(frames_at_depth(&fixture, 0), 2);
    CU_ASSERT_EQUAL(frames_at_depth(&fixture, 100), 2);
    CU_ASSERT_EQUAL(frames_at_depth(&fixture, 20000), 1); /* the stack is safe, the name stays */
    fixture_close(&fixture);
}

void sprof_suite_symbolize_flatten(void);
void sprof_suite_symbolize_flatten(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/flatten", NULL, NULL);
    CU_add_test(suite, "depth is bounded", test_depth_is_bounded);
}
