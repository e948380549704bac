#include "cache/cache.h"
#include "tests/unit/image/fixture.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sprof_digest key = {0x1234, 0x5678}, other_key = {0x1234, 0x5679};
static const char entry[] = "table-00000000000056780000000000001234";

static void put_text(struct cache *cache, struct sprof_digest where, const char *text)
{
    const struct sprof_bytes pieces[] = {
        {(const uint8_t *)text, 1}, {0}, {(const uint8_t *)text + 1, strlen(text + 1)}};
    cache_put(cache, CACHE_TABLE, where, pieces, 3);
}

/* Whether the entry is there and holds the text. */
static bool holds(struct cache *cache, enum cache_kind kind, struct sprof_digest where,
                  const char *text)
{
    const struct sprof_bytes got = cache_get(cache, kind, where);
    const bool same = got.data && got.size == strlen(text) && !memcmp(got.data, text, got.size);
    CU_ASSERT_TRUE(!got.data || (uintptr_t)got.data % CACHE_ALIGNMENT == 0);
    free((void *)got.data);
    return same;
}

static void test_what_was_put_is_got(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "c"));
    CU_ASSERT_PTR_NOT_NULL_FATAL(cache);
    CU_ASSERT_FALSE(holds(cache, CACHE_TABLE, key, "hello"));
    put_text(cache, key, "hello");
    CU_ASSERT_TRUE(holds(cache, CACHE_TABLE, key, "hello"));
    CU_ASSERT_FALSE(holds(cache, CACHE_TABLE, other_key, "hello"));
    CU_ASSERT_FALSE(holds(cache, CACHE_LINES, key, "hello"));
    put_text(cache, key, "other");
    CU_ASSERT_TRUE(holds(cache, CACHE_TABLE, key, "other"));
    cache_free(cache, 0);
    cache = cache_open(fixture_path(&fixture, "c"));
    CU_ASSERT_TRUE(holds(cache, CACHE_TABLE, key, "other"));
    struct stat status;
    CU_ASSERT_EQUAL(stat(fixture_path(&fixture, "c"), &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 07777, 0700);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

static void test_no_cache_is_empty(void)
{
    put_text(NULL, key, "hello");
    CU_ASSERT_FALSE(holds(NULL, CACHE_TABLE, key, "hello"));
    cache_free(NULL, 0);
}

/* Every byte of the file matters, and its length. */
static void test_damaged_entries_are_not_there(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "c"));
    put_text(cache, key, "hello");
    char name[128];
    snprintf(name, sizeof name, "c/%s", entry);
    const struct sprof_bytes good = fixture_read(&fixture, name);
    uint8_t *bytes = (uint8_t *)good.data;
    for (size_t i = 0; i < good.size; i++) {
        bytes[i] ^= 1;
        fixture_write(&fixture, name, bytes, good.size);
        CU_ASSERT_FALSE(holds(cache, CACHE_TABLE, key, "hello"));
        bytes[i] ^= 1;
        fixture_write(&fixture, name, bytes, i);
        CU_ASSERT_FALSE(holds(cache, CACHE_TABLE, key, "hello"));
    }
    fixture_write(&fixture, name, bytes, good.size);
    CU_ASSERT_TRUE(holds(cache, CACHE_TABLE, key, "hello"));
    fixture_run(&fixture, "cd c && truncate -s 100G table-*");
    CU_ASSERT_FALSE(holds(cache, CACHE_TABLE, key, "hello"));
    free(bytes);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Another build of this program, with other code, starts with an empty cache. */
static void test_other_builds_make_their_own(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "c"));
    char command[1024], self[256] = "";
    CU_ASSERT_TRUE_FATAL(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    put_text(cache, key, "hello");
    static const char *const changes[] = {
        "printf '\\4\\0\\0\\0\\10\\0\\0\\0\\3\\0\\0\\0GNU\\0newbuild' > id; objcopy "
        "--update-section .note.gnu.build-id=id %s other",
        "objcopy --remove-section .note.gnu.build-id %s other"};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        snprintf(command, sizeof command, changes[i], self);
        fixture_run(&fixture, command);
        fixture_run(&fixture, "CACHE_TEST_HOLDS=$PWD/c ./other; test $? = 3");
    }
    snprintf(command, sizeof command, "CACHE_TEST_HOLDS=$PWD/c %s; test $? = 4", self);
    fixture_run(&fixture, command);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Files that somebody else could have put or changed. */
static void test_only_own_files_are_read(void)
{
    static const char *const bad[] = {
        "mv table-* x; ln -s x %s", "chmod g+w %s",    "chmod o+w %s",
        "rm %s; mkfifo %s",         "rm %s; mkdir %s", "rm %s; ln -s /dev/zero %s",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture fixture;
        fixture_open(&fixture);
        struct cache *cache = cache_open(fixture_path(&fixture, "c"));
        put_text(cache, key, "hello");
        char command[512] = "cd c; ", *end = command + strlen(command);
        snprintf(end, sizeof command - 6, bad[i], entry, entry);
        fixture_run(&fixture, command);
        CU_ASSERT_FALSE(holds(cache, CACHE_TABLE, key, "hello"));
        cache_free(cache, 0);
        fixture_close(&fixture);
    }
}

static void test_least_recently_used_go_first(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    struct cache *cache = cache_open(fixture_path(&fixture, "c"));
    static char large[50000];
    memset(large, 'x', sizeof large - 1);
    for (uint64_t i = 0; i < 10; i++)
        put_text(cache, (struct sprof_digest){i, 0}, large);
    /* All are a day old, the third the oldest; it is used once more. */
    fixture_run(&fixture, "cd c; touch -d '1 day ago' *; touch -d '2 days ago' *02");
    fixture_run(&fixture, "cd c; touch .new-1-1; touch -d '1 day ago' .new-2-1");
    CU_ASSERT_TRUE(holds(cache, CACHE_TABLE, (struct sprof_digest){2, 0}, large));
    cache_free(cache, 300000);
    cache = cache_open(fixture_path(&fixture, "c"));
    size_t left = 0;
    for (uint64_t i = 0; i < 10; i++)
        left += holds(cache, CACHE_TABLE, (struct sprof_digest){i, 0}, large);
    CU_ASSERT_TRUE(left >= 4 && left <= 6);
    CU_ASSERT_TRUE(holds(cache, CACHE_TABLE, (struct sprof_digest){2, 0}, large));
    CU_ASSERT_EQUAL(access(fixture_path(&fixture, "c/.new-1-1"), F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(fixture_path(&fixture, "c/.new-2-1"), F_OK), 0);
    cache_free(cache, 0);
    fixture_close(&fixture);
}

/* Small additions look through the directory every ten minutes; what a killed process left shows
 * it. */
static bool looks(struct fixture *fixture)
{
    fixture_run(fixture, "mkdir -p c && chmod 700 c && touch -d '1 day ago' c/.new-2-1");
    struct cache *cache = cache_open(fixture_path(fixture, "c"));
    put_text(cache, key, "hello");
    cache_free(cache, 0);
    return access(fixture_path(fixture, "c/.new-2-1"), F_OK) != 0;
}

static void test_looks_rarely(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    CU_ASSERT_TRUE(looks(&fixture));
    CU_ASSERT_FALSE(looks(&fixture));
    fixture_run(&fixture, "touch -d '11 minutes ago' c/.looked");
    CU_ASSERT_TRUE(looks(&fixture));
    CU_ASSERT_FALSE(looks(&fixture));
    fixture_run(&fixture, "touch -d '1 hour' c/.looked"); /* the clock was wrong */
    CU_ASSERT_TRUE(looks(&fixture));
    fixture_close(&fixture);
}

/* Writers and readers at once see whole entries, one or the other. */
static void test_parallel_users(void)
{
    enum { PROCESSES = 4, ROUNDS = 200 };
    struct fixture fixture;
    fixture_open(&fixture);
    pid_t children[PROCESSES];
    static char text[20000];
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        if (children[p])
            continue;
        struct cache *cache = cache_open(fixture_path(&fixture, "c"));
        memset(text, 'a' + p, sizeof text - 1);
        int torn = !cache;
        for (int i = 0; i < ROUNDS && !torn; i++) {
            put_text(cache, key, text);
            const struct sprof_bytes got = cache_get(cache, CACHE_TABLE, key);
            for (size_t j = 1; j < got.size; j++)
                torn |= got.data[j] != got.data[0];
            torn |= got.size != sizeof text - 1;
            free((void *)got.data);
        }
        cache_free(cache, 0);
        _exit(torn);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status = -1;
        CU_ASSERT_EQUAL(waitpid(children[p], &status, 0), children[p]);
        CU_ASSERT_EQUAL(status, 0);
    }
    fixture_close(&fixture);
}

/* What the program does when the test runs it, or another build, once more. */
static void exit_by_entry(const char *directory)
{
    struct cache *cache = cache_open(directory);
    const struct sprof_bytes held = cache_get(cache, CACHE_TABLE, key);
    _exit(held.size ? 4 : 3);
}

void sprof_suite_cache_cache(void);
void sprof_suite_cache_cache(void)
{
    const char *directory = getenv("CACHE_TEST_HOLDS");
    if (directory)
        exit_by_entry(directory);
    CU_pSuite suite = CU_add_suite("cache/cache", NULL, NULL);
    CU_add_test(suite, "what was put is got", test_what_was_put_is_got);
    CU_add_test(suite, "no cache is empty", test_no_cache_is_empty);
    CU_add_test(suite, "damaged entries are not there", test_damaged_entries_are_not_there);
    CU_add_test(suite, "other builds make their own", test_other_builds_make_their_own);
    CU_add_test(suite, "only own files are read", test_only_own_files_are_read);
    CU_add_test(suite, "looks rarely", test_looks_rarely);
    CU_add_test(suite, "least recently used go first", test_least_recently_used_go_first);
    CU_add_test(suite, "parallel users", test_parallel_users);
}
