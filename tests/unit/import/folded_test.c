#include "tests/unit/import/importing.h"

static void expect_query(const char *text, const char *sql, const char *expected)
{
    importing_expect("folded", text, strlen(text), sql, expected);
}

static void expect_skipped(const char *text, const char *messages, const char *sql,
                           const char *expected)
{
    importing_skips("folded", text, strlen(text), messages, sql, expected);
}

#define PATHS "SELECT path, exclusive_samples, inclusive_samples FROM v_call_tree ORDER BY path"
#define NAMES "SELECT function, module FROM v_function ORDER BY function, module"

/* Nothing that ran has so many frames: the line is left out, and it does not take minutes. */
static void test_a_stack_of_millions(void)
{
    enum { FRAMES = 300000 };
    struct sprof_str text = {0};
    for (int i = 0; i < FRAMES; i++)
        sprof_str_append(&text, "f;");
    sprof_str_append(&text, "f 1\na;b 2\n");
    CU_ASSERT_FALSE_FATAL(text.failed);
    importing_skips("folded", text.text, text.length,
                    "in:1: a stack of more than 262 144 frames\n"
                    "in: 1 line could not be read and is left out\n",
                    PATHS, "a|0|2 a;b|2|2");
    sprof_str_release(&text);
}

/* == What is right == */

static void test_stacks_and_counts(void)
{
    expect_query("a;b 2\na 1\na;c;b 3\n", PATHS, "a|1|6 a;b|2|2 a;c|0|3 a;c;b|3|3");
    expect_query("a;b 2\n", "SELECT state, mode, source FROM v_run", "complete|full|import");
    expect_query("a;b 2\n", "SELECT name, is_clock, varying, period FROM event", "samples|0|0|1");
}

static void test_equal_lines_add_up(void)
{
    expect_query("a;b 2\na;b 3\n", PATHS, "a|0|5 a;b|5|5");
    expect_query("a;b 2\na;b 3\n", "SELECT count(*), sum(count) FROM sample", "2|5");
}

static void test_recursion_counts_once(void)
{
    expect_query("f;f;f 4\n",
                 "SELECT function, exclusive_samples, inclusive_samples FROM v_function", "f|4|4");
}

static void test_line_ends(void)
{
    expect_query("a;b 2\r\na 1\r\n", PATHS, "a|1|3 a;b|2|2");
    expect_query("a;b 2", PATHS, "a|0|2 a;b|2|2");
    expect_query("a;b 2 \t\r\na;b\t3\na;b  4  \n", PATHS, "a|0|9 a;b|9|9");
    expect_query("\n# a comment\n\na 1\n\r\n#b 7\n", PATHS, "a|1|1");
}

static void test_names_may_hold_anything_else(void)
{
    expect_query("main;std::map<int, int>::at(int const&) 3\n", PATHS,
                 "main|0|3 main;std::map<int, int>::at(int const&)|3|3");
    expect_query("\xc3\xa4 \xe2\x86\x92 b;-;[x] 1\n", "SELECT count(*) FROM v_function", "3");
    expect_query("a\tb 1\n", "SELECT function = 'a' || char(9) || 'b' FROM v_function", "1");
}

static void test_modules(void)
{
    expect_query("prog!main;libsys.so!read 1\n", NAMES, "main|prog read|libsys.so");
    expect_query("prog!main;libsys.so!read 1\n",
                 "SELECT module, kind FROM v_module ORDER BY module", "libsys.so|system prog|app");
    expect_query("/usr/lib/libc.so.6!write 1\n", "SELECT module, path, kind FROM v_module",
                 "libc.so.6|/usr/lib/libc.so.6|system");
    expect_query("main 1\n", NAMES, "main|[application]");
    expect_query("a!f;b!f 1\n", "SELECT count(*) FROM function WHERE name = 'f'", "2");
    expect_query("[kernel]!do_read 1\n", "SELECT module, kind FROM v_module", "[kernel]|kernel");
}

static void test_exclamation_marks_that_are_names(void)
{
    expect_query("operator!=(A const&, A const&) 1\n", NAMES,
                 "operator!=(A const&, A const&)|[application]");
    expect_query("ns::A::operator!() 1\n", NAMES, "ns::A::operator!()|[application]");
    expect_query("prog!A::operator!= 1\n", NAMES, "A::operator!=|prog");
    expect_query("f<(char)33, '!'> 1\n", NAMES, "f<(char)33, '!'>|[application]");
    expect_query("!main 1\n", NAMES, "!main|[application]");
    expect_query("main! 1\n", NAMES, "main!|[application]");
    /* Names of Ruby, Elixir, Julia and Rust. */
    expect_query("update! - app.rb:3 1\n", NAMES, "update! - app.rb:3|[application]");
    expect_query("fold! [c function] 1\n", NAMES, "fold! [c function]|[application]");
    expect_query("App.Store:get!/2 1\n", NAMES, "App.Store:get!/2|[application]");
    expect_query("sort!(Array, Int) 1\n", NAMES, "sort!(Array, Int)|[application]");
    expect_query("std::io::panic!helper 1\n", NAMES, "std::io::panic!helper|[application]");
    /* Modules' are still these. */
    expect_query("libsys.so.6!(anonymous namespace)::f 1\n", NAMES,
                 "(anonymous namespace)::f|libsys.so.6");
    expect_query("prog!save! 1\n", NAMES, "save!|prog");
    expect_query("/opt/a b (x)/prog!f 1\n", NAMES, "f|prog");
    expect_query("[kernel]!<T as U>::f 1\n", NAMES, "<T as U>::f|[kernel]");
}

/* Of a comparison the second count is taken; a line without a count of its own is no sample. */
static void test_two_counts(void)
{
    expect_skipped("a;b 7 2\na 1 0\na 0 3\nc 4\n",
                   "in: 3 lines end with two counts, as of a comparison: the second is taken\n",
                   PATHS, "a|3|5 a;b|2|2 c|4|4");
}

/* A text that is no profile is refused, unless the user says what it is. */
static void test_a_guess_that_does_not_hold(void)
{
    static const char text[] = "Dear reader,\nsee page 5\nand the appendix.\n";
    importing_refused(NULL, text, sizeof text - 1,
                      "in:1: the count after the last space is not a whole number\n"
                      "in:3: the count after the last space is not a whole number\n",
                      "-f what the file is");
    expect_skipped(text,
                   "in:1: the count after the last space is not a whole number\n"
                   "in:3: the count after the last space is not a whole number\n"
                   "in: 2 lines could not be read and are left out\n",
                   PATHS, "see page|5|5");
}

static void test_deep_stacks(void)
{
    enum { DEPTH = 20000 };
    struct sprof_str text = {0};
    for (int i = 0; i < DEPTH; i++)
        sprof_str_appendf(&text, "%sf%d", i ? ";" : "", i % 10);
    sprof_str_append(&text, " 1\n");
    expect_query(text.text, "SELECT count(*), max(depth) FROM call_path", "20000|20000");
    sprof_str_release(&text);
}

static void test_huge_counts(void)
{
    expect_query("a 9223372036854775807\n", "SELECT sum(count), sum(weight) FROM sample",
                 "9223372036854775807|9223372036854775807");
    expect_query("a 9223372036854775806\nb 1\n", "SELECT sum(exclusive_samples) FROM path_cost",
                 "9223372036854775807");
}

/* == What is wrong == */

static void expect_refused(const char *text, const char *messages)
{
    importing_refused("folded", text, strlen(text), messages, "");
}

static void test_every_malformed_line_has_its_number(void)
{
    expect_skipped("a;b 1\n"
                   "nocount\n"
                   "a;b x\n"
                   "a;b 1.5\n"
                   "# fine\n"
                   "a;b -1\n"
                   "a;b +1\n"
                   "a;b 0\n"
                   "a;;b 1\n"
                   ";a 1\n"
                   "a; 1\n"
                   " 1\n"
                   "a 9223372036854775808\n"
                   "a 99999999999999999999999\n"
                   "a 1 x\n"
                   "a 0x10\n",
                   "in:2: no count: a line is `frame;frame;frame COUNT`\n"
                   "in:3: the count after the last space is not a whole number\n"
                   "in:4: the count after the last space is not a whole number\n"
                   "in:6: the count after the last space is not a whole number\n"
                   "in:7: the count after the last space is not a whole number\n"
                   "in:8: the count is zero\n"
                   "in:9: a frame has no name\n"
                   "in:10: a frame has no name\n"
                   "in:11: a frame has no name\n"
                   "in:12: a frame has no name\n"
                   "in:13: the count is too large\n"
                   "in:14: the count is too large\n"
                   "in:15: the count after the last space is not a whole number\n"
                   "in:16: the count after the last space is not a whole number\n"
                   "in: 14 lines could not be read and are left out\n",
                   PATHS, "a|0|1 a;b|1|1");
    expect_refused("a;b x\n", "in:1: the count after the last space is not a whole number\n");
}

static void test_nul_bytes(void)
{
    static const char text[] = "a 1\nb\0c 2\nd 3\n";
    importing_skips("folded", text, sizeof text - 1,
                    "in:2: the line holds a NUL byte\n"
                    "in: 1 line could not be read and is left out\n",
                    PATHS, "a|1|1 d|3|3");
}

/* What its first bytes show is refused in one sentence, and no line of it is read. */
static void test_other_files(void)
{
    static const char database[] = "SQLite format 3\0\20\0\1\1\0\n\0\n\0";
    static const char program[] = "\177ELF\2\1\1\0\0\n\0\0\n";
    static const char image[] = "\211PNG\r\n\32\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1";
    static const char *const formats[] = {NULL, "folded"};
    for (size_t i = 0; i < 2; i++) {
        importing_refused(formats[i], database, sizeof database - 1, "",
                          "/in is a database, as recordings of sprof are: these need no import; "
                          "`sprof report -i ");
        importing_refused(formats[i], program, sizeof program - 1, "",
                          "/in is a program or library, and holds no samples: `sprof record` ");
    }
    importing_refused(NULL, image, sizeof image - 1, "",
                      "/in is a binary file, and none that can be imported: perf.data, ");
}

static void test_a_sum_that_does_not_fit(void)
{
    expect_skipped("a 9223372036854775807\nb 1\nc 1\n",
                   "in:2: the counts add up to more than fits\n"
                   "in:3: the counts add up to more than fits\n"
                   "in: 2 lines could not be read and are left out\n",
                   "SELECT sum(count) FROM sample", "9223372036854775807");
}

static void test_nothing_to_import(void)
{
    expect_refused("", "");
    expect_refused("\n\n# nothing\n", "");
}

static void test_many_malformed_lines(void)
{
    struct sprof_str text = {0};
    for (int i = 0; i < 1000; i++)
        sprof_str_append(&text, "bad\n");
    struct importing importing;
    importing_bytes(&importing, "folded", text.text, text.length);
    size_t lines = 0;
    for (const char *at = importing.heard.text; (at = strchr(at, '\n')); at++)
        lines++;
    CU_ASSERT_EQUAL(lines, 20);
    CU_ASSERT_PTR_NOT_NULL(strstr(importing.error.message, "1000 malformed lines"));
    importing_close(&importing);
    sprof_str_release(&text);
}

static void test_no_such_input(void)
{
    struct sprof_error error = {0};
    struct import_result imported;
    const struct import_options options = {.input = "/nonexistent/in.folded",
                                           .output = "/nonexistent/out.db"};
    CU_ASSERT_EQUAL(import_file(&options, &imported, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/nonexistent/in.folded"));
    const struct import_options directory = {.input = "/", .output = "/nonexistent/out.db"};
    CU_ASSERT_EQUAL(import_file(&directory, &imported, &error), SPROF_EIO);
}

static void test_an_older_recording_survives_a_refusal(void)
{
    struct importing importing;
    importing_bytes(&importing, "folded", "old 1\n", 6);
    fixture_write(&importing.made.fixture, "in", "bad\n", 4);
    struct import_result imported;
    const struct import_options options = {.input = importing.input, .output = importing.made.path};
    CU_ASSERT_EQUAL(import_file(&options, &imported, NULL), SPROF_EFORMAT);
    ASSERT_HANDMADE(&importing.made, NAMES, "old|[application]");
    importing_close(&importing);
}

void sprof_suite_import_folded(void);
void sprof_suite_import_folded(void)
{
    CU_pSuite suite = CU_add_suite("import/folded", NULL, NULL);
    CU_add_test(suite, "a stack of millions of frames", test_a_stack_of_millions);
    CU_add_test(suite, "stacks and counts", test_stacks_and_counts);
    CU_add_test(suite, "equal lines add up", test_equal_lines_add_up);
    CU_add_test(suite, "recursion counts once", test_recursion_counts_once);
    CU_add_test(suite, "line ends", test_line_ends);
    CU_add_test(suite, "names may hold anything else", test_names_may_hold_anything_else);
    CU_add_test(suite, "modules", test_modules);
    CU_add_test(suite, "exclamation marks that are names", test_exclamation_marks_that_are_names);
    CU_add_test(suite, "two counts", test_two_counts);
    CU_add_test(suite, "a guess that does not hold", test_a_guess_that_does_not_hold);
    CU_add_test(suite, "deep stacks", test_deep_stacks);
    CU_add_test(suite, "huge counts", test_huge_counts);
    CU_add_test(suite, "every malformed line has its number",
                test_every_malformed_line_has_its_number);
    CU_add_test(suite, "NUL bytes", test_nul_bytes);
    CU_add_test(suite, "files of other kinds", test_other_files);
    CU_add_test(suite, "a sum that does not fit", test_a_sum_that_does_not_fit);
    CU_add_test(suite, "nothing to import", test_nothing_to_import);
    CU_add_test(suite, "many malformed lines", test_many_malformed_lines);
    CU_add_test(suite, "no such input", test_no_such_input);
    CU_add_test(suite, "an older recording survives a refusal",
                test_an_older_recording_survives_a_refusal);
}
