#include "symbolize/cxx_names.h"

#include "tests/unit/skip.h"
#include "tests/unit/symbolize/naming.h"

/* Kinds of functions that only their unit can call. None is inlined, so that the symbol of each
 * says how it is called. */
static const char program[] =
    "volatile int sink;\n"
    "#define HERE __attribute__((noinline, used))\n"
    "template <class T> HERE void outer(T v) {\n"
    "    auto a = [&](int k) HERE { sink += k; };\n"
    "    { auto b = [&]() HERE { sink += v; }; b(); }\n"
    "    struct Local { HERE void m(const char *const *p, int (&r)[3], void (*f)(int, ...),\n"
    "                               const T &t) const { sink += **p + r[0] + t; } };\n"
    "    int array[3] = {1, 2, 3}; const char *s = \"x\";\n"
    "    a(3); Local().m(&s, array, nullptr, v);\n"
    "}\n"
    "struct A {\n"
    "    int q;\n"
    "    HERE int method(int x) const {\n"
    "        auto c = [this](int y) HERE { auto d = [y]() mutable HERE { return sink += y++; };\n"
    "            return d() + q; };\n"
    "        auto e = [](auto u, long w) HERE { sink += u; return w; };\n"
    "        return c(x) + e(1, 2L) + e(1.5, 2L);\n"
    "    }\n"
    "    HERE static void simple(unsigned long) { [](char) HERE { sink++; }('c'); }\n"
    "};\n"
    "namespace named { namespace {\n"
    "enum E { X, Y };\n"
    "enum class F : short { Z = -2 };\n"
    "typedef struct { int i; } unnamed;\n"
    "template <int N, unsigned long M, bool B, E e, char c, F f> struct Values {\n"
    "    HERE static void go(E, unsigned char, long long, const unsigned short, "
    "decltype(nullptr))\n"
    "    { sink += N; }\n"
    "    HERE operator int() const volatile { return N; }\n"
    "    HERE Values &operator<<(const unnamed &) & { return *this; }\n"
    "    HERE bool operator<(unnamed *) && { return sink; }\n"
    "    HERE Values(int **, wchar_t) {}\n"
    "    HERE ~Values() { sink++; }\n"
    "};\n"
    "template <class... Ts> HERE void pack(Ts... ts) { sink += sizeof...(ts); }\n"
    "template <template <class> class C, class T> HERE void of(C<T> *, T) { sink++; }\n"
    "template <class T> struct Box { T t; HERE bool operator>(const Box<Box<T>> &) { return sink; "
    "} };\n"
    "struct Base { HERE virtual long f(signed char) { return sink; } virtual ~Base() {} };\n"
    "} }\n"
    "using namespace named;\n"
    "HERE static void pointers(int A::*, int (A::*)(int) const, int (*)(char), void *const "
    "volatile *,\n"
    "                          int (*const *)[4], A &&, volatile A *) { sink++; }\n"
    "extern \"C\" HERE void plain(int) { [](int) HERE { sink++; }(1); }\n"
    "static inline HERE int variadic(const char *, ...) { return sink; }\n"
    "int main() {\n"
    "    auto z = []() HERE { sink++; }; auto y = [](int) HERE { sink++; }; z(); y(1);\n"
    "    outer(3); outer(4L); A a{1}; a.method(2); A::simple(1); plain(1);\n"
    "    typedef Values<-3, 4, true, Y, 'a', F::Z> V; V v(nullptr, L'x');\n"
    "    V::go(X, 1, 2, 3, nullptr); v << unnamed{1}; (V(nullptr, L'y')) < (unnamed *)nullptr;\n"
    "    pack(); pack(1, 2L, 3.0, \"x\"); of((Box<int> *)nullptr, 1); Box<int> b; b > "
    "Box<Box<int>>();\n"
    "    pointers(nullptr, nullptr, nullptr, nullptr, nullptr, A{2}, nullptr); Base().f(1);\n"
    "    return variadic(\"x\", 1) + (int)v;\n"
    "}\n";

/* Every function is called the same by its symbol and, once there are no symbols, by its entry. */
static void compare(const char *options)
{
    struct fixture fixture;
    char command[512];
    fixture_open(&fixture);
    fixture_text(&fixture, "program.cc", program);
    snprintf(command, sizeof command,
             "g++ %s program.cc -o program && objcopy --strip-all --keep-section='.debug_*' "
             "program bare",
             options);
    fixture_run(&fixture, command);
    char *starts = fixture_output(&fixture, "nm program | grep -E ' [tW] _Z' | sort -u");
    struct naming with = {.image = naming_image(fixture_path(&fixture, "program"))};
    struct naming without = {.image = naming_image(fixture_path(&fixture, "bare"))};
    naming_add_lines(&with, starts);
    naming_add_lines(&without, starts);
    naming_run(&with, NULL, NULL);
    naming_run(&without, NULL, NULL);
    CU_ASSERT(with.addresses.count > 30);
    for (size_t i = 0; i < with.addresses.count; i++) {
        const uint64_t address = with.addresses.items[i];
        const char *expected = naming_function(&with, address)->name;
        const char *made = naming_function(&without, address)->name;
        if (strcmp(expected, made))
            fprintf(stderr, "%s:\n  symbol %s\n  entry  %s\n", options, expected, made);
        CU_ASSERT_STRING_EQUAL(made, expected);
    }
    free(starts);
    naming_close(&with);
    naming_close(&without);
    fixture_close(&fixture);
}

static void test_names_are_those_of_symbols(void)
{
    compare("-O0 -gdwarf-5");
    compare("-O0 -gdwarf-4");
    compare("-O0 -g -gsplit-dwarf");
}

/* What tells symbols of one name apart is no part of a function's name: where it is inlined it has
 * none. */
static void test_numbers_of_symbols_are_no_names(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "one.cc",
                 "volatile int sink; void two();\n"
                 "static __attribute__((noinline)) int same(int a) { return sink += a; }\n"
                 "extern \"C\" int nest(int);\n"
                 "int main() { same(1); two(); return nest(2); }\n");
    fixture_text(&fixture, "two.cc",
                 "extern volatile int sink;\n\n"
                 "static __attribute__((noinline)) int same(int a) { return sink -= a; }\n"
                 "void two() { same(3); }\n");
    fixture_text(
        &fixture, "nest.c",
        "int nest(int a) { __attribute__((noinline)) int inner(int b) { a += b; return b; }\n"
        "    int (*volatile p)(int) = inner; return p(3) + inner(a); }\n");
    fixture_run(&fixture,
                "gcc -O1 -g -w -c nest.c && "
                "g++ -O1 -g -flto -flto-partition=one one.cc two.cc nest.o -o program 2>/dev/null");
    char *starts = fixture_output(&fixture, "nm program | grep -E 'same|inner'");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "program"))};
    CU_ASSERT_PTR_NOT_NULL(strstr(starts, ".lto_priv."));
    naming_add_lines(&naming, starts);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_EQUAL_FATAL(naming.addresses.count, 3);
    unsigned same = 0, inner = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *name = naming_function(&naming, naming.addresses.items[i])->name;
        same += !strcmp(name, "same(int)");
        inner += !strcmp(name, "inner");
    }
    CU_ASSERT_EQUAL(same, 2);
    CU_ASSERT_EQUAL(inner, 1);
    free(starts);
    naming_close(&naming);
    fixture_close(&fixture);
}

/* Functions of other languages, each inlined and called, whose names follow no rules of C++. */
static const struct {
    const char *file, *text, *compiler, *options;
    const char *names[5];
} others[] = {
    {"work.c",
     "volatile int sink;\n"
     "static int inlined(int a) { return sink += a; }\n"
     "__attribute__((noinline)) static int called(int a) { return inlined(a) + 1; }\n"
     "int main(void) { return called(inlined(3)); }\n",
     "gcc",
     "-O2 -g work.c -o program",
     {"inlined", "called", "main"}},
    {"work.f90",
     "module work\ncontains\n"
     "  subroutine outer(n)\n"
     "    integer, intent(inout) :: n\n"
     "    call inner(n)\n"
     "    call other(inner)\n"
     "  contains\n"
     "    subroutine inner(k)\n"
     "      integer, intent(inout) :: k\n"
     "      k = k + n * 3\n"
     "    end subroutine\n"
     "  end subroutine\n"
     "  subroutine other(f)\n"
     "    external f\n"
     "    integer :: three\n"
     "    three = 3\n"
     "    call f(three)\n"
     "  end subroutine\n"
     "end module\n"
     "program start\n"
     "  use work\n"
     "  integer :: five = 5\n"
     "  call outer(five)\n"
     "  print *, five\n"
     "end program\n",
     "gfortran",
     "-O2 -g work.f90 -o program 2>/dev/null",
     {"__work_MOD_outer", "__work_MOD_other", "inner", "MAIN__", "main"}},
    {"work.adb",
     "procedure Work is\n"
     "   Sink : Integer := 0 with Volatile;\n"
     "   procedure Inlined (N : Integer) with Inline_Always;\n"
     "   procedure Called (N : Integer) with No_Inline;\n"
     "   procedure Inlined (N : Integer) is begin Sink := Sink + N; end Inlined;\n"
     "   procedure Called (N : Integer) is begin Inlined (N); Sink := Sink * 2; end Called;\n"
     "begin\n"
     "   Inlined (2);\n"
     "   Called (3);\n"
     "   Called (Sink);\n"
     "end Work;\n",
     "gnatmake",
     "-q -O2 -g work.adb -o program",
     {"work", "work.inlined", "work.called"}},
    {"work.rs",
     "mod inside {\n"
     "    #[inline(always)] pub fn inlined(n: u64) -> u64 { unsafe { std::ptr::read_volatile(&n) * "
     "3 } }\n"
     "    #[inline(never)] pub fn called(n: u64) -> u64 { inlined(n) + 1 }\n"
     "}\n"
     "fn main() { std::process::exit((inside::called(5) + inside::inlined(4)) as i32); }\n",
     "rustc",
     "-O -g work.rs -o program",
     {"work::inside::inlined", "work::inside::called", "work::main"}},
    {"work.go",
     "package main\n"
     "var sink int\n"
     "func inlined(n int) { sink += n }\n"
     "//go:noinline\n"
     "func called(n int) { inlined(n); func() { sink *= n }() }\n"
     "func main() { inlined(2); called(3); println(sink) }\n",
     "go",
     "build -o program work.go",
     {"main.inlined", "main.called", "main.main"}},
};

static bool is_called(const char *path, const char *file)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && !strcmp(slash ? slash + 1 : path, file);
}

/* Which names are those of functions, a bit each. Further functions of the source file have names
 * that begin with these, as closures do. */
static unsigned named_so(const struct naming *naming, size_t other)
{
    unsigned found = 0;
    for (size_t i = 0; i < naming->result.frame_count; i++) {
        const struct symbolize_function *function =
            &naming->result.functions[naming->result.frames[i].function];
        bool is_known = false;
        for (unsigned n = 0; n < 5 && others[other].names[n]; n++) {
            const char *name = others[other].names[n];
            found |= !strcmp(function->name, name) ? 1U << n : 0;
            is_known |= !strncmp(function->name, name, strlen(name));
        }
        if (is_known || !is_called(function->file, others[other].file))
            continue;
        fprintf(stderr, "%s: %s\n", others[other].file, function->name);
        CU_FAIL("another name");
    }
    return found;
}

/* The instructions of functions that may be the source file's. */
static const char listed[] =
    "objdump -d -j .text --no-show-raw-insn program | awk '/^[0-9a-f]+ </ {\n"
    "is_ours = $2 ~ /(work|inlined|called|inner|main|MAIN__)/} is_ours && /^ / {print $1}'";

static void check_other(size_t other)
{
    struct fixture fixture;
    char command[256];
    fixture_open(&fixture);
    fixture_text(&fixture, others[other].file, others[other].text);
    snprintf(command, sizeof command, "%s %s", others[other].compiler, others[other].options);
    fixture_run(&fixture, command);
    char *addresses = fixture_output(&fixture, listed);
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "program"))};
    naming_add_lines(&naming, addresses);
    naming_run(&naming, NULL, NULL);
    unsigned all = 0;
    for (unsigned n = 0; n < 5 && others[other].names[n]; n++)
        all |= 1U << n;
    const unsigned found = named_so(&naming, other);
    CU_ASSERT_EQUAL(found, all);
    if (found != all)
        fprintf(stderr, "%s: %x of %x\n", others[other].file, found, all);
    free(addresses);
    naming_close(&naming);
    fixture_close(&fixture);
}

static void test_other_languages_keep_their_names(void)
{
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char command[64];
        snprintf(command, sizeof command, "command -v %s >/dev/null", others[i].compiler);
        if (system(command) == 0)
            check_other(i);
        else
            sprof_test_skip("no %s", others[i].compiler);
    }
}

void sprof_suite_symbolize_cxx_names(void);
void sprof_suite_symbolize_cxx_names(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/cxx_names", NULL, NULL);
    CU_add_test(suite, "numbers of symbols are no names", test_numbers_of_symbols_are_no_names);
    CU_add_test(suite, "other languages keep their names", test_other_languages_keep_their_names);
    CU_add_test(suite, "names are those of symbols", test_names_are_those_of_symbols);
}
