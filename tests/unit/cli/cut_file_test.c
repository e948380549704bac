#include "base/base.h"
#include "cli/cut_file.h"

#include <CUnit/CUnit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A file of two pages, which is cut to one. */
struct cut {
    FILE *file;
    size_t page;
    char *bytes;
};

static void map(struct cut *cut)
{
    cut->file = tmpfile();
    cut->page = (size_t)sysconf(_SC_PAGESIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cut->file);
    for (size_t i = 0; i < 2 * cut->page; i++)
        fputc('x', cut->file);
    fflush(cut->file);
    cut->bytes = mmap(NULL, 2 * cut->page, PROT_READ, MAP_PRIVATE, fileno(cut->file), 0);
    CU_ASSERT_PTR_NOT_EQUAL_FATAL(cut->bytes, MAP_FAILED);
    CU_ASSERT_EQUAL_FATAL(ftruncate(fileno(cut->file), (off_t)cut->page), 0);
}

static void *look(void *context)
{
    const struct cut *cut = context;
    CU_ASSERT_EQUAL(cut->bytes[cut->page + 7], 0);
    CU_ASSERT_EQUAL(cut->bytes[cut->page - 1], 'x');
    return NULL;
}

static void unmap(struct cut *cut)
{
    munmap(cut->bytes, 2 * cut->page);
    fclose(cut->file);
}

static void test_cut_file_reads_as_zeroes(void)
{
    struct sigaction before, own;
    struct cut cut;
    pthread_t thread;
    sigaction(SIGBUS, NULL, &before);
    signal(SIGBUS, SIG_DFL);
    cli_outlive_cut_files();
    map(&cut);
    look(&cut);
    unmap(&cut);
    map(&cut);
    CU_ASSERT_EQUAL_FATAL(sprof_thread_create(&thread, look, &cut), 0);
    pthread_join(thread, NULL);
    unmap(&cut);
    signal(SIGBUS, SIG_IGN);
    cli_outlive_cut_files();
    sigaction(SIGBUS, NULL, &own);
    CU_ASSERT_TRUE(own.sa_handler == SIG_IGN);
    sigaction(SIGBUS, &before, NULL);
}

void sprof_suite_cli_cut_file(void);
void sprof_suite_cli_cut_file(void)
{
    CU_pSuite suite = CU_add_suite("cli/cut_file", NULL, NULL);
    CU_add_test(suite, "a cut file reads as zeroes", test_cut_file_reads_as_zeroes);
}
