/* What the programs of the hard cases share. They are compiled at test time, each in several ways.
 */
#ifndef SPROF_TESTS_HARD_H
#define SPROF_TESTS_HARD_H

#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, noipa))
#endif

/* Keeps a call from becoming a jump: something is left to do after it. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* Work without a call, about a nanosecond a turn. */
#define BURN(turns)                                                                                \
    do {                                                                                           \
        for (volatile unsigned long left_ = (turns); left_; left_--)                               \
            ;                                                                                      \
    } while (0)

#endif
