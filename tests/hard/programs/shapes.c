/* The ordinary shapes of stacks in one program, for images that are built or loaded in odd ways:
 * recursion, a callback from libc, a signal handler, a thread.
 *     shapes ROUNDS       some two milliseconds each */
#include "hard.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define TURNS 2000000

NOINLINE static void recursion_leaf(void)
{
    BURN(TURNS);
}

NOINLINE static void recurse(int depth)
{
    char pad[40];
    __asm__ volatile("" ::"r"(pad) : "memory");
    if (depth > 1)
        recurse(depth - 1);
    else
        recursion_leaf();
    NO_TAIL_CALL();
}

NOINLINE static void callback_leaf(void)
{
    BURN(TURNS / 20);
}

NOINLINE static int compare(const void *a, const void *b)
{
    callback_leaf();
    return *(const int *)a - *(const int *)b;
}

NOINLINE static void sort(void)
{
    int values[8] = {3, 1, 4, 1, 5, 9, 2, 6};
    qsort(values, 8, sizeof *values, compare);
    NO_TAIL_CALL();
}

NOINLINE static void handler_leaf(void)
{
    BURN(TURNS);
}

NOINLINE static void handler(int number)
{
    (void)number;
    handler_leaf();
    NO_TAIL_CALL();
}

NOINLINE static void signalled(void)
{
    raise(SIGUSR1);
    NO_TAIL_CALL();
}

NOINLINE static void thread_leaf(void)
{
    BURN(TURNS);
}

NOINLINE static void *thread_main(void *argument)
{
    thread_leaf();
    NO_TAIL_CALL();
    return argument;
}

NOINLINE static void with_thread(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, thread_main, NULL) == 0)
        pthread_join(thread, NULL);
    NO_TAIL_CALL();
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    signal(SIGUSR1, handler);
    for (int left = atoi(argv[1]); left; left--) {
        recurse(50);
        sort();
        signalled();
        with_thread();
    }
    return 0;
}
