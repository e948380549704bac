#include "symbolize/demangle.h"
#include "symbolize/symbolize.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *mangled, const char *expected)
{
    char *name = symbolize_demangle(mangled);
    if (expected) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(name);
        CU_ASSERT_STRING_EQUAL(name, expected);
    } else {
        CU_ASSERT_PTR_NULL(name);
    }
    free(name);
}

static void test_each_language(void)
{
    check("_ZN5space5Shape4areaEi", "space::Shape::area(int)");
    check("_Z5twiceIiET_S0_", "twice<int>(int)"); /* without its return type */
    check("_Z5outeri.cold", "outer(int) [clone .cold]");
    check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
    check("_ZN4core3fmt5write17h0123456789abcdefE.llvm.99", "core::fmt::write");
    check("_RNvC5crate3foo", "crate::foo");
    check("_RNvMs_NtCs4fqI2P2rA04_4core3fmtNtB4_9Formatter3new", "<core::fmt::Formatter>::new");
    check("_D3std5stdio7writelnFiZv", "std.stdio.writeln(int)");
    check("_D3std5stdio7writelnFiZv.constprop.0", "std.stdio.writeln(int) [clone .constprop.0]");
    check("_D3std5stdio7writelnFiZv.part.0.cold", "std.stdio.writeln(int) [clone .part.0.cold]");
    check("_ada_hello", "hello");
    check("_ada_hello.part.1", "hello [clone .part.1]");
    check("_GLOBAL__I_main", "global constructors keyed to main");
}

static void test_plain_names_are_left_alone(void)
{
    static const char *const names[] = {
        "main",          "",           "_",          "_Z",   "_R", "_D", "__libc_start_main",
        "sqlite3__step", "memcpy@plt", "pack__proc", "_ada_"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check(names[i], NULL);
}

static void test_ada_only_where_it_is_known(void)
{
    char *name = symbolize_demangle_name("pack__proc__2", true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(name);
    CU_ASSERT_STRING_EQUAL(name, "pack.proc");
    free(name);
    char *copy = symbolize_demangle_name("pack__proc__2.constprop.0", true);
    CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
    CU_ASSERT_STRING_EQUAL(copy, "pack.proc [clone .constprop.0]");
    free(copy);
    CU_ASSERT_PTR_NULL(symbolize_demangle_name("__gnat_malloc.cold", true));
    CU_ASSERT_PTR_NULL(symbolize_demangle_name("__gnat_malloc", true));
    CU_ASSERT_PTR_NULL(symbolize_demangle_name("malloc", true));
}

/* Each level doubles the text of the one below through a back reference. */
static void test_explosion_is_cut(void)
{
    char name[2048] = "_Z1fI";
    for (int i = 0; i < 60; i++)
        strcat(name, "1aI");
    strcat(name, "i");
    for (int i = 0; i < 60; i++) {
        const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char reference[8] = {'S', i ? digits[(i - 1) % 36] : '_', i ? '_' : '\0', '\0'};
        strcat(name, reference);
        strcat(name, "E");
    }
    strcat(name, "Evv");
    free(symbolize_demangle(name)); /* any answer, but soon and small */

    char *huge = malloc(1 << 20);
    CU_ASSERT_PTR_NOT_NULL_FATAL(huge);
    memset(huge, 'P', 1 << 20);
    memcpy(huge, "_Z1f", 4);
    huge[(1 << 20) - 1] = '\0';
    CU_ASSERT_PTR_NULL(symbolize_demangle(huge));
    huge[60000] = '\0';
    free(symbolize_demangle(huge));
    free(huge);
}

/* Delegates of which each takes the one before twice, by D's back references. */
static void put_delegates(char *name, int levels)
{
    size_t last = (size_t)sprintf(name, "_D1a1fFAya") - 3, end = last + 3;
    for (int i = 0; i < levels; i++) {
        const size_t begin = end;
        end += (size_t)sprintf(name + end, "DF");
        for (int k = 0; k < 2; k++) {
            const size_t distance = end - last;
            end += (size_t)sprintf(name + end, "Q%c", (char)('a' + distance));
        }
        end += (size_t)sprintf(name + end, "Zv");
        last = begin;
    }
    strcpy(name + end, "Zv");
}

static void test_explosion_of_d_is_cut(void)
{
    char name[1024];
    put_delegates(name, 2);
    check(name, "a.f(immutable(char)[], void(immutable(char)[], immutable(char)[]) delegate, "
                "void(void(immutable(char)[], immutable(char)[]) delegate, "
                "void(immutable(char)[], immutable(char)[]) delegate) delegate)");
    put_delegates(name, 12); /* longer than a name may be */
    check(name, NULL);
    put_delegates(name, 64); /* longer than memory */
    check(name, NULL);
    /* A real one: many references that mean little. */
    check("_D3std8typecons__T5TupleTAyaTQeTQhTQkTQnTQqTQtTQwZQBg6__"
          "ctorMFNaNbNcNiNfQBvQByQCbQCeQChQCkQCnQCqZSQDsQDr__"
          "TQDlTQDiTQDmTQDqTQDuTQDyTQEcTQEgTQEkZQEv",
          "std.typecons.Tuple!(immutable(char)[], immutable(char)[], immutable(char)[], "
          "immutable(char)[], immutable(char)[], immutable(char)[], immutable(char)[], "
          "immutable(char)[]).Tuple.this(immutable(char)[], immutable(char)[], immutable(char)[], "
          "immutable(char)[], immutable(char)[], immutable(char)[], immutable(char)[], "
          "immutable(char)[])");
}

static void test_order_of_aliases(void)
{
    CU_ASSERT_TRUE(symbolize_demangle_compare_aliases("write", "__write") < 0);
    CU_ASSERT_TRUE(symbolize_demangle_compare_aliases("__libc_malloc", "malloc") > 0);
    CU_ASSERT_TRUE(symbolize_demangle_compare_aliases("read", "readlong") < 0);
    CU_ASSERT_TRUE(symbolize_demangle_compare_aliases("aaa", "bbb") < 0);
    CU_ASSERT_EQUAL(symbolize_demangle_compare_aliases("same", "same"), 0);
}

static uint64_t time_to_compare(size_t bytes)
{
    enum { TIMES = 300 };
    char *name = malloc(bytes + 1);
    memset(name, '_', bytes);
    name[bytes] = '\0';
    const uint64_t begin = sprof_clock_own_cpu_ns();
    for (int i = 0; i < TIMES; i++)
        CU_ASSERT_TRUE(symbolize_demangle_compare_aliases(name, "f") > 0);
    const uint64_t taken = sprof_clock_own_cpu_ns() - begin;
    free(name);
    return taken;
}

/* One of many megabytes may be compared with each of a million others. */
static void test_aliases_without_end(void)
{
    CU_ASSERT_TRUE(time_to_compare(64 << 20) < 20 * time_to_compare(64 << 10));
}

void sprof_suite_symbolize_demangle(void);
void sprof_suite_symbolize_demangle(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/demangle", NULL, NULL);
    CU_add_test(suite, "each language", test_each_language);
    CU_add_test(suite, "plain names", test_plain_names_are_left_alone);
    CU_add_test(suite, "Ada only where it is known", test_ada_only_where_it_is_known);
    CU_add_test(suite, "an explosion is cut", test_explosion_is_cut);
    CU_add_test(suite, "explosion of D is cut", test_explosion_of_d_is_cut);
    CU_add_test(suite, "order of aliases", test_order_of_aliases);
    CU_add_test(suite, "aliases without end", test_aliases_without_end);
}
