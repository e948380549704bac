#!/usr/bin/env python3
"""Writes a random C or C++ program that counts its own calls.

generate.py c|c++ SEED

Its functions f0, f1, … call each other directly, through pointers, by recursion and as tail calls;
some leave several frames at once by longjmp or an exception; four threads run them at the same time.
Each counts itself, in a counter of its own for each thread. It prints a checksum of what all of them
computed, and, to the file named in its first argument, "name calls" lines: what a tracer must find."""
import random
import sys

language, seed = sys.argv[1], int(sys.argv[2])
rng = random.Random(seed)
COUNT = rng.randrange(12, 40)
THREADS = 4
is_cxx = language == "c++"

print("#include <pthread.h>\n#include <setjmp.h>\n#include <stdio.h>\n#include <stdlib.h>")
print(f"enum {{ COUNT = {COUNT}, THREADS = {THREADS} }};")
print("""
struct state {
    long calls[COUNT];
    unsigned long sum;
    jmp_buf *jump;
    long budget;
};
#define NI __attribute__((noinline))
#define KEEP __asm__ volatile("" ::: "memory")
""")
for i in range(COUNT):
    print(f"NI unsigned long f{i}(struct state *s, unsigned long a, long depth);")
print("typedef unsigned long (*function)(struct state *, unsigned long, long);")
print("static const function functions[COUNT] = {" + ", ".join(f"f{i}" for i in range(COUNT)) + "};")


def call(depth="depth - 1", caller=-1):
    if rng.random() < 0.25:
        return f"functions[(a + {rng.randrange(99)}) % COUNT](s, a ^ {rng.randrange(1 << 16)}, {depth})"
    # A function that ends by calling itself becomes a loop.
    callee = (caller + rng.randrange(1, COUNT)) % COUNT if caller >= 0 else rng.randrange(COUNT)
    return f"f{callee}(s, a * {rng.randrange(3, 99) | 1}, {depth})"


def body(i):
    print(f"NI unsigned long f{i}(struct state *s, unsigned long a, long depth)\n{{")
    print(f"    s->calls[{i}]++;")
    print(f"    if (depth <= 0 || s->budget-- <= 0)\n        return a + {i};")
    kind = rng.random()
    if kind < 0.18:  # a tail call where the compiler optimises
        print(f"    a += {rng.randrange(1000)};")
        print(f"    return {call(caller=i)};\n}}")
        return
    if kind < 0.30:  # leaves frames
        print(f"    if (s->jump && a % {rng.randrange(3, 9)} == 0)")
        print("        throw (int)(a % 100);" if is_cxx and rng.random() < 0.5 else "        longjmp(*s->jump, 1);")
    if kind > 0.80:  # catches them; the count of those that it let through is its own
        print("    jmp_buf here, *outer = s->jump;")
        print("    volatile unsigned long kept = a;")
        if is_cxx:
            print("    s->jump = &here;\n    try {")
            print(f"        if (!setjmp(here))\n            kept += {call()};\n        else\n            kept += 7;")
            print("    } catch (int thrown) {\n        kept += thrown;\n    }")
        else:
            print("    s->jump = &here;")
            print(f"    if (!setjmp(here))\n        kept += {call()};\n    else\n        kept += 7;")
        print("    s->jump = outer;\n    a = kept;")
    for _ in range(rng.randrange(1, 4)):
        print(f"    a += {call()};")
        if rng.random() < 0.3:
            print(f"    for (int i = 0; i < {rng.randrange(1, 4)}; i++)\n        a ^= {call()} + i;")
    print("    s->sum += a;\n    KEEP;\n    return a;\n}")


for i in range(COUNT):
    body(i)

print("""
static struct state states[THREADS];
NI void *run(void *number)
{
    struct state *s = &states[(long)number];
    for (unsigned long round = 0; round < ROUNDS; round++) {
        s->budget = 400;
        jmp_buf here;
        s->jump = &here;
        TRY
        if (!setjmp(here))
            s->sum += functions[round % COUNT](s, round + (long)number, 14);
        CATCH
    }
    return 0;
}
int main(int count, char **arguments)
{
    pthread_t threads[THREADS];
    unsigned long sum = 0;
    for (long i = 1; i < THREADS; i++)
        pthread_create(&threads[i], 0, run, (void *)i);
    run(0);
    for (long i = 1; i < THREADS; i++)
        pthread_join(threads[i], 0);
    FILE *out = count > 1 ? fopen(arguments[1], "w") : 0;
    for (int f = 0; f < COUNT; f++) {
        long calls = 0;
        for (int i = 0; i < THREADS; i++)
            calls += states[i].calls[f];
        if (out && calls)
            fprintf(out, "f%d %ld\\n", f, calls);
    }
    for (int i = 0; i < THREADS; i++)
        sum ^= states[i].sum * (i + 1);
    printf("%lu\\n", sum);
    return (int)(sum % 7);
}""".replace("ROUNDS", "150")
      .replace("TRY", "try {" if is_cxx else "")
      .replace("CATCH", "} catch (int thrown) { s->sum += thrown; }" if is_cxx else ""))
