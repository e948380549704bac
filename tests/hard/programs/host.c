/* Loads one library, works in it, closes it, and loads another where the first one was. 4 where the
 * dynamic loader put it somewhere else.
 *     host ONE TWO */
#include "hard.h"

#include <dlfcn.h>
#include <stdlib.h>

NOINLINE static void *work_in(const char *library, const char *function)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void (*work)(unsigned long) = handle ? (void (*)(unsigned long))dlsym(handle, function) : NULL;
    if (!work)
        exit(3);
    work(40000000);
    dlclose(handle);
    return (void *)work;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *before = NULL;
    for (int round = 0; round < 20; round++) {
        const char *one = work_in(argv[1], "one_outer");
        const char *two = work_in(argv[2], "two_outer");
        const long distance = two - one;
        if (distance > 4096 || distance < -4096 || (before && before != one))
            return 4;
        before = one;
    }
    return 0;
}
