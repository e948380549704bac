/* Memory of the stack: the captured slice and tail, and the live target's beyond them, read in
 * large pieces. */
#include "unwind/walk.h"

enum { PAGE_BYTES = 4096 };

int unwind_walk_read_live(struct walk *walk, uint64_t address, void *buffer, size_t size)
{
    const struct unwind_memory *memory = walk->memory;
    if (!memory->read || walk->live_reads == UNWIND_LIVE_READS_MAX ||
        walk->live_bytes > UNWIND_LIVE_BYTES_MAX)
        return SPROF_ENOTFOUND;
    walk->live_reads++;
    walk->live_bytes += size;
    walk->walker->counters.live_reads++;
    const int code = memory->read(memory->context, address, buffer, size);
    if (!code)
        walk->walker->counters.live_bytes += size;
    return code;
}

/* Reads a window at `address`. Near the stack's top a large read fails as a whole: then halves, at
 * last only the rest of the page. */
static bool window_move(struct walk *walk, uint64_t address)
{
    struct unwind_window *window = &walk->walker->window;
    size_t size = window->next_size;
    const size_t page_left = PAGE_BYTES - (size_t)(address % PAGE_BYTES);
    window->size = 0;
    while (unwind_walk_read_live(walk, address, window->bytes, size)) {
        if (size == page_left || !walk->memory->read)
            return false;
        size = size / 2 > page_left ? size / 2 : page_left;
    }
    window->address = address;
    window->size = size;
    window->next_size = size * 2 < UNWIND_WINDOW_MAX ? size * 2 : UNWIND_WINDOW_MAX;
    if (window->next_size < UNWIND_WINDOW_FIRST)
        window->next_size = UNWIND_WINDOW_FIRST;
    return true;
}

static bool window_word(const struct unwind_window *window, uint64_t address, uint64_t *value)
{
    const uint64_t offset = address - window->address;
    if (window->size < sizeof *value || offset > window->size - sizeof *value)
        return false;
    memcpy(value, window->bytes + offset, sizeof *value);
    return true;
}

enum walk_read unwind_walk_read_word(struct walk *walk, uint64_t address, uint64_t *value)
{
    const struct unwind_memory *memory = walk->memory;
    const uint64_t offset = address - memory->slice_address;
    if (walk->slice_end && memory->slice_size >= sizeof *value &&
        offset <= memory->slice_size - sizeof *value) {
        memcpy(value, memory->slice + offset, sizeof *value);
        return WALK_READ_OK;
    }
    if (address >= UNWIND_USER_END - sizeof *value || address < PAGE_BYTES)
        return WALK_READ_BAD;
    if (walk->tail_end && memory->tail_size >= sizeof *value &&
        address - memory->tail_address <= memory->tail_size - sizeof *value) {
        memcpy(value, memory->tail + (address - memory->tail_address), sizeof *value);
        walk->from = walk->from > WALK_FROM_TAIL ? walk->from : WALK_FROM_TAIL;
        return WALK_READ_OK;
    }
    walk->from = WALK_FROM_LIVE;
    struct unwind_window *window = &walk->walker->window;
    if (window_word(window, address, value))
        return WALK_READ_OK;
    if (!window_move(walk, address) || !window_word(window, address, value))
        return WALK_READ_TRUNCATED;
    return WALK_READ_OK;
}
