/* Puts empty pages in the place of those that a file has no more. */
#include "cli/cut_file.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Where that is not what happened, the fault comes again and ends the process. */
static void fill_page(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)info->si_addr & ~(page - 1));
    (void)context;
    if (info->si_code != BUS_ADRERR ||
        mmap(start, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
        signal(number, SIG_DFL);
    errno = before;
}

void cli_outlive_cut_files(void)
{
    struct sigaction action;
    if (sigaction(SIGBUS, NULL, &action) || action.sa_handler != SIG_DFL)
        return;
    action = (struct sigaction){.sa_sigaction = fill_page, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}
