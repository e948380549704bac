#!/usr/bin/env python3
"""Writes a server of 500 functions in which one, eight calls below `handle`, takes nearly all the time: main.c, and
low.c for a library.
    deep.py cpu|wait|lock|argument|flat SEED DIRECTORY

The way leads through a call of the library, a pointer, and a function that qsort calls back. Work is measured by the CPU's
clock, so that it is the same on a busy machine. `flat`: three functions share the time."""
import os
import random
import sys

KIND, SEED, DIRECTORY = sys.argv[1], int(sys.argv[2]), sys.argv[3]
LEVELS, BESIDE = 8, 60
HEADER = """#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#define NI __attribute__((noinline, noclone))
typedef void (*step)(int);
extern pthread_mutex_t mutex;
void at_level_5(int a);
static volatile uint64_t sum;
static inline __attribute__((always_inline)) void work_us(long us)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        for (int i = 0; i < 2000; i++)
            sum += (uint64_t)i * i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}
"""
CULPRIT = {
    "cpu": "work_us(1500);",
    "wait": "usleep(1500);",
    "lock": "pthread_mutex_lock(&mutex); sum++; pthread_mutex_unlock(&mutex);",
    "argument": "if (a % 10 == 7) work_us(15000);",
    "flat": "usleep(700);",
}

random.seed(SEED)


def small(number):
    """A function that does little, and calls some of the next level."""
    level = number // BESIDE
    calls = "".join(f"if (a % {random.randint(2, 9)} == 0) small_{(level + 1) * BESIDE + random.randrange(BESIDE)}(a / 3); "
                    for _ in range(random.randint(0, 2))) if level % 4 != 3 else ""
    return f"static NI void small_{number}(int a) {{ for (int k = 0; k < {random.randint(5, 40)}; k++) sum += (uint64_t)k + (uint64_t)a; {calls}sum++; }}\n"


def on_way(level, below):
    """A function of the way: some small ones, and the next of the way among them."""
    calls = [f"small_{n}(a); " for n in random.sample(range((level - 1) * BESIDE, level * BESIDE), 6)]
    calls.insert(random.randrange(len(calls) + 1), below)
    linkage = "" if level == 5 else "static "
    return f"{linkage}NI void at_level_{level}(int a) {{ {''.join(calls)}sum++; }}\n"


low = [HEADER]
low += [small(n) for n in range(LEVELS * BESIDE - 1, 4 * BESIDE - 1, -1)]
low.append(f"static NI void culprit(int a) {{ (void)a; {CULPRIT[KIND]} sum++; }}\n")
low += [f"static NI void {name}(int a) {{ (void)a; usleep(700); sum++; }}\n" for name in ("accomplice", "lookout")]
low.append(on_way(7, "culprit(a); accomplice(a); lookout(a); " if KIND == "flat" else "culprit(a); "))
low.append("static int compare(const void *x, const void *y) { at_level_7(*(const int *)x); (void)y; return 0; }\n")
low.append(on_way(6, "{ int both[2] = {a, a}; qsort(both, 2, sizeof *both, compare); } "))
low.append(on_way(5, "at_level_6(a); "))
main = [HEADER, "pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;\n"]
main += [small(n) for n in range(4 * BESIDE - 1, -1, -1)]
main.append(on_way(4, "at_level_5(a); "))
main.append(on_way(3, "at_level_4(a); "))
main.append("static step volatile third = at_level_3;\n")
main.append(on_way(2, "third(a); "))
main.append(on_way(1, "at_level_2(a); "))
main.append("""NI void handle(int a) { small_0(a); at_level_1(a); sum++; }
static void *hold(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&mutex);
        usleep(3000);
        pthread_mutex_unlock(&mutex);
        usleep(500);
    }
    return unused;
}
static volatile unsigned long served;
static void *serve(void *unused)
{
    for (int n = 0;; n++) {
        handle(n);
        served++;
        usleep(300);
    }
    return unused;
}
NI void never(void) { small_1(1); }
int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    if (argc > 1)
        never();
""" + ("    pthread_create(&thread, NULL, hold, NULL);\n" if KIND == "lock" else "") + """    pthread_create(&thread, NULL, serve, NULL);
    /* How many calls there were, and the CPU time, for each byte that it is sent. */
    for (char byte; read(0, &byte, 1) == 1;) {
        struct timespec cpu;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
        printf("%lu %ld\\n", served, cpu.tv_sec * 1000000000 + cpu.tv_nsec);
        fflush(stdout);
    }
    pthread_join(thread, NULL);
}
""")
for name, text in ("low", low), ("main", main):
    with open(os.path.join(DIRECTORY, name + ".c"), "w", encoding="ascii") as file:
        file.write("".join(text))
