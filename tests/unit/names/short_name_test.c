#include "names/names.h"

#include <CUnit/CUnit.h>
#include <string.h>

static void check(const char *name, enum names_detail detail, const char *expected)
{
    struct sprof_str out = {0};
    CU_ASSERT_EQUAL(names_append(&out, name, detail), 0);
    CU_ASSERT_STRING_EQUAL(out.text, expected);
    if (strcmp(out.text, expected))
        printf("%s: %s, not %s\n", name, out.text, expected);
    sprof_str_release(&out);
}

static void check_short(const char *name, const char *expected)
{
    check(name, NAMES_SHORT, expected);
}

static void test_scopes_and_last_components_stay(void)
{
    check_short("main", "main");
    check_short("shop::price(shop::Order const&)", "shop::price");
    check_short("std::map<int, char, std::less<int> >::lower_bound(int const&) const",
                "std::map::lower_bound");
    check_short("void shop::sum<int>(int)::inner()", "shop::sum()::inner");
    check_short("unsigned long f<int>(int)", "f");
    check_short("int (*get(int))(double)", "get");
    check_short("decltype (a+b) add<int>(int)", "add");
    check_short("A<(1>2), &B::operator> >::f()", "A::f");
    check_short("A<int>::~A()", "A::~A");
    check_short("vtable for A<int>", "vtable for A");
    check_short("non-virtual thunk to A::f(int)", "non-virtual thunk to A::f");
    check_short("A<int>::f(int)@plt", "A::f@plt");
    check_short("A::operator()(int) const@plt", "A::operator()@plt");
    check_short("f<int>(int) [clone .isra.0] [clone .cold]", "f.isra.0.cold");
    check("f<int>(int) [clone .isra.0]", NAMES_ARGUMENTS, "f<int>.isra.0");
    check_short("f() [clone .x", "f [clone .x");
}

static void test_noise_is_left_out(void)
{
    check_short("std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
                ">::compare(char const*) const",
                "std::string::compare");
    check_short("std::__cxx11::basic_string<wchar_t>::size() const", "std::basic_string::size");
    check_short("std::chrono::_V2::steady_clock::now()", "std::chrono::steady_clock::now");
    check_short("__gnu_cxx::new_allocator<int>::allocate(unsigned long)",
                "new_allocator::allocate");
    check_short("(anonymous namespace)::A::f(int)", "A::f");
    check_short("std::to_string[abi:cxx11](int)", "std::to_string");
}

static void test_operators(void)
{
    check_short("A::operator()(int) const", "A::operator()");
    check_short("std::operator< <int>(A<int> const&)", "std::operator<");
    check_short("A::operator<<(int)", "A::operator<<");
    check_short("A::operator->() const", "A::operator->");
    check_short("A::operator->*<int>(int)", "A::operator->*");
    check_short("A::operator[](int)", "A::operator[]");
    check_short("A::operator!() const", "A::operator!");
    check_short("A::operator bool() const", "A::operator bool");
    check_short("A::operator B<int>() const", "A::operator B");
    check_short("operator new[](unsigned long)", "operator new[]");
    check_short("operator\"\" _s(char const*)", "operator\"\" _s");
}

static void test_closures(void)
{
    check_short("first()::{lambda(int)#1}::operator()(int) const", "first()::λ(int)");
    check_short("first()::$_0::operator()(int) const", "first()::λ(int)");
    check_short("first()::'lambda'(int)::operator()(int) const", "first()::λ(int)");
    check_short("a::f(int) const::{lambda(auto:1)#2}::operator()<int>(int) const",
                "a::f()::λ(int)");
    check_short("a::f()::{lambda()#1}::_FUN()", "a::f()::λ()::_FUN");
    check("f()::{lambda()#2}::operator()() const", NAMES_ARGUMENTS, "f()::λ#2()");
    check("each<f()::{lambda(int)#1}>(int)", NAMES_ARGUMENTS, "each<f()::λ(int)>");
    check_short("app::run::{{closure}}", "app::run::λ");
    check_short("app::run::{closure#0}", "app::run::λ");
    check_short("app::run::{closure_env#1}", "app::run::λ");
}

static void test_other_languages(void)
{
    check_short("<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc::vec::Vec::drop");
    check_short("<T as core::convert::Into<U>>::into", "core::convert::Into::into");
    check_short("<&T as core::convert::Into<U>>::into", "core::convert::Into::into");
    check_short("core::fmt::num::<impl core::fmt::Display for u32>::fmt", "u32::fmt");
    check_short("core::cmp::impls::<impl core::cmp::PartialEq<&B> for &A>::eq",
                "core::cmp::PartialEq::eq");
    check_short("hashbrown::rustc_entry::<impl hashbrown::map::HashMap<K,V,S,A>>::rustc_entry",
                "hashbrown::map::HashMap::rustc_entry");
    check("alloc::slice::<impl [T]>::sort", NAMES_SHORT, "[T]::sort");
    check("alloc::slice::<impl [T]>::sort", NAMES_ARGUMENTS, "alloc::slice::<impl [T]>::sort");
    check_short("core::ptr::drop_in_place::<alloc::vec::Vec<u8>>", "core::ptr::drop_in_place");
    check_short("app::run::h0123456789abcdef", "app::run");
    check_short("core[0123456789abcdef]::ptr::read::<u8>", "core::ptr::read");
    check_short("main.(*T).Method", "main.(*T).Method");
    check_short("github.com/a/b.(*T).Method", "b.(*T).Method");
    check_short("slices.Sort[go.shape.int]", "slices.Sort");
    check_short("std.stdio.writeln!(string).writeln(string)", "std.stdio.writeln");
    check_short("a.most!(int).mosts(int)", "a.most.mosts");
    check_short("a.most!(int).most!(char).most(int)", "a.most");
    check_short("-[NSObject foo:bar:]", "-[NSObject foo:bar:]");
    check_short("Swift.Array.append(A) -> ()", "Swift.Array.append(A) -> ()");
    check_short("camlStdlib__List__map_123", "camlStdlib__List__map_123");
}

static void test_what_is_no_name_stays(void)
{
    static const char *const texts[] = {
        "[outside the application]",
        "[kernel]+0x12",
        "my program+0x123",
        "libc.so.6+0x1a",
        "memcmp@plt",
        "f(((",
        ")",
        "<>",
        "::",
        "a<b",
        "a>b",
        "operator",
        "operator()",
        "{}",
        "'",
        "(",
        "f)(",
        "a::",
        "…",
        "a b",
        "//anon+0x1",
        "f<(>",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_short(texts[i], texts[i]);
}

static void test_details(void)
{
    static const char name[] = "std::map<std::pair<int, int>, int, std::less<int>, "
                               "std::allocator<int> >::at(std::pair<int, int> const&) const";
    check(name, NAMES_SHORT, "std::map::at");
    check(name, NAMES_ARGUMENTS, "std::map<std::pair, int>::at");
    check(name, NAMES_PARAMETERS, "std::map::at(std::pair const&) const");
    check(name, NAMES_BOTH, "std::map<std::pair, int>::at(std::pair const&) const");
    check(name, NAMES_DEEP,
          "std::map<std::pair<int, int>, int>::at(std::pair<int, int> const&) const");
    check(name, NAMES_FULL, name);
}

static void test_last_components(void)
{
    static const char *const cases[][2] = {
        {"std::vector::insert", "insert"},
        {"std::vector<a::b>::insert(c::d)", "insert(c::d)"},
        {"shop::first()::λ(int)", "first()::λ(int)"},
        {"app::run::{{closure}}", "run::{{closure}}"},
        {"A::f()::{lambda(int)#1}::operator()(int) const",
         "f()::{lambda(int)#1}::operator()(int) const"},
        {"main", "main"},
        {"github.com/a/b.(*T).Method", "b.(*T).Method"},
        {"f(((", "f((("},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_STRING_EQUAL(cases[i][0] + names_last(cases[i][0]), cases[i][1]);
}

/* More parts, holes and brackets than there is room for: the name stays. */
static void test_names_without_end(void)
{
    static const char *const pieces[] = {"a::",   "a<",       "a<b>::",  "(",
                                         "f()::", "operator", "{lambda("};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        struct sprof_str name = {0}, out = {0};
        for (int k = 0; k < 5000; k++)
            CU_ASSERT_EQUAL_FATAL(sprof_str_append(&name, pieces[i]), 0);
        CU_ASSERT_EQUAL(names_append(&out, name.text, NAMES_SHORT), 0);
        CU_ASSERT_STRING_EQUAL(out.text, name.text);
        CU_ASSERT_TRUE(names_last(name.text) < name.length);
        sprof_str_release(&name);
        sprof_str_release(&out);
    }
}

void sprof_suite_names_short_name(void);
void sprof_suite_names_short_name(void)
{
    CU_pSuite suite = CU_add_suite("names/short_name", NULL, NULL);
    CU_add_test(suite, "scopes and last components stay", test_scopes_and_last_components_stay);
    CU_add_test(suite, "noise is left out", test_noise_is_left_out);
    CU_add_test(suite, "operators", test_operators);
    CU_add_test(suite, "closures", test_closures);
    CU_add_test(suite, "other languages", test_other_languages);
    CU_add_test(suite, "what is no name stays", test_what_is_no_name_stays);
    CU_add_test(suite, "details", test_details);
    CU_add_test(suite, "last components", test_last_components);
    CU_add_test(suite, "names without end", test_names_without_end);
}
