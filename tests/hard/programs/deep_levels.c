/* Recursions through several functions, with frames of several sizes. */
static volatile unsigned sink;

static void work(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        sink += i * i;
}

#define LEVEL(name, next, size)                                                                    \
    void next(unsigned depth, unsigned n);                                                         \
    __attribute__((noinline)) void name(unsigned depth, unsigned n)                                \
    {                                                                                              \
        volatile char frame[size];                                                                 \
        frame[0] = frame[size - 1] = (char)depth;                                                  \
        if (depth)                                                                                 \
            next(depth - 1, n);                                                                    \
        else                                                                                       \
            work(n);                                                                               \
        sink += (unsigned)frame[0];                                                                \
    }
LEVEL(resolve, check, 1100)
LEVEL(check, expand, 300)
LEVEL(expand, lower, 2300)
LEVEL(lower, resolve, 700)

/* From its first millisecond the thread is 250 frames deep; it goes up and down around that. */
__attribute__((noinline)) void descend(unsigned depth, double seconds, double (*now)(void))
{
    volatile char frame[900];
    frame[0] = (char)depth;
    if (depth) {
        descend(depth - 1, seconds, now);
    } else {
        const double end = now() + seconds;
        for (unsigned i = 0; now() < end; i++)
            resolve(20 + i % 40, 3000);
    }
    sink += (unsigned)frame[0];
}
