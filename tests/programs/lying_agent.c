/* Calls a function again and again, while another thread of it takes the place of the tracing agent
 * as soon as that is loaded, and answers a wrong descriptor for the shared memory.
 *     lying_agent path FILE    one of FILE that was opened O_PATH, to which it needs no right
 *     lying_agent file FILE    one of FILE, opened for writing
 *     lying_agent huge FILE    memory of huge pages
 *     lying_agent shrink FILE  the right one, whose size another thread changes all the time */
#include "agent/probe.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { JUMP_BYTES = 12, PAGE = 4096 };

static const char *mode, *victim;
static uint8_t original[JUMP_BYTES], jump[JUMP_BYTES] = {0x48, 0xb8, [10] = 0xff, [11] = 0xe0};
static void (*asked_there)(struct probe_asked *);
static _Atomic int shrunk_fd = -1;

__attribute__((noinline)) int work(int n)
{
    for (int i = 0; i < 100; i++)
        __asm__ volatile("" : "+r"(n));
    return 3 * n + 1;
}

static int wrong_descriptor(void)
{
    return !strcmp(mode, "path")   ? open(victim, O_PATH)
           : !strcmp(mode, "file") ? open(victim, O_RDWR)
                                   : memfd_create("huge", MFD_HUGETLB | MFD_ALLOW_SEALING);
}

static void answer(struct probe_asked *asked)
{
    if (asked->request.kind == PROBE_MAKE_MEMORY && strcmp(mode, "shrink") != 0) {
        asked->answer.result = wrong_descriptor();
        return;
    }
    memcpy((void *)(uintptr_t)asked_there, original, JUMP_BYTES);
    asked_there(asked);
    memcpy((void *)(uintptr_t)asked_there, jump, JUMP_BYTES);
    if (asked->request.kind == PROBE_MAKE_MEMORY)
        shrunk_fd = (int)asked->answer.result;
}

static int find_agent(struct dl_phdr_info *info, size_t size, void *name)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libsprof"))
        return 0;
    snprintf(name, PAGE, "%s", info->dlpi_name);
    return 1;
}

static void *take_its_place(void *unused)
{
    static char name[PAGE];
    (void)unused;
    while (!dl_iterate_phdr(find_agent, name))
        ;
    void *agent = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    void *const place = agent ? dlsym(agent, PROBE_ASKED) : NULL;
    const uintptr_t page = (uintptr_t)place & ~(uintptr_t)(PAGE - 1), to = (uintptr_t)answer;
    if (!place || mprotect((void *)page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
        return NULL;
    asked_there = (void (*)(struct probe_asked *))(uintptr_t)place;
    memcpy(original, place, JUMP_BYTES);
    memcpy(jump + 2, &to, sizeof to);
    memcpy(place, jump, JUMP_BYTES);
    return NULL;
}

static void *shrink(void *unused)
{
    (void)unused;
    for (;;)
        if (shrunk_fd >= 0 && ftruncate(shrunk_fd, PAGE))
            continue;
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc < 3)
        return 2;
    mode = argv[1];
    victim = argv[2];
    pthread_create(&thread, NULL, take_its_place, NULL);
    if (!strcmp(mode, "shrink"))
        pthread_create(&thread, NULL, shrink, NULL);
    for (int sum = 0;; usleep(100))
        sum = work(sum);
}
