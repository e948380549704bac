/* Coroutines made by makecontext: work on their own stacks, and a hot loop of switching.
 *     coroutines         works
 *     coroutines root    prints `offset path` of where a coroutine's first function returns to */
#include "hard.h"

#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static ucontext_t scheduler, workers[2];
static char stacks[2][1 << 16];
static unsigned long turns;

NOINLINE static void worker_leaf(void)
{
    BURN(turns);
}

NOINLINE static void yield(int number)
{
    swapcontext(&workers[number], &scheduler);
    NO_TAIL_CALL();
}

NOINLINE static void step(int number)
{
    worker_leaf();
    yield(number);
    NO_TAIL_CALL();
}

static void worker(int number)
{
    for (;;)
        step(number);
}

NOINLINE static void schedule(unsigned long work, int times)
{
    turns = work;
    for (int i = 0; i < times; i++)
        swapcontext(&scheduler, &workers[i & 1]);
}

static void make(int number, ucontext_t *next, void (*first)(int))
{
    getcontext(&workers[number]);
    workers[number].uc_stack.ss_sp = stacks[number];
    workers[number].uc_stack.ss_size = sizeof stacks[number];
    workers[number].uc_link = next;
    makecontext(&workers[number], (void (*)(void))first, 1, number);
}

static void print_place(unsigned long address)
{
    unsigned long start, end, offset;
    char line[512], path[256];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %*s %lx %*s %*s %255s", &start, &end, &offset, path) == 4 &&
            address >= start && address < end)
            printf("%lu %s\n", address - start + offset, path);
    exit(0);
}

static void bottom(int number)
{
    (void)number;
    print_place((unsigned long)__builtin_return_address(0));
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        make(0, &scheduler, bottom);
        swapcontext(&scheduler, &workers[0]);
    }
    make(0, &scheduler, worker);
    make(1, NULL, worker); /* with no context to go on with */
    schedule(1000000, 1200);
    schedule(0, 1000000);
    return 0;
}
