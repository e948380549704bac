/* Restores the bytes under jumps to probes, while all threads stand still. */
#include "inject/changes.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096 };

static int compare_changed(const void *a, const void *b)
{
    const struct inject_changed *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

void inject_changes_sort(struct inject_changes *changes)
{
    if (changes->count)
        qsort(changes->items, changes->count, sizeof *changes->items, compare_changed);
}

static bool read_there(int memory_fd, uint64_t address, void *to, size_t size)
{
    return pread(memory_fd, to, size, (off_t)address) == (ssize_t)size;
}

static bool write_there(int memory_fd, uint64_t address, const void *from, size_t size)
{
    return pwrite(memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

/* Other bytes may be another library's. */
static bool restore_one(int memory_fd, const struct inject_changed *changed)
{
    uint8_t there[PLAN_JUMP_BYTES];
    return !read_there(memory_fd, changed->address, there, sizeof there) ||
           memcmp(there, changed->jump, sizeof there) != 0 ||
           write_there(memory_fd, changed->address, changed->original, sizeof there);
}

/* One write for a page; sites across its end come last. */
static bool restore_page(int memory_fd, const struct inject_changed *first, size_t count)
{
    uint8_t page[PAGE];
    const uint64_t at = first->address / PAGE * PAGE;
    bool is_changed = false, is_done = true;
    size_t i = 0;
    if (!read_there(memory_fd, at, page, sizeof page))
        return true;
    for (; i < count && first[i].address + PLAN_JUMP_BYTES <= at + PAGE; i++) {
        uint8_t *there = page + (first[i].address - at);
        if (memcmp(there, first[i].jump, PLAN_JUMP_BYTES) != 0)
            continue;
        memcpy(there, first[i].original, PLAN_JUMP_BYTES);
        is_changed = true;
    }
    if (is_changed)
        is_done = write_there(memory_fd, at, page, sizeof page);
    for (; i < count; i++)
        is_done &= restore_one(memory_fd, &first[i]);
    return is_done;
}

bool inject_changes_restore(const struct inject_changes *changes, int memory_fd)
{
    const struct inject_changed *items = changes->items;
    for (size_t first = 0, end; first < changes->count; first = end) {
        for (end = first;
             end < changes->count && items[end].address / PAGE == items[first].address / PAGE;)
            end++;
        if (!restore_page(memory_fd, items + first, end - first))
            return false;
    }
    return true;
}
