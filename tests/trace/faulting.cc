/* Functions that fault in their first instructions: faults.cc calls them. */
#include "faulting.h"

long out;
int zero;
double none;

long cell::member()
{
    return x + 1;
}

int divide(int a, int b)
{
    return a / b;
}

int divide_by_zero(int a)
{
    return a / zero;
}

double divide_by_none(double a)
{
    return a / none;
}

void store(const long *p)
{
    out = *p;
}

int behind_branch(int n, const int *p)
{
    if (n)
        return n;
    return *p;
}

int through_table(shape *s, int n)
{
    return s->sides(n);
}

int own(const int *p)
{
    try {
        return *p;
    } catch (...) {
        return -1;
    }
}
