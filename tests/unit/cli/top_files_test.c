/* The directories of `sprof top`: what a killed one has left is removed, and nothing else. */
#include "cli/top_files.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static char parent[] = "/tmp/sprof-files-XXXXXX";

/* A directory with a file of that name, not touched for an hour. */
static void make(const char *name, const char *file, bool is_old)
{
    const struct timespec times[2] = {{time(NULL) - 3600, 0}, {time(NULL) - 3600, 0}};
    char path[200];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/%s/%s", parent, name, file);
    const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CU_ASSERT_TRUE(fd >= 0);
    close(fd);
    snprintf(path, sizeof path, "%s/%s", parent, name);
    if (is_old)
        CU_ASSERT_EQUAL(utimensat(AT_FDCWD, path, times, 0), 0);
}

static bool is_there(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", parent, name);
    return !access(path, F_OK);
}

static void test_what_was_left_is_removed(void)
{
    struct cli_top_files files, other;
    char path[200];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(parent));
    CU_ASSERT_EQUAL(setenv("TMPDIR", parent, 1), 0);
    make("sprof-top-killed", "top.db", true);
    make("sprof-top-now", "top.db", false);
    make("sprof-top-failed", "unsaved", true);
    make("sprof-top-used", "top.db", true);
    make("other", "top.db", true);
    snprintf(path, sizeof path, "%s/sprof-top-used", parent);
    const int used = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CU_ASSERT_EQUAL(flock(used, LOCK_EX | LOCK_NB), 0);
    CU_ASSERT_EQUAL(cli_top_files_open(&files, NULL, NULL), 0);
    CU_ASSERT_FALSE(is_there("sprof-top-killed"));
    CU_ASSERT_TRUE(is_there("sprof-top-now") && is_there("sprof-top-failed") &&
                   is_there("sprof-top-used") && is_there("other"));
    /* Its own is there while it is open, whatever its age. */
    const struct timespec times[2] = {{1, 0}, {1, 0}};
    CU_ASSERT_EQUAL(utimensat(AT_FDCWD, files.directory, times, 0), 0);
    CU_ASSERT_EQUAL(cli_top_files_open(&other, NULL, NULL), 0);
    CU_ASSERT_EQUAL(access(files.directory, F_OK), 0);
    cli_top_files_close(&other);
    snprintf(path, sizeof path, "%s", files.directory);
    cli_top_files_close(&files);
    CU_ASSERT_NOT_EQUAL(access(path, F_OK), 0);
    close(used);
    unsetenv("TMPDIR");
    snprintf(path, sizeof path, "rm -rf %s", parent);
    CU_ASSERT_EQUAL(system(path), 0);
}

void sprof_suite_cli_top_files(void);
void sprof_suite_cli_top_files(void)
{
    CU_pSuite suite = CU_add_suite("cli/top_files", NULL, NULL);
    CU_add_test(suite, "what was left is removed", test_what_was_left_is_removed);
}
