/* Tells the tracer of calls that take too long or too much. Who finds no room for that
 * is counted. */
#include "agent/probe/inside.h"

enum { MARGIN = 64 }; /* threads that have looked for room at the same time, at most */

void probe_warn(const struct probe_warning *noted)
{
    struct probe_warnings *warnings = &probe_inside.shared->warnings;
    if (atomic_load(&warnings->head) - atomic_load(&warnings->tail) >= PROBE_WARNINGS - MARGIN) {
        atomic_fetch_add(&warnings->lost, 1);
        return;
    }
    const uint64_t place = atomic_fetch_add(&warnings->head, 1);
    struct probe_warning *warning = &warnings->items[place % PROBE_WARNINGS];
    warning->time = noted->time;
    warning->value = noted->value;
    warning->limit = noted->limit;
    warning->function = noted->function;
    warning->slab = noted->slab;
    warning->kind = noted->kind;
    warning->allocations = noted->allocations;
    warning->frees = noted->frees;
    atomic_store(&warning->place, place + 1);
}
