/* Linked statically with musl, of which hardly a function has call frame information. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    char text[64];
    snprintf(text, sizeof text, "%g", sin(*(const int *)left));
    return *(const int *)left - *(const int *)right + (text[0] == 'x');
}

int main(void)
{
    for (;;) {
        int numbers[100];
        for (int i = 0; i < 100; i++)
            numbers[i] = rand();
        qsort(numbers, 100, sizeof numbers[0], compare);
    }
}
