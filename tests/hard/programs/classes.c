/* Recursion of five depths. Each class ends in a function of its own, so that a sample tells by its
 * innermost function how deep its stack must be. Frames of four sizes. Between two classes it may
 * work elsewhere for a while, so that what lies beyond a sample's slice can still be read.
 *     classes WORK-PER-CLASS ROUNDS WORK-BETWEEN      work in about milliseconds */
#include "hard.h"

#include <stdlib.h>

#define TURNS_PER_MS 700000

static unsigned long turns;

#define LEAF(depth)                                                                                \
    NOINLINE static void leaf_##depth(void)                                                        \
    {                                                                                              \
        BURN(turns);                                                                               \
    }
LEAF(100)
LEAF(300)
LEAF(1000)
LEAF(3000)
LEAF(10000)

static const struct {
    int depth;
    void (*leaf)(void);
} classes[] = {
    {100, leaf_100}, {300, leaf_300}, {1000, leaf_1000}, {3000, leaf_3000}, {10000, leaf_10000}};

NOINLINE static void descend(int depth, void (*leaf)(void));

#define DESCEND(bytes)                                                                             \
    NOINLINE static void descend_##bytes(int depth, void (*leaf)(void))                            \
    {                                                                                              \
        char pad[bytes];                                                                           \
        __asm__ volatile("" ::"r"(pad) : "memory");                                                \
        if (depth > 1)                                                                             \
            descend(depth - 1, leaf);                                                              \
        else                                                                                       \
            leaf();                                                                                \
        NO_TAIL_CALL();                                                                            \
    }
DESCEND(8)
DESCEND(40)
DESCEND(104)

NOINLINE static void descend(int depth, void (*leaf)(void))
{
    void (*const next[3])(int, void (*)(void)) = {descend_8, descend_40, descend_104};
    if (depth > 1)
        next[depth % 3](depth - 1, leaf);
    else
        leaf();
    NO_TAIL_CALL();
}

/* Far below the deepest stack, so as to leave that stack's bytes as they are. */
NOINLINE static void rest(unsigned long work)
{
    volatile char room[4 << 20];
    room[0] = 1;
    BURN(work);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    const unsigned long between = strtoul(argv[3], NULL, 10) * TURNS_PER_MS;
    turns = strtoul(argv[1], NULL, 10) * TURNS_PER_MS;
    for (int round = atoi(argv[2]); round; round--)
        for (unsigned i = 0; i < sizeof classes / sizeof *classes; i++) {
            descend(classes[i].depth, classes[i].leaf);
            if (between)
                rest(between);
        }
    return 0;
}
