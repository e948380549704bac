/* Chooses functions that lose their uprobes. */
#include "uprobe/bound.h"

#include <stdlib.h>

static int by_cost(const void *left, const void *right)
{
    const struct uprobe_load *a = left, *b = right;
    return a->ns > b->ns ? -1 : a->ns < b->ns;
}

double uprobe_bound(struct uprobe_load *loads, size_t count, double limit_ns)
{
    double all_ns = 0;
    for (size_t i = 0; i < count; i++)
        all_ns += loads[i].ns;
    if (count)
        qsort(loads, count, sizeof *loads, by_cost);
    double rest_ns = all_ns;
    for (size_t i = 0; i < count && all_ns > limit_ns && rest_ns > 0.8 * limit_ns; i++) {
        loads[i].goes = true;
        rest_ns -= loads[i].ns;
    }
    return all_ns;
}
