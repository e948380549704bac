#include "tests/unit/symbolize/jit_check.h"

#include <sys/stat.h>
#include <unistd.h>

static int open_for(struct symbolize_jit **jit, uid_t uid, struct sprof_error *error)
{
    return symbolize_jit_open(jit, getpid(), getpid(), uid, 0, error);
}

static void test_map_of_a_process(void)
{
    char path[64];
    struct symbolize_jit *jit = NULL;
    struct sprof_error error = {0};
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    unlink(path);
    CU_ASSERT_EQUAL(open_for(&jit, getuid(), &error), SPROF_ENOTFOUND);

    FILE *map = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(map);
    fputs("1000 10 compiled\n", map);
    fclose(map);
    CU_ASSERT_EQUAL(open_for(&jit, getuid(), &error), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(jit);
    jit_check(jit, 0x1008, "compiled", NULL, 0);
    symbolize_jit_free(jit);

    if (geteuid() == 0) { /* a file of a third user */
        CU_ASSERT_EQUAL(chown(path, 12345, (gid_t)-1), 0);
        CU_ASSERT_EQUAL(open_for(&jit, 54321, &error), SPROF_EPERMISSION);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "belongs to user 12345"));
        CU_ASSERT_EQUAL(open_for(&jit, 12345, &error), 0);
        symbolize_jit_free(jit);
        /* Root's, which that user may have mounted there. */
        CU_ASSERT_EQUAL(chown(path, 0, (gid_t)-1), 0);
        CU_ASSERT_EQUAL(chmod(path, 0640), 0);
        CU_ASSERT_EQUAL(open_for(&jit, 12345, &error), SPROF_EPERMISSION);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "belongs to root"));
        CU_ASSERT_EQUAL(open_for(&jit, 0, &error), 0);
        symbolize_jit_free(jit);
        CU_ASSERT_EQUAL(chmod(path, 0644), 0);
        CU_ASSERT_EQUAL(open_for(&jit, 12345, &error), 0);
        symbolize_jit_free(jit);
    }
    unlink(path);
    CU_ASSERT_EQUAL(symlink("/etc/passwd", path), 0);
    CU_ASSERT_EQUAL(open_for(&jit, getuid(), &error), SPROF_EPERMISSION);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "symbolic link"));
    unlink(path);
    CU_ASSERT_EQUAL(mkfifo(path, 0600), 0);
    CU_ASSERT_EQUAL(open_for(&jit, getuid(), &error), SPROF_EFORMAT);
    unlink(path);
}

/* Its number was another process's before. */
static void test_map_older_than_the_process(void)
{
    char path[64];
    struct symbolize_jit *jit = NULL;
    struct sprof_error error = {0};
    struct stat status;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(map);
    fputs("1000 10 compiled\n", map);
    fclose(map);
    CU_ASSERT_EQUAL(stat(path, &status), 0);
    const uint64_t written_ns =
        (uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
    CU_ASSERT_EQUAL(
        symbolize_jit_open(&jit, getpid(), getpid(), getuid(), written_ns + 50000000, &error),
        SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "is older than the process"));
    CU_ASSERT_EQUAL(
        symbolize_jit_open(&jit, getpid(), getpid(), getuid(), written_ns + 1000000, &error), 0);
    symbolize_jit_free(jit);
    /* Found while it is there, it is read when it is gone. */
    const int found = symbolize_jit_find(getpid(), getpid(), NULL);
    CU_ASSERT_TRUE_FATAL(found >= 0);
    unlink(path);
    CU_ASSERT_EQUAL(symbolize_jit_open_found(&jit, found, path, getuid(), written_ns, &error), 0);
    jit_check(jit, 0x1008, "compiled", NULL, 0);
    symbolize_jit_free(jit);
    close(found);
}

/* Many entries over many addresses: the newest wins everywhere, and it does not take long. */
static void test_overlapping_entries(void)
{
    enum { ENTRIES = 20000, ADDRESSES = 20000 };
    struct sprof_str map = {0};
    uint64_t *addresses = calloc(ADDRESSES, sizeof *addresses);
    CU_ASSERT_PTR_NOT_NULL_FATAL(addresses);
    for (int i = 0; i < ENTRIES; i++)
        sprof_str_appendf(&map, "%x %x f%d\n", 0x1000, 0x100000, i);
    sprof_str_append(&map, "2000 10 newest\n");
    for (size_t i = 0; i < ADDRESSES; i++)
        addresses[i] = 0x1000 + i;
    struct fixture fixture;
    fixture_open(&fixture);
    struct symbolize_jit *jit = jit_check_open(&fixture, map.text, map.length);
    struct symbolize_result result;
    CU_ASSERT_EQUAL_FATAL(symbolize_jit(&result, jit, addresses, ADDRESSES, NULL), 0);
    CU_ASSERT_EQUAL(result.function_count, 2);
    CU_ASSERT_EQUAL(result.frame_count, ADDRESSES);
    CU_ASSERT_STRING_EQUAL(result.functions[0].name, "f19999");
    CU_ASSERT_STRING_EQUAL(result.functions[result.frames[0x100f].function].name, "newest");
    CU_ASSERT_STRING_EQUAL(result.functions[result.frames[0x1010].function].name, "f19999");
    symbolize_result_release(&result);
    symbolize_jit_free(jit);
    sprof_str_release(&map);
    free(addresses);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_jit(void);
void sprof_suite_symbolize_jit(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/jit", NULL, NULL);
    CU_add_test(suite, "the map of a process", test_map_of_a_process);
    CU_add_test(suite, "map older than the process", test_map_older_than_the_process);
    CU_add_test(suite, "overlapping entries", test_overlapping_entries);
}
