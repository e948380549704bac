#include "archive/archive.h"

#include <CUnit/CUnit.h>

static void test_clean_paths(void)
{
    static const char *const clean[] = {"/a",           "/usr/lib/x86_64-linux-gnu/libc.so.6",
                                        "/a b/..c/d..", "/.hidden/...",
                                        "/\xc3\xa4",    "/\xff\x7f\033"};
    static const char *const others[] = {"",      "a",       "a/b",   "/",    "//a",
                                         "/a//b", "/a/",     "/a/.",  "/./a", "/a/..",
                                         "/../a", "/a/../b", "/a\nb", "../a"};
    for (size_t i = 0; i < sizeof clean / sizeof *clean; i++)
        CU_ASSERT_TRUE(archive_path_is_clean(clean[i]));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        CU_ASSERT_FALSE(archive_path_is_clean(others[i]));
}

void sprof_suite_archive_write(void);
void sprof_suite_archive_write(void)
{
    CU_pSuite suite = CU_add_suite("archive/write", NULL, NULL);
    CU_add_test(suite, "clean paths", test_clean_paths);
}
