#include "base/base.h"
#include "base/cut_files.h"

#include <CUnit/CUnit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file of two pages, which is cut to one. */
struct cut {
    FILE *file;
    size_t page;
    char *bytes;
};

static void map(struct cut *cut, int kind)
{
    cut->file = tmpfile();
    cut->page = (size_t)sysconf(_SC_PAGESIZE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(cut->file);
    for (size_t i = 0; i < 2 * cut->page; i++)
        fputc('x', cut->file);
    fflush(cut->file);
    cut->bytes = mmap(NULL, 2 * cut->page, PROT_READ, kind, fileno(cut->file), 0);
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

/* Others write there, too, and would not see what is written to a page of one's own. */
static bool faults_in_shared_mapping(void)
{
    struct cut cut;
    int status = 0;
    map(&cut, MAP_SHARED);
    const pid_t pid = fork();
    if (!pid)
        _exit(((volatile char *)cut.bytes)[cut.page + 7]);
    CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
    unmap(&cut);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
}

static void test_cut_file_reads_as_zeroes(void)
{
    struct sigaction before, own;
    struct cut cut;
    pthread_t thread;
    sigaction(SIGBUS, NULL, &before);
    signal(SIGBUS, SIG_DFL);
    sprof_outlive_cut_files();
    CU_ASSERT_EQUAL(sprof_cut_files(), 0);
    map(&cut, MAP_PRIVATE);
    look(&cut);
    unmap(&cut);
    map(&cut, MAP_PRIVATE);
    CU_ASSERT_EQUAL_FATAL(sprof_thread_create(&thread, look, &cut), 0);
    pthread_join(thread, NULL);
    unmap(&cut);
    CU_ASSERT_EQUAL(sprof_cut_files(), 2);
    CU_ASSERT_TRUE(faults_in_shared_mapping());
    signal(SIGBUS, SIG_IGN);
    sprof_outlive_cut_files();
    sigaction(SIGBUS, NULL, &own);
    CU_ASSERT_TRUE(own.sa_handler == SIG_IGN);
    sigaction(SIGBUS, &before, NULL);
}

void sprof_suite_base_cut_files(void);
void sprof_suite_base_cut_files(void)
{
    CU_pSuite suite = CU_add_suite("base/cut_files", NULL, NULL);
    CU_add_test(suite, "a cut file reads as zeroes", test_cut_file_reads_as_zeroes);
}
