#include "symbolize/module.h"
#include "tests/unit/symbolize/naming.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* As libraries open them. */
static void test_what_libraries_open(void)
{
    int (*const own)(const char *, int, ...) = symbolize_module_library_open;
    CU_ASSERT_PTR_EQUAL(dlsym(RTLD_DEFAULT, "open"), *(void *const *)&own);
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, "mkfifo pipe; echo text >file; ln -s pipe link");
    static const char *const refused[] = {"pipe", "link", "."};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        errno = 0;
        CU_ASSERT_EQUAL(open(fixture_path(&fixture, refused[i]), O_RDONLY), -1);
        CU_ASSERT_EQUAL(errno, EINVAL);
    }
    CU_ASSERT_EQUAL(open(fixture_path(&fixture, "missing"), O_RDONLY), -1);
    CU_ASSERT_EQUAL(errno, ENOENT);
    CU_ASSERT_EQUAL(open("/dev/tty", O_RDONLY), -1);
    static const char *const opened[] = {"/dev/null", "/dev/urandom"};
    for (size_t i = 0; i < sizeof opened / sizeof *opened; i++) {
        const int fd = open(opened[i], O_RDONLY);
        CU_ASSERT(fd >= 0);
        close(fd);
    }
    char text[8] = "";
    const int fd = open(fixture_path(&fixture, "file"), O_RDONLY);
    CU_ASSERT_EQUAL(read(fd, text, sizeof text), 5);
    close(fd);
    const int made = open(fixture_path(&fixture, "made"), O_WRONLY | O_CREAT | O_EXCL, 0640);
    struct stat status = {0};
    CU_ASSERT_EQUAL(fstat(made, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 07777, 0640);
    close(made);
    const int directory = open(fixture_path(&fixture, "."), O_RDONLY | O_DIRECTORY);
    CU_ASSERT(directory >= 0);
    close(directory);
    fixture_close(&fixture);
}

static void test_downloads_that_end(void)
{
    CU_ASSERT_FALSE(symbolize_module_download_ends(29, 0));
    CU_ASSERT_TRUE(symbolize_module_download_ends(31, 0)); /* redirected for ever */
    CU_ASSERT_FALSE(symbolize_module_download_ends(599, 1));
    CU_ASSERT_TRUE(symbolize_module_download_ends(601, 1 << 30));
    CU_ASSERT_FALSE(symbolize_module_download_ends(10, 8L << 30));
    CU_ASSERT_TRUE(symbolize_module_download_ends(10, 17L << 30));
}

/* A few kilobytes that claim to unpack to more than any memory: the names stay, the lines go. */
static void test_boastful_compression(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "a.c", "int main(void) { return 0; }\n");
    fixture_run(&fixture,
                "cc -g a.c -o a; objcopy --compress-debug-sections=zlib-gabi a;"
                "offset=$(readelf -SW a | sed -n 's/.*\\.debug_[a-z]* *PROGBITS *[0-9a-f]* "
                "\\([0-9a-f]*\\) [0-9a-f]* [0-9a-f]* *M\\?S\\?C.*/\\1/p' | head -1);"
                "test -n \"$offset\";"
                "printf '\\377\\377\\377\\377\\377\\377' | dd of=a bs=1 conv=notrunc status=none "
                "seek=$((0x$offset + 8))");
    const uint64_t address = naming_nm(&fixture, "a", "main");
    struct naming naming = {.image = naming_image(fixture_path(&fixture, "a"))};
    CU_ASSERT_EQUAL(sprof_vec_push(&naming.addresses, address), 0);
    naming_run(&naming, NULL, NULL);
    CU_ASSERT_STRING_EQUAL(naming_function(&naming, address)->name, "main");
    CU_ASSERT_EQUAL(naming_function(&naming, address)->line, 0);
    naming_close(&naming);
    fixture_close(&fixture);
}

void sprof_suite_symbolize_module(void);
void sprof_suite_symbolize_module(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/module", NULL, NULL);
    CU_add_test(suite, "what libraries open", test_what_libraries_open);
    CU_add_test(suite, "downloads that end", test_downloads_that_end);
    CU_add_test(suite, "boastful compression", test_boastful_compression);
}
