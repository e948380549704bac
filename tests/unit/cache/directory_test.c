#include "cache/directory.h"
#include "tests/unit/image/fixture.h"

#include <sys/stat.h>
#include <unistd.h>

/* Opens the user's directory with these variables; whether there is one. */
static bool opens(const char *cache_home, const char *home)
{
    char *old_cache = getenv("XDG_CACHE_HOME"), *old_home = getenv("HOME");
    old_cache = old_cache ? strdup(old_cache) : NULL;
    old_home = old_home ? strdup(old_home) : NULL;
    cache_home ? setenv("XDG_CACHE_HOME", cache_home, 1) : unsetenv("XDG_CACHE_HOME");
    home ? setenv("HOME", home, 1) : unsetenv("HOME");
    const int directory = cache_directory_open(NULL);
    old_cache ? setenv("XDG_CACHE_HOME", old_cache, 1) : unsetenv("XDG_CACHE_HOME");
    old_home ? setenv("HOME", old_home, 1) : unsetenv("HOME");
    free(old_cache);
    free(old_home);
    if (directory >= 0)
        close(directory);
    return directory >= 0;
}

static void test_where_it_is(void)
{
    struct fixture fixture;
    char home[128];
    fixture_open(&fixture);
    fixture_run(&fixture, "mkdir home");
    strcpy(home, fixture_path(&fixture, "home"));
    CU_ASSERT_TRUE(opens(NULL, home));
    CU_ASSERT_EQUAL(access(fixture_path(&fixture, "home/.cache/sprof"), F_OK), 0);
    CU_ASSERT_TRUE(opens(fixture_path(&fixture, "xdg"), home));
    CU_ASSERT_EQUAL(access(fixture_path(&fixture, "xdg/sprof"), F_OK), 0);
    CU_ASSERT_FALSE(opens(NULL, NULL));
    CU_ASSERT_FALSE(opens(NULL, "relative"));
    CU_ASSERT_FALSE(opens(NULL, fixture_path(&fixture, "missing")));
    CU_ASSERT_TRUE(opens("relative", home));
    fixture_close(&fixture);
}

static void test_what_others_could_write_to(void)
{
    struct fixture fixture;
    char home[128];
    fixture_open(&fixture);
    fixture_run(&fixture, "mkdir -p home/.cache/sprof");
    strcpy(home, fixture_path(&fixture, "home"));
    CU_ASSERT_TRUE(opens(NULL, home));
    fixture_run(&fixture, "chmod g+w home/.cache/sprof");
    CU_ASSERT_FALSE(opens(NULL, home));
    fixture_run(&fixture, "chmod 700 home/.cache/sprof; chmod o+w home/.cache");
    CU_ASSERT_FALSE(opens(NULL, home));
    fixture_run(&fixture, "chmod 700 home/.cache; rmdir home/.cache/sprof; mkdir elsewhere; "
                          "ln -s ../../elsewhere home/.cache/sprof");
    CU_ASSERT_FALSE(opens(NULL, home));
    fixture_run(&fixture, "rm home/.cache/sprof; echo >home/.cache/sprof");
    CU_ASSERT_FALSE(opens(NULL, home));
    fixture_close(&fixture);
}

/* sudo with HOME kept: nothing of root's appears in the user's home. */
static void test_home_of_another_user(void)
{
    struct fixture fixture;
    char home[128];
    if (geteuid() != 0)
        return; /* only root can give a directory away */
    fixture_open(&fixture);
    fixture_run(&fixture, "mkdir home; chown 1234 home");
    strcpy(home, fixture_path(&fixture, "home"));
    CU_ASSERT_FALSE(opens(NULL, home));
    CU_ASSERT_NOT_EQUAL(access(fixture_path(&fixture, "home/.cache"), F_OK), 0);
    fixture_run(&fixture, "mkdir -p mine/.cache/sprof; chown 1234 mine/.cache/sprof");
    strcpy(home, fixture_path(&fixture, "mine"));
    CU_ASSERT_FALSE(opens(NULL, home));
    fixture_close(&fixture);
}

void sprof_suite_cache_directory(void);
void sprof_suite_cache_directory(void)
{
    CU_pSuite suite = CU_add_suite("cache/directory", NULL, NULL);
    CU_add_test(suite, "where it is", test_where_it_is);
    CU_add_test(suite, "what others could write to", test_what_others_could_write_to);
    CU_add_test(suite, "the home of another user", test_home_of_another_user);
}
