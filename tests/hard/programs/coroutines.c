/* Coroutines made by makecontext: work on their own stacks, and a hot loop of switching. */
#include "hard.h"

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

static void make(int number, ucontext_t *next)
{
    getcontext(&workers[number]);
    workers[number].uc_stack.ss_sp = stacks[number];
    workers[number].uc_stack.ss_size = sizeof stacks[number];
    workers[number].uc_link = next;
    makecontext(&workers[number], (void (*)(void))worker, 1, number);
}

int main(void)
{
    make(0, &scheduler);
    make(1, NULL); /* with no context to go on with */
    schedule(1000000, 600);
    schedule(0, 500000);
    return 0;
}
