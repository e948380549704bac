/* Puts empty pages in the place of those that a file has no more. */
#include "base/cut_files.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_uint cut_files;

/* A line of /proc/PID/maps, as far as it was read: "BEGIN-END rwxp …". */
struct line {
    uintptr_t bounds[2];
    enum { BEGIN, END, PERMISSIONS = END + 4, REST } at;
};

/* Takes the next byte. True: the line's permissions have been read, and this is the last one. */
static bool take(struct line *line, char c)
{
    if (c == '\n') {
        *line = (struct line){0};
    } else if (line->at <= END) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0)
            line->at++;
        else
            line->bounds[line->at] = line->bounds[line->at] << 4 | (uintptr_t)digit;
    } else if (line->at < REST) {
        return line->at++ == PERMISSIONS;
    }
    return false;
}

/* Whether an address is in a private mapping. It is read in a signal's handler, so without stdio.
 */
static bool is_private(uintptr_t address)
{
    char bytes[1024];
    struct line line = {0};
    bool found = false, is = false;
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t got; fd >= 0 && !found && (got = read(fd, bytes, sizeof bytes)) > 0;)
        for (ssize_t i = 0; i < got && !found; i++) {
            found = take(&line, bytes[i]) && address >= line.bounds[0] && address < line.bounds[1];
            is = bytes[i] == 'p';
        }
    if (fd >= 0)
        close(fd);
    return fd < 0 || (found && is); /* without a free descriptor it is not known */
}

/* Where that is not what happened, the fault comes again and ends the process. */
static void fill_page(int number, siginfo_t *info, void *context)
{
    const int before = errno;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    void *start = (void *)((uintptr_t)info->si_addr & ~(page - 1));
    (void)context;
    if (info->si_code != BUS_ADRERR || !is_private((uintptr_t)info->si_addr) ||
        mmap(start, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
        signal(number, SIG_DFL);
    else
        atomic_fetch_add(&cut_files, 1);
    errno = before;
}

void sprof_outlive_cut_files(void)
{
    struct sigaction action;
    if (sigaction(SIGBUS, NULL, &action) || action.sa_handler != SIG_DFL)
        return;
    action = (struct sigaction){.sa_sigaction = fill_page, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &action, NULL);
}

unsigned sprof_cut_files(void)
{
    return atomic_load(&cut_files);
}
