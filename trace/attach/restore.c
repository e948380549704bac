/* Restores the bytes that jumps to probes took the place of, while all threads stand still. */
#include "trace/attach/leaving.h"

#include <stdlib.h>
#include <string.h>

static int compare_changed(const void *a, const void *b)
{
    const struct trace_changed *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

void trace_leaving_sort(struct trace_leaving *leaving)
{
    if (leaving->changed.count)
        qsort(leaving->changed.items, leaving->changed.count, sizeof *leaving->changed.items,
              compare_changed);
}

/* Other bytes than the jump, as of another library, are left alone. */
static bool restore_one(const struct trace_leaving *leaving, const struct trace_changed *changed)
{
    uint8_t there[PLAN_JUMP_BYTES];
    return !trace_leaving_read(leaving, changed->address, there, sizeof there) ||
           memcmp(there, changed->jump, sizeof there) != 0 ||
           trace_leaving_write(leaving, changed->address, changed->original, sizeof there);
}

/* Sites in one page at once, because all threads wait. Those that go on in the next page are the
 * last. */
static bool restore_page(const struct trace_leaving *leaving, const struct trace_changed *first,
                         size_t count)
{
    uint8_t page[TRACE_PAGE];
    const uint64_t at = first->address / TRACE_PAGE * TRACE_PAGE;
    bool is_changed = false, is_done = true;
    size_t i = 0;
    if (!trace_leaving_read(leaving, at, page, sizeof page))
        return true;
    for (; i < count && first[i].address + PLAN_JUMP_BYTES <= at + TRACE_PAGE; i++) {
        uint8_t *there = page + (first[i].address - at);
        if (memcmp(there, first[i].jump, PLAN_JUMP_BYTES) != 0)
            continue;
        memcpy(there, first[i].original, PLAN_JUMP_BYTES);
        is_changed = true;
    }
    if (is_changed)
        is_done = trace_leaving_write(leaving, at, page, sizeof page);
    for (; i < count; i++)
        is_done &= restore_one(leaving, &first[i]);
    return is_done;
}

bool trace_leaving_restore(const struct trace_leaving *leaving)
{
    const struct trace_changed *items = leaving->changed.items;
    for (size_t first = 0, end; first < leaving->changed.count; first = end) {
        for (end = first; end < leaving->changed.count &&
                          items[end].address / TRACE_PAGE == items[first].address / TRACE_PAGE;)
            end++;
        if (!restore_page(leaving, items + first, end - first))
            return false;
    }
    return true;
}
