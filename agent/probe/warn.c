/* Reports slow calls and deep stacks to the tracer. Warnings without room are counted. */
#include "agent/probe/table.h"

enum { MARGIN = 64 }; /* most threads that search at once */

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

/* libc keeps the stack's block, size and guard size behind the thread pointer; musl has two words
 * between. glibc's lie at a page's end and never cross it; a bare clone's data may end with the
 * page. 0: not found. */
static uint64_t find_bottom(const struct thread *thread, uint64_t pointer)
{
    enum {
        FROM = 0x100,
        TO = 0x8e8,
        MUSL_FROM = 0x30,
        MUSL_TO = 0x90,
        PAGE = 4096,
        ABOVE = 64 << 10
    };
    const bool is_musl = probe_is_musl();
    const uint64_t page_end = (pointer | (PAGE - 1)) + 1 - 2 * 8;
    const uint64_t to = is_musl                   ? pointer + MUSL_TO
                        : pointer + TO < page_end ? pointer + TO
                                                  : page_end;
    for (uint64_t at = pointer + (is_musl ? MUSL_FROM : FROM); at < to; at += 8) {
        const uint64_t *words = (const uint64_t *)(uintptr_t)at;
        const uint64_t block = words[0], size = words[1], guard = words[is_musl ? 4 : 2];
        if (!((block | size | guard) % PAGE) && block && block < thread->high && guard < size &&
            size <= UINT64_C(1) << 40 && block + size >= pointer && block + size - pointer < ABOVE)
            return block + guard;
    }
    return 0;
}

SAVES_ALL uint64_t probe_stack_bottom(struct thread *thread)
{
    enum { UNKNOWN = 1 };
    if (!thread->stack_bottom) {
        const bool is_main = thread->high == probe_inside.shared->stacks.high;
        uint64_t bottom = is_main ? thread->low : 0;
        if (!is_main && probe_inside.shared->tid_offset) /* so libc has data there */
            bottom = find_bottom(thread, thread->high);
        thread->stack_bottom = bottom ? bottom : UNKNOWN;
    }
    return thread->stack_bottom == UNKNOWN ? 0 : thread->stack_bottom;
}

/* The next warning comes at half of the rest. */
SAVES_ALL void probe_warn_of_stack(struct thread *thread, uint32_t function, uint64_t slot)
{
    const uint64_t part = atomic_load(&probe_inside.shared->warnings.stack_part);
    if (!part || !is_own(thread, slot))
        return;
    if (!thread->stack_mark) {
        const uint64_t bottom = probe_stack_bottom(thread);
        thread->stack_limit = (thread->high - bottom) / 256 * part;
        thread->stack_mark = bottom ? thread->high - thread->stack_limit : 1;
    }
    if (slot >= thread->stack_mark)
        return;
    probe_warn(&(struct probe_warning){.time = probe_ticks(),
                                       .value = thread->high - slot,
                                       .limit = thread->stack_limit,
                                       .function = function,
                                       .slab = thread->slab,
                                       .kind = PROBE_STACK});
    thread->stack_mark = thread->stack_bottom + (slot - thread->stack_bottom) / 2;
}
