/* Which directories no other user can exchange. */
#include "base/trusted_way.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_ways(void)
{
    static const struct {
        const char *path;
        mode_t mode; /* of `open` */
        bool is_trusted;
    } ways[] = {
        {"", 0777, true},          {"/own", 0777, true},        {"/own/not/there", 0777, true},
        {"/own/", 0777, true},     {"/own/../own", 0777, true}, {"/open", 0777, false},
        {"/open/in", 0777, false}, {"/open/new", 0777, false},  {"/link/in", 0777, false},
        {"/open/in", 0755, true},  {"/link/in", 0755, true},    {"/open/in", 01777, true},
        {"/open", 01777, false},   {"/open/new", 01777, false}, {"/own/file", 0755, false},
    };
    char top[] = "/tmp/trusted_way_XXXXXX", path[128];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(top));
    const int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(chdir(top), 0);
    CU_ASSERT_EQUAL_FATAL(mkdir("own", 0700) | mkdir("open", 0777) | mkdir("open/in", 0700), 0);
    CU_ASSERT_EQUAL_FATAL(symlink("open", "link"), 0);
    fclose(fopen("own/file", "we"));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        snprintf(path, sizeof path, "%s%s", top, ways[i].path);
        CU_ASSERT_EQUAL(chmod("open", ways[i].mode), 0);
        CU_ASSERT_EQUAL(sprof_trusted_way(path), ways[i].is_trusted);
    }
    CU_ASSERT_TRUE(sprof_trusted_way("own"));
    CU_ASSERT_EQUAL(unlink("own/file") | unlink("link") | rmdir("open/in"), 0);
    CU_ASSERT_EQUAL(rmdir("open") | rmdir("own") | fchdir(before) | rmdir(top), 0);
    close(before);
}

void sprof_suite_base_trusted_way(void);
void sprof_suite_base_trusted_way(void)
{
    CU_pSuite suite = CU_add_suite("base/trusted_way", NULL, NULL);
    CU_add_test(suite, "ways", test_ways);
}
