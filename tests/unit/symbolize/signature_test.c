/* Where functions have their parameters. */
#include "symbolize/symbolize.h"
#include "tests/unit/image/fixture.h"

static int keep(void *context, size_t index, const struct symbolize_signature *signature)
{
    (void)index;
    *(struct symbolize_signature *)context = *signature;
    return 0;
}

/* The signature of one function, and what it lies in. */
struct read {
    struct fixture fixture;
    struct image *image;
    struct sprof_arena arena;
    struct symbolize_signature signature;
};

/* `build` makes "a" of the source "a.cc"; the output of `find` begins with the function's address.
 */
static void read_signature(struct read *read, const char *source, const char *build,
                           const char *find)
{
    *read = (struct read){.image = NULL};
    fixture_open(&read->fixture);
    fixture_text(&read->fixture, "a.cc", source);
    fixture_run(&read->fixture, build);
    char *line = fixture_output(&read->fixture, find);
    const uint64_t start = strtoull(line, NULL, 16);
    const struct image_request request = {.file.path = fixture_path(&read->fixture, "a")};
    CU_ASSERT_EQUAL_FATAL(image_open(&read->image, &request, NULL), 0);
    CU_ASSERT_EQUAL(symbolize_signatures(read->image, NULL, &start, 1, NULL, &read->arena, keep,
                                         &read->signature),
                    0);
    free(line);
}

static void release(struct read *read)
{
    image_free(read->image);
    sprof_arena_release(&read->arena);
    fixture_close(&read->fixture);
}

/* What the calling convention leaves open behind a number of unknown kind, debug information says:
 * the address of an object is in rdx. */
static void test_objects_behind_unknown_types(void)
{
    static const char source[] =
        "struct Text { Text(const Text &); ~Text(); long bytes, used; };\n"
        "void show(const Text &) {}\n"
        "long take(__int128 wide, Text text) { show(text); return text.used + (long)wide; }\n"
        "int main() { return 0; }\n";
    struct read read;
    read_signature(&read, source, "c++ -O1 -g -fPIC -c a.cc && c++ -shared -o a a.o",
                   "nm a | grep _Z4taken4Text");
    CU_ASSERT_EQUAL_FATAL(read.signature.count, 2);
    const struct symbolize_value *text = &read.signature.parameters[1];
    CU_ASSERT_STRING_EQUAL(text->name, "text");
    CU_ASSERT_EQUAL(text->places[0], SYMBOLIZE_INTEGER + 2);
    CU_ASSERT_EQUAL(text->places[1], SYMBOLIZE_NOWHERE);
    CU_ASSERT_TRUE(text->is_by_address);
    release(&read);
}

/* Classes have their scopes, those that an object's class derives from, too. */
static void test_scopes_of_classes(void)
{
    static const char source[] =
        "namespace store { struct Query { int n; struct Part; }; template <class T> struct Box { T "
        "t; }; }\n"
        "struct store::Query::Part { int m; };\n"
        "namespace net { namespace {\n"
        "struct Fast : store::Query, store::Box<int>, store::Query::Part {\n"
        "    __attribute__((noinline, used)) int run(int k) { return n + t + m + k; } };\n"
        "} int go(int k) { Fast fast{}; return fast.run(k); } }\n"
        "int main(int count, char **) { return net::go(count); }\n";
    static const char *const wanted[] = {"net::(anonymous namespace)::Fast", "store::Query",
                                         "store::Box<int>", "store::Query::Part"};
    struct read read;
    read_signature(&read, source, "c++ -O1 -g a.cc -o a", "nm a | grep Fast3runEi");
    CU_ASSERT_EQUAL_FATAL(read.signature.class_count, 4);
    for (size_t i = 0; i < 4; i++)
        CU_ASSERT_STRING_EQUAL(read.signature.classes[i], wanted[i]);
    release(&read);
}

void sprof_suite_symbolize_signature(void);
void sprof_suite_symbolize_signature(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/signature", NULL, NULL);
    CU_add_test(suite, "objects behind unknown types", test_objects_behind_unknown_types);
    CU_add_test(suite, "scopes of classes", test_scopes_of_classes);
}
