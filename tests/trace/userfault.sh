#!/bin/bash
# sprof trace -p: a program that provides pages of its memory itself (userfaultfd) is not asked for one by who has stopped the
# thread that would provide it.
#   userfault.sh behind | static
set -u
. "$(dirname "$0")/lib.sh"

# The memory lies right behind the stack of the thread that provides it, which alone can be borrowed: the other one is within
# qsort, and has an address in malloc on its stack.
cat >program.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NI __attribute__((noinline))
enum { PAGE = 4096, STACK = 512 * PAGE, PAGES = 64 };
static int fd;
NI void provide(unsigned long address)
{
    static char page[PAGE] __attribute__((aligned(4096)));
    memset(page, 7, PAGE);
    struct uffdio_copy copy = {.dst = address & -(unsigned long)PAGE, .src = (unsigned long)page, .len = PAGE};
    if (ioctl(fd, UFFDIO_COPY, &copy))
        abort();
}
static void *serve(void *unused)
{
    struct uffd_msg message;
    for (struct pollfd ready = {.fd = fd, .events = POLLIN};;)
        if (poll(&ready, 1, 10) > 0 && read(fd, &message, sizeof message) == sizeof message)
            provide(message.arg.pagefault.address);
    return unused;
}
static int compare(const void *a, const void *b)
{
    void *volatile is_in_malloc = (char *)malloc + 8; /* as it seems */
    while (access("end", F_OK) && is_in_malloc)
        usleep(1000);
    return *(const int *)a - *(const int *)b;
}
int main(void)
{
    struct uffdio_api api = {.api = UFFD_API};
    char *stack = mmap(0, STACK + PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *memory = stack + STACK;
    struct uffdio_register range = {{(unsigned long)memory, PAGES * PAGE}, UFFDIO_REGISTER_MODE_MISSING, 0};
    int numbers[] = {2, 1}, sum = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
        return 77;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    pthread_create(&thread, &attributes, serve, 0);
    fclose(fopen("begun", "w"));
    qsort(numbers, 2, sizeof *numbers, compare);
    for (int i = 0; i < PAGES; i++)
        sum += memory[i * PAGE];
    printf("%d\n", sum);
    return 5;
}
C
case $1 in
behind) gcc -O1 -g -pthread program.c -o program || fail "no C compiler" ;;
static) gcc -O1 -g -pthread -static program.c -o program || fail "no static C library" ;;
*) fail "usage: $0 behind | static" ;;
esac
./program >got 2>&1 </dev/null &
pid=$! && children+=($pid)
wait_until 60 eval "[ -e begun ] || ! kill -0 $pid 2>/dev/null"
if [ ! -e begun ]; then
    wait $pid
    [ $? = 77 ] && skip "no userfaultfd"
    fail "the program has ended"
fi
expect 0 timeout -s KILL 20 "$SPROF" trace -o t.db --duration 300ms -p $pid
: >end
wait $pid
status=$?
[ $status = 5 ] && [ "$(cat got)" = 448 ] || fail "the program ended with $status: $(cat got), not as untraced"
