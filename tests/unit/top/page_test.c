#include "tests/unit/top/screen.h"

static void test_the_first_screen_is_functions(void)
{
    struct top top = example_top();
    assert_text(
        screen_of(&top, 12, 80),
        "sprof top · PID 100\n"
        "6 samples · 8.0 ms of CPU time in 2.00 s (0 %) · 3 lost · 66.67 % whole stacks …\n"
        "Functions by self time                       % of 8.0 ms of CPU time\n"
        "  self   ±    time  samples  function       module\n"
        ">  38 %  31  3.0 ms        3  S2             libs.so\n"
        "  25 %  29  2.0 ms        2  A2             prog\n"
        "  25 %  29  2.0 ms        0  [not sampled]  [none]\n"
        "  13 %  25  1.0 ms        1  A1             prog\n"
        "\n\n\n"
        "t tree · T threads · m modules · s sort · / search · z freeze · ? help · q quit\n");
    top_release(&top);
}

static size_t width_of(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    return width;
}

/* Of whatever size, every view has as many lines as there are rows, and none is wider. */
static void test_no_line_is_wider_than_the_screen(void)
{
    static const char views[] = "ftiTm?";
    for (const char *view = views; *view; view++)
        for (unsigned columns = 1; columns < 130; columns += 13)
            for (unsigned rows = 1; rows < 40; rows += 9) {
                struct top top = example_top();
                top_key(&top, *view);
                size_t lines = 0;
                for (const char *at = screen_of(&top, rows, columns); *at; lines++) {
                    const size_t length = strcspn(at, "\n");
                    CU_ASSERT_TRUE(width_of(at, length) <= columns + (*at == '>'));
                    at += length + 1;
                }
                const bool fits = rows >= TOP_LEAST_ROWS && columns >= TOP_LEAST_COLUMNS;
                CU_ASSERT_EQUAL(lines, fits ? rows : 1);
                top_release(&top);
            }
}

static void test_a_small_screen_says_what_it_needs(void)
{
    struct top top = example_top();
    assert_text(screen_of(&top, 5, 80), "too small: 40 columns and 8 rows are needed\n");
    top_release(&top);
}

static void test_without_samples_the_reason_stands_there(void)
{
    struct top top;
    CU_ASSERT_EQUAL_FATAL(top_init(&top, "all CPUs"), 0);
    assert_text(screen_of(&top, 8, 40), "sprof top · all CPUs\n"
                                        "\n"
                                        "reading the recording …\n"
                                        "\n\n\n\n"
                                        "t tree · T threads · m modules · s sort…\n");
    top_release(&top);
}

/* A command line may hold anything. */
static void test_control_characters_never_reach_the_screen(void)
{
    struct top top;
    CU_ASSERT_EQUAL_FATAL(top_init(&top, "a\033[2J\nb"), 0);
    top_say(&top, "x\033y");
    for (const char *at = screen_of(&top, 8, 40); *at; at++)
        CU_ASSERT_TRUE(*at == '\n' || (unsigned char)*at >= ' ');
    top_release(&top);
}

void sprof_suite_top_page(void);
void sprof_suite_top_page(void)
{
    CU_pSuite suite = CU_add_suite("top/page", example_open, example_close);
    CU_add_test(suite, "the first screen is functions", test_the_first_screen_is_functions);
    CU_add_test(suite, "no line is wider than the screen", test_no_line_is_wider_than_the_screen);
    CU_add_test(suite, "a small screen says what it needs", test_a_small_screen_says_what_it_needs);
    CU_add_test(suite, "without samples the reason stands there",
                test_without_samples_the_reason_stands_there);
    CU_add_test(suite, "control characters never reach the screen",
                test_control_characters_never_reach_the_screen);
}
