/* The unit of work of all programs with a known split: turns of one loop. Three turns are one
 * multiplication that waits for the one before it, so that the time depends on neither where the loop
 * lies nor what the branch predictor shares with other programs: loops of a branch alone ran up to
 * 1.5 times slower than their like on some processors. A macro, so that no inlined function stands in
 * its place. */
#ifndef SPROF_TESTS_SPIN_H
#define SPROF_TESTS_SPIN_H

#include <stdint.h>

#define SPIN(turns)                                                                                \
    do {                                                                                           \
        uint64_t left = (turns), chain = 3;                                                        \
        __asm__ volatile(".p2align 6\n"                                                            \
                         "1:\n\t"                                                                  \
                         "imul %1, %1\n\t"                                                         \
                         "sub $3, %0\n\t"                                                          \
                         "ja 1b"                                                                   \
                         : "+r"(left), "+r"(chain)                                                 \
                         :                                                                         \
                         : "cc");                                                                  \
    } while (0)

/* A function of its own, whatever the optimizer thinks. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

/* Keeps a call from becoming a jump: something is left to do after it. */
#define NO_TAIL_CALL() __asm__ volatile("" ::: "memory")

/* xorshift64 (G. Marsaglia, 2003). Units of random length keep a program from falling in step with
 * the sampling. */
static inline uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
