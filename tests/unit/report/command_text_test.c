/* Command lines are shown from where they differ on. */
#include "report/command_text.h"
#include "tests/unit/report/recorded.h"

static void check(const char *const *commands, const char *const *expected, size_t count)
{
    struct report_commands all = {0};
    for (size_t i = 0; i < count; i++)
        CU_ASSERT_EQUAL(report_commands_add(&all, commands[i]), 0);
    for (size_t i = 0; i < count; i++) {
        struct sprof_str text = {0};
        CU_ASSERT_EQUAL(report_commands_short(&all, commands[i], &text), 0);
        assert_text(text.text, expected[i]);
        sprof_str_release(&text);
    }
    report_commands_release(&all);
}

static void test_what_is_common_is_left_out(void)
{
    static const char *const commands[] = {
        "/usr/lib/gcc/cc1plus -quiet -I . -D A a.cpp -O2",
        "/usr/lib/gcc/cc1plus -quiet -I . -D A b.cpp -O2",
        "/usr/lib/gcc/cc1plus -quiet -I . -D A b.cpp -O2",
        "as -o a.o",
        "make",
        NULL,
    };
    static const char *const expected[] = {"cc1plus … a.cpp -O2",
                                           "cc1plus … b.cpp -O2",
                                           "cc1plus … b.cpp -O2",
                                           "as -o a.o",
                                           "make",
                                           ""};
    check(commands, expected, sizeof commands / sizeof *commands);
}

/* Words are left out as a whole, and none where one line has no more. */
static void test_words_are_whole(void)
{
    static const char *const first[] = {"work --size 100", "work --size 12"};
    static const char *const first_short[] = {"work … 100", "work … 12"};
    static const char *const second[] = {"work --all", "work --all --fast", "work"};
    static const char *const second_short[] = {"work --all", "work --all --fast", "work"};
    static const char *const third[] = {"work --all", "/bin/work --all --fast"};
    static const char *const third_short[] = {"work …", "work … --fast"};
    static const char *const fourth[] = {"'/a b/work' 'x y'", "'/a b/work' 'x z'"};
    static const char *const fourth_short[] = {"work … y'", "work … z'"};
    check(first, first_short, 2);
    check(second, second_short, 3);
    check(third, third_short, 2);
    check(fourth, fourth_short, 2);
}

void sprof_suite_report_command_text(void);
void sprof_suite_report_command_text(void)
{
    CU_pSuite suite = CU_add_suite("report/command_text", NULL, NULL);
    CU_add_test(suite, "what is common is left out", test_what_is_common_is_left_out);
    CU_add_test(suite, "words are whole", test_words_are_whole);
}
