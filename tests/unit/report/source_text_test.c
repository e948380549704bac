/* The lines of source files that are there, changed, elsewhere, or no text at all. */
#include "report/source_text.h"
#include "tests/unit/report/recorded.h"

#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/sprof-source-XXXXXX";
static char path[100];

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
    CU_ASSERT_EQUAL_FATAL(report_source_read(&source, &arena, path, NULL, NULL, 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(source.lines.count, 4);
    assert_text(source.lines.items[0], "int a;");
    assert_text(source.lines.items[1], "        x\xef\xbf\xbd[1m;");
    assert_text(source.lines.items[2], "");
    assert_text(source.lines.items[3], "\xef\xbf\xbd end");
    CU_ASSERT_FALSE(source.changed);
    report_source_release(&source);
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, path, NULL, NULL, 1, NULL), 0);
    CU_ASSERT_TRUE(source.changed);
    report_source_release(&source);
    sprof_arena_release(&arena);
}

static void test_elsewhere(void)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    CU_ASSERT_EQUAL(
        report_source_read(&source, &arena, "/nowhere/at/all/some.c", NULL, directory, 0, NULL), 0);
    CU_ASSERT_EQUAL(source.lines.count, 4);
    report_source_release(&source);
    sprof_arena_release(&arena);
}

static void test_what_is_no_source(void)
{
    struct sprof_arena arena = {0};
    struct report_source source;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, "/nowhere/some.c", NULL, NULL, 0, &error),
                    SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "/nowhere/some.c"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--source"));
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, directory, NULL, NULL, 0, &error),
                    SPROF_EFORMAT);
    char fifo[120];
    snprintf(fifo, sizeof fifo, "%s/fifo", directory);
    CU_ASSERT_EQUAL(mkfifo(fifo, 0600), 0);
    CU_ASSERT_EQUAL(report_source_read(&source, &arena, fifo, NULL, NULL, 0, &error),
                    SPROF_EFORMAT);
    unlink(fifo);
    sprof_arena_release(&arena);
}

void sprof_suite_report_source_text(void);
void sprof_suite_report_source_text(void)
{
    CU_pSuite suite = CU_add_suite("report/source_text", make, clean);
    CU_add_test(suite, "lines", test_lines);
    CU_add_test(suite, "elsewhere", test_elsewhere);
    CU_add_test(suite, "what is no source", test_what_is_no_source);
}
