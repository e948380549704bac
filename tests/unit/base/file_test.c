/* pread stands behind a wrapper here (library.cmake), which does what signals and slow file systems
 * would. */
#include "base/base.h"

#include <CUnit/CUnit.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

ssize_t __real_pread(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset);

/* What the next reads do, up to a 0: give at most so many bytes, or fail with -errno. */
static const int calm[] = {0};
static const int *steps = calm;

ssize_t __wrap_pread(int fd, void *buffer, size_t size, off_t offset)
{
    const int step = *steps;
    if (!step)
        return __real_pread(fd, buffer, size, offset);
    steps++;
    if (step < 0) {
        errno = -step;
        return -1;
    }
    return __real_pread(fd, buffer, size < (size_t)step ? size : (size_t)step, offset);
}

/* Expects a read of `size` bytes from `offset` on, of a file that holds "0123456789", to take all
 * of these steps, to give this text and to leave the rest of the buffer alone. */
static void expect_read(const int *in_steps, uint64_t offset, size_t size, const char *text)
{
    char buffer[16];
    const size_t length = strlen(text);
    const int fd = memfd_create("digits", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(write(fd, "0123456789", 10), 10);
    memset(buffer, '-', sizeof buffer);
    steps = in_steps;
    CU_ASSERT_EQUAL(sprof_file_read(fd, offset, buffer, size), length);
    CU_ASSERT_EQUAL(*steps, 0);
    steps = calm;
    CU_ASSERT_EQUAL(memcmp(buffer, text, length), 0);
    for (size_t i = length; i < sizeof buffer; i++)
        CU_ASSERT_EQUAL(buffer[i], '-');
    CU_ASSERT_EQUAL(lseek(fd, 0, SEEK_CUR), 10);
    close(fd);
}

static void test_pieces_of_a_file(void)
{
    expect_read(calm, 0, 10, "0123456789");
    expect_read(calm, 3, 4, "3456");
    expect_read(calm, 3, 0, "");
}

static void test_end_of_the_file(void)
{
    expect_read(calm, 7, 16, "789");
    expect_read(calm, 10, 1, "");
    expect_read(calm, 1000, 16, "");
    expect_read(calm, UINT64_MAX, 1, "");
}

static void test_partial_reads(void)
{
    expect_read((const int[]){1, 2, 3, 0}, 1, 8, "12345678");
    expect_read((const int[]){4, 1, 0}, 3, 16, "3456789");
}

static void test_signals(void)
{
    expect_read((const int[]){-EINTR, 4, -EINTR, -EINTR, 0}, 1, 8, "12345678");
}

static void test_failures(void)
{
    char byte;
    CU_ASSERT_EQUAL(sprof_file_read(-1, 0, &byte, 1), 0);
    expect_read((const int[]){4, -EIO, 0}, 1, 8, "1234");
}

void sprof_suite_base_file(void);
void sprof_suite_base_file(void)
{
    CU_pSuite suite = CU_add_suite("base/file", NULL, NULL);
    CU_add_test(suite, "pieces of a file", test_pieces_of_a_file);
    CU_add_test(suite, "the end of the file", test_end_of_the_file);
    CU_add_test(suite, "partial reads", test_partial_reads);
    CU_add_test(suite, "signals", test_signals);
    CU_add_test(suite, "failures", test_failures);
}
