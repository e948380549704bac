/* Tells the tracer of calls that take too long or too much of the stack. Who finds no room for that
 * is counted. */
#include "agent/probe/inside.h"

enum { MARGIN = 64 }; /* threads that have looked for room at the same time, at most */

void probe_warn(uint32_t slab, uint32_t function, enum probe_warning_kind kind, uint64_t time,
                uint64_t value, uint64_t limit)
{
    struct probe_warnings *warnings = &probe_inside.shared->warnings;
    if (atomic_load(&warnings->head) - atomic_load(&warnings->tail) >= PROBE_WARNINGS - MARGIN) {
        atomic_fetch_add(&warnings->lost, 1);
        return;
    }
    const uint64_t place = atomic_fetch_add(&warnings->head, 1);
    struct probe_warning *warning = &warnings->items[place % PROBE_WARNINGS];
    warning->time = time;
    warning->value = value;
    warning->limit = limit;
    warning->function = function;
    warning->slab = slab;
    warning->kind = (uint32_t)kind;
    atomic_store(&warning->place, place + 1);
}
