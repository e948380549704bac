/* What the debug information is about that the fuzz targets change: inlined calls in inlined calls,
 * in ranges of several pieces, and functions with and without names of their own. */
#include <stdlib.h>

struct item {
    int value;
    struct item *next;
};

static inline int add(const struct item *item, int by)
{
    return item->value * 3 + by;
}

static inline int sum(const struct item *item, int by)
{
    int result = 0;
    for (; item; item = item->next)
        result += item->value > by ? add(item, by) : abs(item->value);
    return result;
}

__attribute__((noinline)) static int fold(const struct item *item, int times)
{
    int result = 0;
    if (__builtin_expect(times > 1000, 0))
        abort();
    for (int i = 0; i < times; i++)
        result ^= sum(item, i) + (i & 1 ? add(item, result) : 0);
    return result;
}

int main(int argc, char **argv)
{
    struct item items[16];
    for (int i = 0; i < 16; i++)
        items[i] = (struct item){i * argc, i < 15 ? &items[i + 1] : NULL};
    return (fold(items, argc) + sum(items, argc) + argv[0][0]) & 1;
}
