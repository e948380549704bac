/* The lines of source files that are there, changed, elsewhere, or no text at all. */
#include "report/source_text.h"
#include "tests/unit/report/recorded.h"
#include "tests/unit/skip.h"

#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/sprof-source-XXXXXX";
static char path[100];
static struct image_source_user root_user = {.groups = ""};
static struct image_source_users root_users = {&root_user, 1, 1};
static const struct report_source_places here = {.users = &root_users};

static int make(void)
{
    if (!mkdtemp(directory))
        return 1;
    snprintf(path, sizeof path, "%s/some.c", directory);
    FILE *out = fopen(path, "w");
    fputs("int a;\n\tx\x1b[1m;\n\n\xff end", out);
    return fclose(out);
}

static int clean(void)
{
    unlink(path);
    return rmdir(directory);
}

static void test_lines(void)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    CU_ASSERT_EQUAL_FATAL(report_source_read(&source, &arena, path, &here, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(source.lines.count, 4);
    assert_text(source.lines.items[0], "int a;");
    assert_text(source.lines.items[1], "        x\xef\xbf\xbd[1m;");
    assert_text(source.lines.items[2], "");
    assert_text(source.lines.items[3], "\xef\xbf\xbd end");
    CU_ASSERT_FALSE(source.changed);
    report_source_release(&source);
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, path, &here, 1, NULL), 0);
    CU_ASSERT_TRUE(source.changed);
    report_source_release(&source);
    sprof_arena_release(&arena);
}

/* A file of sysfs is a page long, and less can be read of it: as of one that is cut meanwhile. */
static void test_cut_short(void)
{
    static const char cut[] = "/sys/devices/system/cpu/online";
    struct sprof_arena arena = {0};
    struct report_source source;
    if (access(cut, R_OK)) {
        sprof_test_skip("needs sysfs");
        return;
    }
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, cut, &here, 0, NULL), 0);
    CU_ASSERT_EQUAL(source.lines.count, 1);
    CU_ASSERT_TRUE(source.changed);
    report_source_release(&source);
    sprof_arena_release(&arena);
}

static void test_elsewhere(void)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    const struct report_source_places elsewhere = {.directory = directory, .users = &root_users};
    CU_ASSERT_EQUAL(
        report_source_read(&source, &arena, "/nowhere/at/all/some.c", &elsewhere, 0, NULL), 0);
    CU_ASSERT_EQUAL(source.lines.count, 4);
    report_source_release(&source);
    sprof_arena_release(&arena);
}

static void test_what_is_no_source(void)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, "/nowhere/some.c", &here, 0, &error),
                    SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/nowhere/some.c"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--source"));
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, directory, &here, 0, &error),
                    SPROF_EFORMAT);
    char fifo[120];
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, fifo, &here, 0, &error), SPROF_EFORMAT);
    unlink(fifo);
    sprof_arena_release(&arena);
}

/* Whether a file of `count` times `piece`, and of `end`, is shown, and in how many lines. */
static size_t lines_of(const char *piece, size_t count, const char *end)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    struct sprof_error error = {0};
    char many[120];
    snprintf(many, sizeof many, "%s/many.c", directory);
    FILE *out = fopen(many, "w");
    for (size_t i = 0; i < count; i++)
        fputs(piece, out);
    fputs(end, out);
    CU_ASSERT_EQUAL(fclose(out), 0);
    const int result = report_source_read(&source, &arena, many, &here, 0, &error);
    const size_t lines = result ? 0 : source.lines.count;
    if (result) {
        CU_ASSERT_EQUAL(result, SPROF_ELIMIT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "more than 1000000 lines"));
    }
    CU_ASSERT_TRUE(arena.bytes <= (size_t)100 << 20);
    report_source_release(&source);
    sprof_arena_release(&arena);
    unlink(many);
    return lines;
}

static void test_bounds(void)
{
    CU_ASSERT_EQUAL(lines_of("\n", 1000000, ""), 1000000);
    CU_ASSERT_EQUAL(lines_of("\n", 1000000, "x"), 0);
    CU_ASSERT_EQUAL(lines_of("\t", 131071, "x"), 1);
    CU_ASSERT_EQUAL(lines_of("\t", 131072, "x"), 0);
    CU_ASSERT_EQUAL(lines_of("\t\t\t\t\t\t\t\tx\n", 999999, "x"), 999999 + 1);
    CU_ASSERT_EQUAL(lines_of("\t\t\t\t\t\t\t\t\tx\n", 999999, "x"), 0);
}

/* Whether root is shown a file of `owner` in a directory of the mode and owner, where these users
 * were sampled; and else what is said. */
static bool is_shown(uid_t owner, mode_t directory_mode, mode_t mode,
                     const struct image_source_users *users, const char *said)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    struct sprof_error error = {0};
    const struct report_source_places places = {.users = users};
    CU_ASSERT_EQUAL(chmod(directory, directory_mode) || chmod(path, mode), 0);
    CU_ASSERT_EQUAL(chown(directory, owner, owner) || chown(path, owner, owner), 0);
    const int result = report_source_read(&source, &arena, path, &places, 0, &error);
    CU_ASSERT_TRUE(!result || result == SPROF_EPERMISSION);
    CU_ASSERT_TRUE(!result || (strstr(error.message, said) && strstr(error.message, "--source")));
    report_source_release(&source);
    sprof_arena_release(&arena);
    CU_ASSERT_EQUAL(chown(directory, 0, 0) || chown(path, 0, 0), 0);
    CU_ASSERT_EQUAL(chmod(directory, 0700) || chmod(path, 0644), 0);
    return !result;
}

static void test_what_root_is_shown(void)
{
    struct image_source_user users[] = {{0, 0, ""}, {65534, 65534, "3 4"}, {65533, 65533, "2"}};
    const struct image_source_users of_root = {users, 1, 1}, of_other = {users + 1, 1, 1},
                                    of_both = {users, 2, 2}, of_two = {users + 1, 2, 2};
    if (geteuid())
        return;
    const char *sampled = "sampled or traced", *all = "by all users, and";
    CU_ASSERT_TRUE(is_shown(0, 0700, 0600, &of_root, sampled));
    CU_ASSERT_FALSE(is_shown(0, 0700, 0644, NULL, all));
    CU_ASSERT_FALSE(is_shown(0, 0700, 0644, &of_other, sampled));
    CU_ASSERT_FALSE(is_shown(0, 0700, 0644, &of_both, sampled));
    CU_ASSERT_FALSE(is_shown(0, 0755, 0640, &of_other, sampled));
    CU_ASSERT_TRUE(is_shown(0, 0755, 0644, &of_other, sampled));
    CU_ASSERT_TRUE(is_shown(0, 0755, 0644, NULL, all));
    CU_ASSERT_TRUE(is_shown(65534, 0700, 0600, &of_other, sampled));
    CU_ASSERT_TRUE(is_shown(65534, 0700, 0600, &of_both, sampled));
    CU_ASSERT_FALSE(is_shown(65534, 0700, 0600, &of_two, sampled));
    CU_ASSERT_TRUE(is_shown(4, 0710, 0640, &of_other, sampled));
    CU_ASSERT_FALSE(is_shown(4, 0710, 0640, &of_two, sampled));
    CU_ASSERT_FALSE(is_shown(34, 0710, 0640, &of_other, sampled));
    CU_ASSERT_FALSE(is_shown(4, 0705, 0604, &of_other, sampled));
}

void sprof_suite_report_source_text(void);
void sprof_suite_report_source_text(void)
{
    CU_pSuite suite = CU_add_suite("report/source_text", make, clean);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "cut short", test_cut_short);
    CU_add_test(suite, "elsewhere", test_elsewhere);
    CU_add_test(suite, "what is no source", test_what_is_no_source);
    CU_add_test(suite, "bounds", test_bounds);
    CU_add_test(suite, "what root is shown", test_what_root_is_shown);
}
