#include "model/kinds.h"

#include <CUnit/CUnit.h>
#include <stdio.h>

static void test_paths_tell_the_kind(void)
{
    static const struct {
        const char *path;
        enum model_kind kind;
    } cases[] = {
        {"/home/me/program", MODEL_KIND_APP},
        {"/usr/bin/python3.11", MODEL_KIND_APP},
        {"/opt/lib/libthing.so", MODEL_KIND_APP},
        {"/library/code.so", MODEL_KIND_SYSTEM},
        {"/lib/x86_64-linux-gnu/libc.so.6", MODEL_KIND_SYSTEM},
        {"/lib64/libm.so.6", MODEL_KIND_SYSTEM},
        {"/usr/lib/libz.so.1 (deleted)", MODEL_KIND_SYSTEM},
        {"/usr/lib32/libz.so.1", MODEL_KIND_SYSTEM},
        {"/usr/libexec/helper", MODEL_KIND_SYSTEM},
        {"/usr/local/lib/libmine.so", MODEL_KIND_APP},
        {"/opt/root/ld-linux-x86-64.so.2", MODEL_KIND_SYSTEM},
        {"/opt/musl/ld-musl-x86_64.so.1", MODEL_KIND_SYSTEM},
        {"/home/me/ld-helper.so", MODEL_KIND_APP},
        {"[vdso]", MODEL_KIND_SYSTEM},
        {"[vsyscall]", MODEL_KIND_SYSTEM},
        {"[kernel]", MODEL_KIND_KERNEL},
        {"//anon", MODEL_KIND_JIT},
        {"", MODEL_KIND_JIT},
        {"[anon:js-executable-memory]", MODEL_KIND_JIT},
        {"[heap]", MODEL_KIND_JIT},
        {"[stack]", MODEL_KIND_JIT},
        {"/memfd:doublemapper (deleted)", MODEL_KIND_JIT},
        {"/dev/zero (deleted)", MODEL_KIND_JIT},
        {"/SYSV00000000 (deleted)", MODEL_KIND_JIT},
        {"[none]", MODEL_KIND_NONE},
        {"[unknown]", MODEL_KIND_NONE},
        {"lib.so", MODEL_KIND_APP},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const enum model_kind kind = model_kind_of(NULL, cases[i].path, false, false);
        CU_ASSERT_EQUAL(kind, cases[i].kind);
        if (kind != cases[i].kind)
            fprintf(stderr, "%s: %s\n", cases[i].path, model_kind_text(kind));
    }
}

static void test_main_executable_is_app_wherever_it_lies(void)
{
    CU_ASSERT_EQUAL(model_kind_of(NULL, "/usr/lib/gcc/x/cc1plus", true, false), MODEL_KIND_APP);
    CU_ASSERT_EQUAL(model_kind_of(NULL, "/memfd:program (deleted)", true, false), MODEL_KIND_APP);
    CU_ASSERT_EQUAL(model_kind_of(NULL, "//anon", true, false), MODEL_KIND_JIT);
    CU_ASSERT_EQUAL(model_kind_of(NULL, "[ext4]", false, true), MODEL_KIND_KERNEL);
}

static void test_last_rule_wins_and_kernel_is_above_rules(void)
{
    const struct model_kind_rule items[] = {
        {MODEL_KIND_SYSTEM, "*"},
        {MODEL_KIND_APP, "libmine*"},
        {MODEL_KIND_SYSTEM, "/opt/*/libmine-test.so"},
    };
    const struct model_kind_rules rules = {items, 3};
    CU_ASSERT_EQUAL(model_kind_of(&rules, "/home/me/program", true, false), MODEL_KIND_SYSTEM);
    CU_ASSERT_EQUAL(model_kind_of(&rules, "/usr/lib/libmine.so", false, false), MODEL_KIND_APP);
    CU_ASSERT_EQUAL(model_kind_of(&rules, "/opt/a/b/libmine-test.so", false, false),
                    MODEL_KIND_SYSTEM);
    CU_ASSERT_EQUAL(model_kind_of(&rules, "//anon", false, false), MODEL_KIND_SYSTEM);
    CU_ASSERT_EQUAL(model_kind_of(&rules, "[kernel]", false, false), MODEL_KIND_KERNEL);
    CU_ASSERT_EQUAL(model_kind_of(&rules, "[none]", false, false), MODEL_KIND_NONE);
}

static void test_versions_may_be_missing(void)
{
    static const char path[] = "/usr/lib/libsqlite3.so.0.8.6";
    CU_ASSERT_TRUE(model_path_matches(path, path));
    CU_ASSERT_TRUE(model_path_matches("libsqlite3.so.0.8.6", path));
    CU_ASSERT_TRUE(model_path_matches("libsqlite3.so.0", path));
    CU_ASSERT_TRUE(model_path_matches("libsqlite3.so", path));
    CU_ASSERT_TRUE(model_path_matches("libsqlite3", path));
    CU_ASSERT_TRUE(model_path_matches("libsqlite[23]", path));
    CU_ASSERT_TRUE(model_path_matches("/usr/lib/libsqlite3", path));
    CU_ASSERT_TRUE(model_path_matches("libsqlite3", "libsqlite3.so"));
    CU_ASSERT_FALSE(model_path_matches("libsqlite", path));
    CU_ASSERT_FALSE(model_path_matches("sqlite3", path));
    CU_ASSERT_FALSE(model_path_matches("libsqlite3.so.1", path));
    CU_ASSERT_FALSE(model_path_matches("libsqlite3", "libsqlite3x.so"));
    CU_ASSERT_FALSE(model_path_matches("app", "app.so"));
}

static void test_startup_names(void)
{
    CU_ASSERT_TRUE(model_is_startup_name("_start"));
    CU_ASSERT_TRUE(model_is_startup_name("__libc_start_call_main"));
    CU_ASSERT_TRUE(model_is_startup_name("clone3"));
    CU_ASSERT_FALSE(model_is_startup_name("main"));
    CU_ASSERT_FALSE(model_is_startup_name("start"));
    CU_ASSERT_FALSE(model_is_startup_name(NULL));
    for (const char *const *name = model_startup_names(); *name; name++)
        CU_ASSERT_TRUE(model_is_startup_name(*name));
}

void sprof_suite_model_kinds(void);
void sprof_suite_model_kinds(void)
{
    CU_pSuite suite = CU_add_suite("model/kinds", NULL, NULL);
    CU_add_test(suite, "paths tell the kind", test_paths_tell_the_kind);
    CU_add_test(suite, "a main executable is app wherever it lies",
                test_main_executable_is_app_wherever_it_lies);
    CU_add_test(suite, "the last rule wins, the kernel is above rules",
                test_last_rule_wins_and_kernel_is_above_rules);
    CU_add_test(suite, "versions may be missing", test_versions_may_be_missing);
    CU_add_test(suite, "start-up names", test_startup_names);
}
