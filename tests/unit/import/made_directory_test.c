/* Directories beside a place, which another user may exchange. */
#include "import/made_directory.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/sprof-place-XXXXXX";
static char path[200];

static int begin(void)
{
    return !mkdtemp(directory) || chdir(directory);
}

static int end(void)
{
    return chdir("/") || rmdir(directory);
}

static bool is_there(int directory_fd, const char *name)
{
    struct stat facts;
    return !fstatat(directory_fd, name, &facts, AT_SYMLINK_NOFOLLOW);
}

static void write_file(int directory_fd, const char *name)
{
    const int fd = openat(directory_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    CU_ASSERT_TRUE(fd >= 0);
    close(fd);
}

static void find(struct sprof_place *place)
{
    snprintf(path, sizeof path, "%s/out.db", directory);
    CU_ASSERT_EQUAL_FATAL(sprof_place_find(place, path), 0);
}

static void test_directory(void)
{
    struct sprof_place place;
    struct stat facts;
    char name[NAME_MAX + 1], other[NAME_MAX + 1];
    find(&place);
    const int fd = import_made_directory_make(&place, name);
    const int next = import_made_directory_make(&place, other);
    CU_ASSERT_TRUE_FATAL(fd >= 0 && next >= 0);
    CU_ASSERT_STRING_NOT_EQUAL(name, other);
    CU_ASSERT_EQUAL(strncmp(name, "out.db.", 7), 0);
    CU_ASSERT_EQUAL(fstat(fd, &facts), 0);
    CU_ASSERT_EQUAL(facts.st_mode, S_IFDIR | 0700);
    write_file(fd, "0.db");
    write_file(fd, "0.db-wal");
    import_made_directory_remove(&place, name, fd);
    CU_ASSERT_FALSE(is_there(place.directory_fd, name));
    CU_ASSERT_TRUE(is_there(place.directory_fd, other));
    import_made_directory_remove(&place, other, next);
    CU_ASSERT_FALSE(is_there(place.directory_fd, other));
    sprof_place_close(&place);
}

/* A link that has taken the name leads to files that stay; those of the directory go. */
static void test_exchanged_directory(void)
{
    struct sprof_place place;
    char name[NAME_MAX + 1];
    find(&place);
    const int fd = import_made_directory_make(&place, name);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    write_file(fd, "0.db");
    CU_ASSERT_EQUAL(rename(name, "away"), 0);
    CU_ASSERT_EQUAL(mkdir("victim", 0700), 0);
    write_file(AT_FDCWD, "victim/0.db");
    CU_ASSERT_EQUAL(symlink("victim", name), 0);
    import_made_directory_remove(&place, name, fd);
    CU_ASSERT_TRUE(is_there(AT_FDCWD, "victim/0.db"));
    CU_ASSERT_FALSE(is_there(AT_FDCWD, "away/0.db"));
    CU_ASSERT_EQUAL(unlink("victim/0.db") | unlink(name) | rmdir("victim") | rmdir("away"), 0);
    sprof_place_close(&place);
}

static void test_nowhere(void)
{
    struct sprof_place place = SPROF_PLACE_NONE;
    char name[NAME_MAX + 1];
    CU_ASSERT_EQUAL(import_made_directory_make(&place, name), -EBADF);
    find(&place);
    memset(place.name, 'n', NAME_MAX);
    CU_ASSERT_EQUAL(import_made_directory_make(&place, name), -ENAMETOOLONG);
    sprof_place_close(&place);
}

void sprof_suite_import_made_directory(void);

void sprof_suite_import_made_directory(void)
{
    CU_pSuite suite = CU_add_suite("import/made_directory", begin, end);
    CU_add_test(suite, "a directory", test_directory);
    CU_add_test(suite, "an exchanged directory", test_exchanged_directory);
    CU_add_test(suite, "nowhere", test_nowhere);
}
