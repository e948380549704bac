/* Functions that fault in their first instructions: faults.cc calls them. */
#include "faulting.h"

long out;
int zero;
double none;
alignas(4096) long barrier[512];

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

double add_to_none(double a, double b)
{
    return b / none + a;
}

void cross(long a)
{
    barrier[3] = a;
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
