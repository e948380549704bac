/* What is prepared before it is asked for changes no answer. */
#include "tests/unit/skip.h"
#include "tests/unit/symbolize/naming.h"

#include <elfutils/version.h>

/* Without a header of the library: the tests compile it often. */
static const char header[] =
    "template <typename T, int N> struct Row {\n"
    "    T items[N];\n"
    "    int count;\n"
    "    void push(const T &item) { items[count++ % N] = item; }\n"
    "    void sort()\n"
    "    {\n"
    "        for (int i = 1; i < N; i++)\n"
    "            for (int k = i; k > 0 && items[k] < items[k - 1]; k--) {\n"
    "                T other = items[k]; items[k] = items[k - 1]; items[k - 1] = other; }\n"
    "    }\n"
    "};\n"
    "struct Shape { int size; bool operator<(const Shape &o) const { return size * 3 < o.size; } "
    "};\n"
    "static inline int leaf(int a) { for (int i = 0; i < 3; i++) a ^= a << 3; return a; }\n"
    "static inline int middle(int a) { return leaf(a) + leaf(a * 5); }\n"
    "namespace one { int work(int a); }\n"
    "namespace two { int work(int a); }\n";

static const char unit[] =
    "#include \"shapes.h\"\n"
    "namespace UNIT {\n"
    "template <typename T> __attribute__((noinline)) T twice(T a) { return middle(a) * 2; }\n"
    "template <int N> __attribute__((noinline)) int sorted(int a)\n"
    "{\n"
    "    Row<Shape, N> all = {};\n"
    "    for (int i = 0; i < N; i++)\n"
    "        all.push(Shape{middle(a + i)});\n"
    "    all.sort();\n"
    "    return all.items[N / 2].size;\n"
    "}\n"
    "__attribute__((noinline)) int work(int a)\n"
    "{\n"
    "    return twice(a) + twice((long)a) + sorted<3>(a) + sorted<9>(a) + sorted<70>(a);\n"
    "}\n"
    "}\n";

static void build(struct fixture *fixture, const char *options, const char *file)
{
    char command[512];
    fixture_text(fixture, "shapes.h", header);
    fixture_text(fixture, "unit.cpp", unit);
    fixture_text(
        fixture, "main.cpp",
        "#include \"shapes.h\"\n"
        "int main(int argc, char **) { return one::work(argc) + two::work(middle(argc)); }\n");
    snprintf(command, sizeof command,
             "c++ -O2 %s -DUNIT=one -c unit.cpp -o one.o && c++ -O2 %s -DUNIT=two -c unit.cpp -o "
             "two.o && c++ -O2 %s main.cpp one.o two.o -o %s",
             options, options, options, file);
    fixture_run(fixture, command);
}

static struct symbolize_session *open_session(struct naming *naming, struct cache *cache)
{
    const struct symbolize_options options = {.no_debuginfod = true, .cache = cache};
    struct symbolize_session *session;
    CU_ASSERT_EQUAL_FATAL(symbolize_session_open(&session, naming->image, &options, NULL), 0);
    return session;
}

/* Prepares every `step`th address. */
static void prepare(struct symbolize_session *session, const struct naming *naming, size_t step,
                    bool stopped)
{
    const atomic_bool stop = stopped;
    SPROF_VEC(uint64_t) some = {0};
    for (size_t i = 0; i < naming->addresses.count; i += step)
        CU_ASSERT_EQUAL(sprof_vec_push(&some, naming->addresses.items[i]), 0);
    symbolize_session_prepare(session, some.items, some.count, &stop);
    sprof_vec_release(&some);
}

static void check_answer(struct symbolize_session *session, struct naming *naming,
                         const struct naming *expected)
{
    symbolize_result_release(&naming->result);
    CU_ASSERT_EQUAL_FATAL(symbolize_session_ask(session, &naming->result, naming->addresses.items,
                                                naming->addresses.count, NULL, NULL),
                          0);
    CU_ASSERT_EQUAL(naming_differences(naming, expected), 0);
}

static void check_prepared(struct fixture *fixture, const char *file, struct cache *cache)
{
    const bool by_libdw = !strcmp(file, "elsewhere"); /* which is left to the end */
    struct naming expected = {.image = naming_image(fixture_path(fixture, file))};
    struct naming naming = {.image = naming_image(fixture_path(fixture, file))};
    naming_add_instructions(&expected, fixture, file);
    naming_add_instructions(&naming, fixture, file);
    CU_ASSERT_TRUE(naming.addresses.count > 100);
    naming_run(&expected, NULL, NULL);
    struct symbolize_session *session = open_session(&naming, cache);
    CU_ASSERT_TRUE(symbolize_session_preparable(session) > 0);
    prepare(session, &naming, 7, true);
    CU_ASSERT_FALSE(symbolize_session_has_news(session));
    prepare(session, &naming, 97, false);
    prepare(session, &naming, 3, false);
    CU_ASSERT_EQUAL(symbolize_session_has_news(session), cache && !by_libdw);
    check_answer(session, &naming, &expected);
    check_answer(session, &naming, &expected);
    symbolize_session_close(session);
    /* What was prepared is kept, and is no reason to prepare anything again. */
    session = open_session(&naming, cache);
    CU_ASSERT_EQUAL(symbolize_session_preparable(session) > 0, cache == NULL);
    check_answer(session, &naming, &expected);
    symbolize_session_close(session);
    naming_close(&expected);
    naming_close(&naming);
}

static void test_prepared_names_are_the_same(void)
{
    static const struct {
        const char *options, *file;
    } programs[] = {{"-g", "version5"},
                    {"-g -gdwarf-4", "version4"},
                    {"-g -ffunction-sections -fPIE -pie", "sections"},
                    {"-g -gz", "packed"},
                    {"-g -gsplit-dwarf", "elsewhere"}};
    struct fixture fixture;
    fixture_open(&fixture);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char cache_name[32];
        snprintf(cache_name, sizeof cache_name, "cache%zu", i);
        struct cache *cache = cache_open(fixture_path(&fixture, cache_name));
        build(&fixture, programs[i].options, programs[i].file);
        check_prepared(&fixture, programs[i].file, NULL);
        check_prepared(&fixture, programs[i].file, cache);
        cache_free(cache, 0);
    }
    fixture_close(&fixture);
}

static void test_separate_debug_files_are_prepared(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "cache"));
    build(&fixture, "-g", "split");
    fixture_run(&fixture, "objcopy --only-keep-debug split split.debug; strip split; "
                          "objcopy --add-gnu-debuglink=split.debug split");
    check_prepared(&fixture, "split", cache);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

static void test_what_has_nothing_to_read_is_not_prepared(void)
{
    struct fixture fixture;
    struct naming naming = {0}, expected = {0};
    fixture_open(&fixture);
    build(&fixture, "", "plain");
    naming.image = naming_image(fixture_path(&fixture, "plain"));
    expected.image = naming_image(fixture_path(&fixture, "plain"));
    naming_add_instructions(&naming, &fixture, "plain");
    naming_add_instructions(&expected, &fixture, "plain");
    naming_run(&expected, NULL, NULL);
    struct symbolize_session *session = open_session(&naming, NULL);
    CU_ASSERT_EQUAL(symbolize_session_preparable(session), 0);
    prepare(session, &naming, 1, false);
    check_answer(session, &naming, &expected);
    symbolize_session_close(session);
    symbolize_session_close(NULL);
    naming_close(&naming);
    naming_close(&expected);
    fixture_close(&fixture);
}

/* Every byte of the debug information in turn is another: no answer may differ by what was
 * prepared, and none may end in anything but an answer. */
static void test_damaged_files_are_harmless(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    build(&fixture, "-g", "whole");
    for (int turn = 0; turn < 12; turn++) {
        char command[512];
        snprintf(command, sizeof command,
                 "python3 - %d <<'E'\n"
                 "import random, subprocess, sys\n"
                 "random.seed(int(sys.argv[1]))\n"
                 "data = bytearray(open('whole', 'rb').read())\n"
                 "at = len(data) // 4\n"
                 "for i in range(60): data[random.randrange(at, len(data) - 6000)] = "
                 "random.randrange(256)\n"
                 "open('damaged', 'wb').write(data)\n"
                 "E",
                 turn);
        fixture_run(&fixture, command);
        struct naming naming = {.image = naming_image(fixture_path(&fixture, "damaged"))};
        naming_add_instructions(&naming, &fixture, "whole");
        struct symbolize_session *session = open_session(&naming, NULL);
        prepare(session, &naming, 5, false);
        prepare(session, &naming, 2, false);
        CU_ASSERT_EQUAL(symbolize_session_ask(session, &naming.result, naming.addresses.items,
                                              naming.addresses.count, NULL, NULL),
                        0);
        CU_ASSERT_EQUAL(naming.result.address_count, naming.addresses.count);
        symbolize_session_close(session);
        naming_close(&naming);
    }
    fixture_close(&fixture);
}

/* What a session could not read of "a" when it was asked for all of its instructions. */
static void check_problem(struct fixture *fixture, const char *build, const char *debug_directory,
                          const char *wanted)
{
    const struct symbolize_options options = {.debug_directory = debug_directory,
                                              .no_debuginfod = true};
    struct symbolize_session *session;
    struct symbolize_result result;
    fixture_run(fixture, build);
    struct naming naming = {.image = naming_image(fixture_path(fixture, "a"))};
    naming_add_instructions(&naming, fixture, "a");
    CU_ASSERT_EQUAL_FATAL(symbolize_session_open(&session, naming.image, &options, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(symbolize_session_ask(session, &result, naming.addresses.items,
                                                naming.addresses.count, NULL, NULL),
                          0);
    const char *problem = symbolize_session_problem(session);
    CU_ASSERT_EQUAL(problem != NULL, wanted != NULL);
    if (problem && wanted)
        CU_ASSERT_PTR_NOT_NULL(strstr(problem, wanted));
    symbolize_result_release(&result);
    symbolize_session_close(session);
    naming_close(&naming);
}

static void test_problems_are_told(void)
{
    struct fixture fixture;
    char directory[512];
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", "int main(int c, char **v) { (void)v; return c * 3; }\n");
    snprintf(directory, sizeof directory, "%s", fixture_path(&fixture, "debug"));
    check_problem(&fixture, "cc -g a.c -o a", directory, NULL);
    check_problem(&fixture, "cc -g -gz=zlib a.c -o a", directory, NULL);
    check_problem(&fixture, "cc a.c -o a", directory, NULL);
    check_problem(&fixture, "cc -g -gsplit-dwarf a.c -o a", directory, NULL);
    check_problem(&fixture, "rm *.dwo", directory, ".dwo files that are not there");
#if !_ELFUTILS_PREREQ(0, 191)
    check_problem(&fixture, "echo package >a.dwp", directory, "a.dwp, which libdw reads from");
    check_problem(&fixture, "rm a.dwp && mkdir a.dwp", directory, ".dwo files that are not there");
#endif
    if (system("command -v dwz >/dev/null") == 0) {
        check_problem(&fixture, "rm -rf *.dwp; cc -g a.c -o a && cp a b && dwz -m common a b",
                      directory, NULL);
        check_problem(&fixture, "rm common", directory,
                      "refers to common for its debug information");
    } else {
        sprof_test_skip("dwz is not installed");
    }
    check_problem(&fixture,
                  "cc -g a.c -o a && strip -g -o b a && objcopy --only-keep-debug a a.debug && "
                  "objcopy --add-gnu-debuglink=a.debug b a && "
                  "echo 'int other(void) { return 7; }' >> a.c && cc -g a.c -o c && "
                  "objcopy --only-keep-debug c a.debug",
                  directory, "a.debug is of another build");
    if (system("objcopy --help | grep -q zstd") == 0)
        check_problem(&fixture, "objcopy --compress-debug-sections=zstd c a", directory,
                      "compressed with zstd");
    fixture_close(&fixture);
}

void sprof_suite_symbolize_session(void);
void sprof_suite_symbolize_session(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/session", NULL, NULL);
    CU_add_test(suite, "prepared names are the same", test_prepared_names_are_the_same);
    CU_add_test(suite, "separate debug files are prepared", test_separate_debug_files_are_prepared);
    CU_add_test(suite, "what has nothing to read is not prepared",
                test_what_has_nothing_to_read_is_not_prepared);
    CU_add_test(suite, "problems are told", test_problems_are_told);
    CU_add_test(suite, "damaged files are harmless", test_damaged_files_are_harmless);
}
