#include "tests/unit/top/screen.h"

static void test_the_tree_opens_and_closes(void)
{
    struct top top = example_top();
    top_key(&top, 't');
    assert_text(rows_of(&top),
                "Call paths                                   % of 8.0 ms of CPU time\n"
                "  samples  total    time  self  call path\n"
                ">        6   75 %  6.0 ms  13 %  A1\n"
                "        3   38 %  3.0 ms  13 %  ├ A2 [+]\n"
                "        2   25 %  2.0 ms   0 %  └ A3 [+]\n"
                "        0   25 %  2.0 ms  25 %  [not sampled]\n");
    top_key(&top, TOP_KEY_ENTER);
    assert_text(rows_of(&top),
                "Call paths                                   % of 8.0 ms of CPU time\n"
                "  samples  total    time  self  call path\n"
                ">        6   75 %  6.0 ms  13 %  A1 [+]\n"
                "        0   25 %  2.0 ms  25 %  [not sampled]\n");
    top_key(&top, TOP_KEY_RIGHT);
    assert_text(rows_of(&top),
                "Call paths                                   % of 8.0 ms of CPU time\n"
                "  samples  total    time  self  call path\n"
                ">        6   75 %  6.0 ms  13 %  A1\n"
                "        3   38 %  3.0 ms  13 %  ├ A2 [+]\n"
                "        2   25 %  2.0 ms   0 %  └ A3 [+]\n"
                "        0   25 %  2.0 ms  25 %  [not sampled]\n");
    top_release(&top);
}

static void test_the_inverted_tree_has_the_ways_into_a_function(void)
{
    struct top top = example_top();
    top_key(&top, 'i');
    assert_text(rows_of(&top),
                "Functions, and the ways into them            % of 8.0 ms of CPU time\n"
                "  samples  self    time  call path\n"
                ">        3  38 %  3.0 ms  S2 [+]\n"
                "        2  25 %  2.0 ms  A2 [+]\n"
                "        0  25 %  2.0 ms  [not sampled]\n"
                "        1  13 %  1.0 ms  A1\n");
    top_key(&top, 'l');
    assert_text(rows_of(&top),
                "Functions, and the ways into them            % of 8.0 ms of CPU time\n"
                "  samples  self    time  call path\n"
                ">        3  38 %  3.0 ms  S2\n"
                "        3  38 %  3.0 ms  └ S1 [+]\n"
                "        2  25 %  2.0 ms  A2 [+]\n"
                "        0  25 %  2.0 ms  [not sampled]\n"
                "        1  13 %  1.0 ms  A1\n");
    top_key(&top, 'i');
    CU_ASSERT_EQUAL(top.view, REPORT_SCREEN_TREE);
    top_release(&top);
}

static void test_enter_shows_the_ways_into_a_function_and_escape_leads_back(void)
{
    struct top top = example_top();
    type_keys(&top, "j\n");
    assert_text(rows_of(&top),
                "Functions, and the ways into them            % of 8.0 ms of CPU time\n"
                "  samples  self    time  call path\n"
                "        3  38 %  3.0 ms  S2 [+]\n"
                ">        2  25 %  2.0 ms  A2\n"
                "        1  13 %  1.0 ms  ├ A1\n"
                "        1  13 %  1.0 ms  └ A3 [+]\n"
                "        0  25 %  2.0 ms  [not sampled]\n"
                "        1  13 %  1.0 ms  A1\n");
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ESCAPE), TOP_NOTHING);
    CU_ASSERT_EQUAL(top.view, REPORT_SCREEN_FUNCTIONS);
    screen_of(&top, 24, 80);
    CU_ASSERT_EQUAL(top.row, 1);
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ESCAPE), TOP_NOTHING); /* there is no way back */
    top_release(&top);
}

/* What was read of all threads is not shown as that of one. */
static void test_a_thread_is_read_by_itself(void)
{
    struct top top = example_top();
    top_key(&top, 'T');
    assert_text(rows_of(&top),
                "Threads                                      % of 8.0 ms of CPU time\n"
                "  share   ±    time  samples  thread  tid  process  pid\n"
                ">   63 %  31  5.0 ms        5  prog    100  prog     100\n"
                "   25 %  29  2.0 ms        0  child   200  child    200\n"
                "   13 %  25  1.0 ms        1  worker  101  prog     100\n");
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ENTER), TOP_SELECT);
    assert_text(top_selection(&top).thread, "100");
    assert_text(rows_of(&top), "reading the recording …\n");
    top_take(&top, read_example(&top));
    assert_text(rows_of(&top),
                "Functions by self samples                    % of 5 samples in thread 100\n"
                "  self   ±  of all    time  samples  function  module\n"
                ">  60 %  33    50 %  3.0 ms        3  S2        libs.so\n"
                "  20 %  29    17 %  1.0 ms        1  A1        prog\n"
                "  20 %  29    17 %  1.0 ms        1  A2        prog\n");
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ESCAPE), TOP_SELECT);
    CU_ASSERT_PTR_NULL(top_selection(&top).thread);
    top_release(&top);
}

/* A module's name may look like a glob. */
static void test_a_module_is_read_by_itself(void)
{
    struct top top = example_top();
    top_key(&top, 'm');
    assert_text(rows_of(&top),
                "Modules by self time                         % of 8.0 ms of CPU time\n"
                "  self   ±    time  samples    total  module   kind\n"
                ">  38 %  31  3.0 ms        3     38 %  libs.so  system\n"
                "  38 %  31  3.0 ms        3     75 %  prog     app\n"
                "  25 %  29  2.0 ms        0     25 %  [none]   none\n");
    type_keys(&top, "jj");
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ENTER), TOP_SELECT);
    assert_text(top_selection(&top).module, "\\[none\\]");
    top_release(&top);
}

static void test_sorting_is_by_self_or_total(void)
{
    struct top top = example_top();
    top_key(&top, 's');
    assert_text(rows_of(&top),
                "Functions by total time                      % of 8.0 ms of CPU time\n"
                "  total   ±    time  samples    self  function       module\n"
                ">   75 %  29  6.0 ms        6    13 %  A1             prog\n"
                "   63 %  31  5.0 ms        5    25 %  A2             prog\n"
                "   38 %  31  3.0 ms        3     0 %  S1             libs.so\n"
                "   38 %  31  3.0 ms        3    38 %  S2             libs.so\n"
                "   25 %  29  2.0 ms        2     0 %  A3             prog\n"
                "   25 %  29  2.0 ms        0    25 %  [not sampled]  [none]\n");
    top_key(&top, 'T');
    top_key(&top, 's');
    assert_text(last_line_of(&top), "these rows have one share, and are sorted by it");
    top_key(&top, 'f');
    CU_ASSERT_PTR_NOT_NULL(strstr(screen_of(&top, 24, 80), "Functions by total time"));
    top_release(&top);
}

static void test_a_search_goes_round(void)
{
    struct top top = example_top();
    type_keys(&top, "/a");
    assert_text(last_line_of(&top), "search: a");
    top_key(&top, TOP_KEY_ENTER);
    CU_ASSERT_EQUAL(top.row, 1);
    top_key(&top, 'n');
    CU_ASSERT_EQUAL(top.row, 2); /* [not sampled] */
    type_keys(&top, "nn");
    CU_ASSERT_EQUAL(top.row, 1);
    top_key(&top, 'N');
    CU_ASSERT_EQUAL(top.row, 3);
    type_keys(&top, "/A1x");
    top_key(&top, TOP_KEY_ERASE);
    top_key(&top, TOP_KEY_ENTER); /* with a capital, as it is written */
    CU_ASSERT_EQUAL(top.row, 3);
    type_keys(&top, "/a1B\n");
    assert_text(last_line_of(&top), "`a1B` is in none of these rows");
    type_keys(&top, "/q");
    top_key(&top, TOP_KEY_ESCAPE);
    CU_ASSERT_EQUAL(top.row, 3);
    top_release(&top);
}

static void test_typed_text_is_utf8(void)
{
    struct top top = example_top();
    type_keys(&top, "/");
    top_key(&top, 0xe4);
    top_key(&top, 0x20ac);
    top_key(&top, 0x1f600);
    top_key(&top, 0xd800); /* no character */
    assert_text(last_line_of(&top), "search: ä€😀");
    top_key(&top, TOP_KEY_ERASE);
    assert_text(last_line_of(&top), "search: ä€");
    top_release(&top);
}

/* The screen stays as it is, and what came meanwhile is shown afterwards. */
static void test_a_frozen_screen_keeps_its_moment(void)
{
    struct top top = example_top();
    const struct report_moment *before = top.moment;
    top_key(&top, 'z');
    CU_ASSERT_PTR_NOT_NULL(strstr(screen_of(&top, 24, 80), "sprof top · frozen · PID 100"));
    struct report_moment *newest = read_example(&top);
    top_take(&top, read_example(&top));
    top_take(&top, newest);
    CU_ASSERT_PTR_EQUAL(top.moment, before);
    top_key(&top, 'z');
    CU_ASSERT_PTR_EQUAL(top.moment, newest);
    CU_ASSERT_PTR_NULL(strstr(screen_of(&top, 24, 80), "frozen"));
    top_release(&top);
}

/* Unless the first one is chosen, whichever that is. */
static void test_the_chosen_row_stays_the_same_thing(void)
{
    struct top top = example_top();
    type_keys(&top, "jjj"); /* A1 by self */
    top_key(&top, 's');
    screen_of(&top, 24, 80);
    assert_text(top.screen.rows[top.row].name, "A1");
    CU_ASSERT_EQUAL(top.row, 0);
    top_key(&top, 's');
    screen_of(&top, 24, 80);
    CU_ASSERT_EQUAL(top.row, 3);
    top_key(&top, TOP_KEY_HOME);
    top_key(&top, 's');
    screen_of(&top, 24, 80);
    CU_ASSERT_EQUAL(top.row, 0);
    top_release(&top);
}

static void test_rows_scroll(void)
{
    struct top top = example_top();
    CU_ASSERT_PTR_NULL(strstr(screen_of(&top, 8, 80), "A1"));
    top_key(&top, TOP_KEY_END);
    const char *text = screen_of(&top, 8, 80);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "A1"));
    CU_ASSERT_PTR_NULL(strstr(text, "S2"));
    top_key(&top, TOP_KEY_PAGE_UP);
    CU_ASSERT_PTR_NOT_NULL(strstr(screen_of(&top, 8, 80), "A2"));
    top_release(&top);
}

static void test_a_click_chooses_and_opens(void)
{
    struct top top = example_top();
    screen_of(&top, 24, 80);
    top_click(&top, 5);
    CU_ASSERT_EQUAL(top.row, 1);
    top_click(&top, 0);
    top_click(&top, 23);
    CU_ASSERT_EQUAL(top.row, 1);
    top_click(&top, 5);
    CU_ASSERT_EQUAL(top.view, REPORT_SCREEN_CALLERS);
    top_release(&top);
}

static void test_help_has_a_line_for_each_key(void)
{
    struct top top = example_top();
    top_key(&top, '?');
    const char *text = screen_of(&top, 40, 80);
    static const char *const lines[] = {"  t         tree", "  z         freeze",
                                        "  q         quit", "  Esc       back"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(text, lines[i]));
    top_key(&top, TOP_KEY_ESCAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(screen_of(&top, 24, 80), "Functions by self"));
    CU_ASSERT_EQUAL(top_key(&top, 'q'), TOP_QUIT);
    top_release(&top);
}

static void test_a_mark_has_the_name_that_was_typed(void)
{
    struct top top = example_top();
    CU_ASSERT_EQUAL(type_keys(&top, "Mload it\n"), TOP_MARK);
    assert_text(top.answer.text, "load it");
    CU_ASSERT_EQUAL(type_keys(&top, "M\n"), TOP_NOTHING);
    top_release(&top);
}

static void test_waits_are_read_with_all_events(void)
{
    struct top top = example_top();
    CU_ASSERT_EQUAL(top_key(&top, 'w'), TOP_SELECT);
    CU_ASSERT_TRUE(top_selection(&top).all_events);
    top_take(&top, read_example(&top));
    assert_text(rows_of(&top), "Events                                       % of 6 samples\n"
                               "  share   ±    time  samples  event\n"
                               ">  100 %  20  8.0 ms        6  cpu-clock\n");
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ENTER), TOP_SELECT);
    assert_text(top_selection(&top).event, "cpu-clock");
    CU_ASSERT_FALSE(top_selection(&top).all_events);
    CU_ASSERT_EQUAL(top.view, REPORT_SCREEN_TREE);
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ESCAPE), TOP_SELECT);
    CU_ASSERT_EQUAL(top_key(&top, 'm'), TOP_SELECT);
    CU_ASSERT_PTR_NULL(top_selection(&top).event);
    top_release(&top);
}

static void test_code_is_that_of_the_chosen_function(void)
{
    struct top top = example_top();
    CU_ASSERT_EQUAL(type_keys(&top, "ja"), TOP_ANNOTATE);
    assert_text(top.answer.text, "prog!A2");
    top_show_code(&top, "code of A2\n\n\tmov \033[1m");
    assert_text(rows_of(&top), "code of A2\n");
    CU_ASSERT_PTR_NOT_NULL(strstr(screen_of(&top, 24, 80), "\n mov \xef\xbf\xbd[1m\n"));
    top_key(&top, TOP_KEY_ESCAPE);
    CU_ASSERT_PTR_NOT_NULL(strstr(screen_of(&top, 24, 80), ">  25 %"));
    CU_ASSERT_EQUAL(type_keys(&top, "Ta"), TOP_NOTHING);
    assert_text(last_line_of(&top), "choose a function: the code of functions is shown");
    top_release(&top);
}

static void test_a_recording_is_saved_as_sprof_db_or_what_is_typed(void)
{
    struct top top = example_top();
    type_keys(&top, "S");
    assert_text(last_line_of(&top), "save the recording as: sprof.db");
    CU_ASSERT_EQUAL(top_key(&top, TOP_KEY_ENTER), TOP_SAVE);
    assert_text(top.answer.text, "sprof.db");
    type_keys(&top, "S\x7f\x7f\x7f.1\n");
    assert_text(top.answer.text, "sprof.1");
    top_release(&top);
}

/* Whatever is pressed in whatever order. */
static void test_any_keys_can_be_pressed(void)
{
    static const int keys[] = {'f',
                               't',
                               'i',
                               'T',
                               'm',
                               'w',
                               's',
                               'j',
                               'k',
                               'h',
                               'l',
                               'z',
                               '?',
                               '/',
                               'n',
                               'N',
                               'a',
                               TOP_KEY_ENTER,
                               TOP_KEY_ESCAPE,
                               TOP_KEY_UP,
                               TOP_KEY_DOWN,
                               TOP_KEY_LEFT,
                               TOP_KEY_RIGHT,
                               TOP_KEY_PAGE_UP,
                               TOP_KEY_PAGE_DOWN,
                               TOP_KEY_HOME,
                               TOP_KEY_END,
                               TOP_KEY_ERASE,
                               0,
                               'x'};
    struct top top = example_top();
    unsigned seed = 1;
    for (int i = 0; i < 600; i++) {
        seed = seed * 1664525u + 1013904223u;
        const int key = keys[(seed >> 16) % (sizeof keys / sizeof *keys)];
        if (top_key(&top, key) == TOP_SELECT)
            top_take(&top, read_example(&top));
        if (i % 7 == 0)
            screen_of(&top, 8 + (seed >> 8) % 30, 40 + (seed >> 24) % 90);
        CU_ASSERT_TRUE(!top.screen.count || top.row < top.screen.count);
    }
    top_release(&top);
}

void sprof_suite_top_keys(void);
void sprof_suite_top_keys(void)
{
    CU_pSuite suite = CU_add_suite("top/keys", example_open, example_close);
    CU_add_test(suite, "the tree opens and closes", test_the_tree_opens_and_closes);
    CU_add_test(suite, "the inverted tree", test_the_inverted_tree_has_the_ways_into_a_function);
    CU_add_test(suite, "enter and escape",
                test_enter_shows_the_ways_into_a_function_and_escape_leads_back);
    CU_add_test(suite, "a thread is read by itself", test_a_thread_is_read_by_itself);
    CU_add_test(suite, "a module is read by itself", test_a_module_is_read_by_itself);
    CU_add_test(suite, "sorting is by self or total", test_sorting_is_by_self_or_total);
    CU_add_test(suite, "a search goes round", test_a_search_goes_round);
    CU_add_test(suite, "typed text is UTF-8", test_typed_text_is_utf8);
    CU_add_test(suite, "a frozen screen keeps its moment", test_a_frozen_screen_keeps_its_moment);
    CU_add_test(suite, "the chosen row stays the same thing",
                test_the_chosen_row_stays_the_same_thing);
    CU_add_test(suite, "rows scroll", test_rows_scroll);
    CU_add_test(suite, "a click chooses and opens", test_a_click_chooses_and_opens);
    CU_add_test(suite, "help has a line for each key", test_help_has_a_line_for_each_key);
    CU_add_test(suite, "a mark has the name that was typed",
                test_a_mark_has_the_name_that_was_typed);
    CU_add_test(suite, "waits are read with all events", test_waits_are_read_with_all_events);
    CU_add_test(suite, "code is that of the chosen function",
                test_code_is_that_of_the_chosen_function);
    CU_add_test(suite, "a recording is saved as sprof.db or what is typed",
                test_a_recording_is_saved_as_sprof_db_or_what_is_typed);
    CU_add_test(suite, "any keys can be pressed", test_any_keys_can_be_pressed);
}
