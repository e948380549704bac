#include "symbolize/text.h"
#include "tests/unit/image/fixture.h"

#include <fcntl.h>
#include <unistd.h>

struct seen {
    uint64_t lines, bytes;
    char last[32];
    uint64_t most; /* lines until memory runs out */
};

static int see(void *context, const char *line, const char *end)
{
    struct seen *seen = context;
    if (seen->lines == seen->most)
        return SPROF_ENOMEM;
    seen->lines++;
    seen->bytes += (uint64_t)(end - line);
    snprintf(seen->last, sizeof seen->last, "%.*s", (int)(end - line), line);
    return 0;
}

/* Reads a file of these bytes; `seen` begins with its limit set. */
static int read_text(const void *text, size_t size, uint64_t most_bytes, struct seen *seen,
                     uint64_t *too_long)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_write(&fixture, "text", text, size);
    const char *path = fixture_path(&fixture, "text");
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct text_lines lines = {fd, path, most_bytes, see, seen, 0, 0, false};
    const int code = symbolize_text_lines_read(&lines, NULL);
    close(fd);
    fixture_close(&fixture);
    *too_long = lines.too_long;
    return code;
}

static void test_last_line_may_lack_its_newline(void)
{
    struct seen seen = {.most = UINT64_MAX};
    uint64_t too_long;
    CU_ASSERT_EQUAL(read_text("one\n\nthree", 10, UINT64_MAX, &seen, &too_long), 0);
    CU_ASSERT_EQUAL(seen.lines, 3);
    CU_ASSERT_STRING_EQUAL(seen.last, "three");
    seen = (struct seen){.most = UINT64_MAX};
    CU_ASSERT_EQUAL(read_text("one\ntwo\n", 8, UINT64_MAX, &seen, &too_long), 0);
    CU_ASSERT_EQUAL(seen.lines, 2);
    CU_ASSERT_STRING_EQUAL(seen.last, "two");
    CU_ASSERT_EQUAL(too_long, 0);
}

/* Lines of 7 bytes: pieces end in the middle of one. */
static void test_many_pieces(void)
{
    enum { LINES = 150000 };
    const size_t size = LINES * 7 + 1;
    char *text = malloc(size);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    for (size_t i = 0; i < LINES; i++)
        snprintf(text + i * 7, size - i * 7, "%06zu\n", i);
    struct seen seen = {.most = UINT64_MAX};
    uint64_t too_long;
    CU_ASSERT_EQUAL(read_text(text, LINES * 7, UINT64_MAX, &seen, &too_long), 0);
    CU_ASSERT_EQUAL(seen.lines, LINES);
    CU_ASSERT_EQUAL(seen.bytes, LINES * 6);
    CU_ASSERT_STRING_EQUAL(seen.last, "149999");
    seen = (struct seen){.most = UINT64_MAX};
    CU_ASSERT_EQUAL(read_text(text, LINES * 7, 1, &seen, &too_long), 0);
    CU_ASSERT_EQUAL(seen.lines, TEXT_LINE_BYTES / 7 + 1);
    seen = (struct seen){.most = 40000};
    CU_ASSERT_EQUAL(read_text(text, LINES * 7, UINT64_MAX, &seen, &too_long), SPROF_ENOMEM);
    CU_ASSERT_EQUAL(seen.lines, 40000);
    free(text);
}

static void test_lines_that_are_too_long(void)
{
    enum { SIZE = 3 * TEXT_LINE_BYTES };
    char *text = malloc(SIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    memset(text, 'x', SIZE);
    memcpy(text, "before\n", 7);
    memcpy(text + SIZE - 7, "\nafter\n", 7);
    struct seen seen = {.most = UINT64_MAX};
    uint64_t too_long;
    CU_ASSERT_EQUAL(read_text(text, SIZE, UINT64_MAX, &seen, &too_long), 0);
    CU_ASSERT_EQUAL(seen.lines, 2);
    CU_ASSERT_EQUAL(too_long, 1);
    CU_ASSERT_STRING_EQUAL(seen.last, "after");
    seen = (struct seen){.most = UINT64_MAX};
    CU_ASSERT_EQUAL(read_text(text, SIZE - 7, UINT64_MAX, &seen, &too_long), 0); /* no end */
    CU_ASSERT_EQUAL(seen.lines, 1);
    CU_ASSERT_EQUAL(too_long, 1);
    free(text);
}

/* A terabyte of holes is not read. */
static void test_holes(void)
{
    struct fixture fixture;
    struct seen seen = {.most = UINT64_MAX};
    fixture_open(&fixture);
    fixture_write(&fixture, "text", "one\ncut", 7);
    const char *path = fixture_path(&fixture, "text");
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    const off_t end = (off_t)1 << 40;
    struct text_lines lines = {fd, path, UINT64_MAX, see, &seen, 0, 0, false};
    CU_ASSERT_EQUAL_FATAL(pwrite(fd, "cut\nlast", 8, end - 4096), 8);
    CU_ASSERT_EQUAL_FATAL(pwrite(fd, "\nlast\n", 6, end), 6);
    CU_ASSERT_EQUAL(symbolize_text_lines_read(&lines, NULL), 0);
    CU_ASSERT_TRUE(seen.lines >= 2 && seen.lines < 5);
    CU_ASSERT_STRING_EQUAL(seen.last, "last");
    lines.most_bytes = (uint64_t)1 << 30;
    CU_ASSERT_EQUAL(symbolize_text_lines_read(&lines, NULL), 0);
    CU_ASSERT_TRUE(lines.is_cut);
    close(fd);
    fixture_close(&fixture);
}

static void test_a_file_that_cannot_be_read(void)
{
    struct seen seen = {.most = UINT64_MAX};
    struct sprof_error error = {0};
    struct text_lines lines = {-1, "the list", UINT64_MAX, see, &seen, 0, 0, false};
    CU_ASSERT_EQUAL(symbolize_text_lines_read(&lines, &error), SPROF_EIO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "cannot read the list"));
}

static void test_hexadecimal_numbers(void)
{
    static const struct {
        const char *text;
        int length; /* of the number; 0: it is none */
        uint64_t number;
    } cases[] = {
        {"0", 1, 0},
        {"7f00aB cd", 6, 0x7f00ab},
        {"ffffffffffffffff", 16, UINT64_MAX},
        {"10000000000000000", 0, 0},
        {"1g", 1, 1},
        {"g", 0, 0},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        uint64_t number;
        const char *next = symbolize_text_hex(text, text + strlen(text), &number);
        CU_ASSERT_PTR_EQUAL(next, cases[i].length ? text + cases[i].length : NULL);
        if (next)
            CU_ASSERT_EQUAL(number, cases[i].number);
    }
}

void sprof_suite_symbolize_text(void);
void sprof_suite_symbolize_text(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/text", NULL, NULL);
    CU_add_test(suite, "the last line may lack its newline", test_last_line_may_lack_its_newline);
    CU_add_test(suite, "many pieces", test_many_pieces);
    CU_add_test(suite, "lines that are too long", test_lines_that_are_too_long);
    CU_add_test(suite, "holes", test_holes);
    CU_add_test(suite, "a file that cannot be read", test_a_file_that_cannot_be_read);
    CU_add_test(suite, "hexadecimal numbers", test_hexadecimal_numbers);
}
