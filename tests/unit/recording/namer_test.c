/* Sessions of the symbolizer are kept for the file that they are about, and for no other. */
#include "recording/namer.h"

#include "tests/unit/image/fixture.h"

#include <unistd.h>

static const char source[] =
    "echo 'int g; int add(int n) { return g += n; } int sub(int n) { return g -= n; }' > f.c && "
    "cc -g -shared -fPIC -o f.so f.c && cp f.so same.so";

static struct image *open_image(struct fixture *fixture, const char *name)
{
    struct image *image = NULL;
    const struct image_request request = {.file.path = fixture_path(fixture, name)};
    CU_ASSERT_EQUAL_FATAL(image_open(&image, &request, NULL), 0);
    return image;
}

static struct recording_session take(struct recording_namer *namer, const struct image *image)
{
    struct recording_session open;
    CU_ASSERT_EQUAL_FATAL(recording_namer_take(namer, image, &open), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(open.session);
    return open;
}

/* The line of a function, as the session's debug information says. */
static uint32_t line_of(struct recording_session *open, struct image *image, const char *name)
{
    const char *names[] = {name, NULL};
    struct image_symbol symbol;
    struct symbolize_result result;
    image_find_symbols(image, names, &symbol);
    CU_ASSERT_EQUAL_FATAL(
        symbolize_session_ask(open->session, &result, &symbol.vaddr, 1, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(result.frame_count, 1);
    CU_ASSERT_STRING_EQUAL(result.functions[0].name, name);
    const uint32_t line = result.frames[0].line;
    symbolize_result_release(&result);
    return line;
}

static void test_a_file_has_its_session_again(void)
{
    struct fixture fixture;
    struct recording_namer *namer = recording_namer_open(true, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(namer);
    fixture_open(&fixture);
    fixture_run(&fixture, source);
    struct image *first = open_image(&fixture, "f.so");
    struct recording_session open = take(namer, first);
    const struct symbolize_session *kept = open.session;
    CU_ASSERT_EQUAL(line_of(&open, first, "add"), 1);
    recording_namer_give(namer, &open);
    CU_ASSERT_PTR_NULL(open.session);
    image_free(first); /* a recording's image ends with it */

    struct image *second = open_image(&fixture, "f.so"), *other = open_image(&fixture, "same.so");
    open = take(namer, second);
    CU_ASSERT_PTR_EQUAL(open.session, kept);
    CU_ASSERT_EQUAL(line_of(&open, second, "add"), 1);
    CU_ASSERT_EQUAL(line_of(&open, second, "sub"), 1);
    struct recording_session beside = take(namer, second), copy = take(namer, other);
    CU_ASSERT_PTR_NOT_EQUAL(beside.session, kept);
    CU_ASSERT_EQUAL(line_of(&beside, second, "sub"), 1);
    recording_namer_give(namer, &open);
    recording_namer_give(namer, &beside); /* there is one already: it is closed */
    recording_namer_give(namer, &copy);
    open = take(namer, second);
    CU_ASSERT_PTR_EQUAL(open.session, kept);
    recording_namer_give(namer, &open);
    image_free(other);
    image_free(second);
    recording_namer_free(namer);
    fixture_close(&fixture);
}

/* A file that a command has changed gets another session, in which the function's line is 3. */
static void check_change(const char *command)
{
    struct fixture fixture;
    struct recording_namer *namer = recording_namer_open(true, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(namer);
    fixture_open(&fixture);
    fixture_run(&fixture, source);
    struct image *image = open_image(&fixture, "f.so");
    struct recording_session open = take(namer, image);
    CU_ASSERT_EQUAL(line_of(&open, image, "add"), 1);
    recording_namer_give(namer, &open);
    image_free(image);
    fixture_run(&fixture, command);
    image = open_image(&fixture, "f.so");
    open = take(namer, image);
    CU_ASSERT_EQUAL(line_of(&open, image, "add"), 3);
    recording_namer_give(namer, &open);
    image_free(image);
    recording_namer_free(namer);
    fixture_close(&fixture);
}

static void test_a_file_that_was_replaced_gets_another(void)
{
    check_change("(echo; echo; cat f.c) > g.c && cc -g -shared -fPIC -o g.so g.c && mv g.so f.so");
}

/* … and of the same size, with its time of change set back. */
static void test_a_file_that_was_written_over_gets_another(void)
{
    check_change("cp -p f.so was.so && (echo; echo; cat f.c) > g.c && "
                 "cc -g -shared -fPIC -o g.so g.c && cat g.so > f.so && "
                 "truncate -s $(stat -c %s was.so) f.so && touch -r was.so f.so");
}

/* An old one goes where younger ones were given back before it, too. */
static void test_an_old_session_is_closed(void)
{
    struct fixture fixture;
    struct recording_namer *namer = recording_namer_open(true, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(namer);
    fixture_open(&fixture);
    fixture_run(&fixture, source);
    struct image *young = open_image(&fixture, "f.so"), *old = open_image(&fixture, "same.so");
    struct recording_session first = take(namer, young), second = take(namer, young);
    struct recording_session aged = take(namer, old);
    const uint64_t soon_ns = 500000000, began_ns = sprof_clock_monotonic_ns() + soon_ns;
    aged.began_ns = began_ns - UINT64_C(600) * 1000000000;
    recording_namer_give(namer, &first);
    recording_namer_give(namer, &aged);
    while (sprof_clock_monotonic_ns() <= began_ns)
        usleep(10000);
    recording_namer_give(namer, &second);
    aged = take(namer, old);
    CU_ASSERT_TRUE(sprof_clock_monotonic_ns() - aged.began_ns < UINT64_C(600) * 1000000000);
    recording_namer_give(namer, &aged);
    image_free(old);
    image_free(young);
    recording_namer_free(namer);
    fixture_close(&fixture);
}

void sprof_suite_recording_namer(void);
void sprof_suite_recording_namer(void)
{
    CU_pSuite suite = CU_add_suite("recording/namer", NULL, NULL);
    CU_add_test(suite, "a file has its session again", test_a_file_has_its_session_again);
    CU_add_test(suite, "a file that was replaced gets another",
                test_a_file_that_was_replaced_gets_another);
    CU_add_test(suite, "a file that was written over gets another",
                test_a_file_that_was_written_over_gets_another);
    CU_add_test(suite, "an old session is closed", test_an_old_session_is_closed);
}
