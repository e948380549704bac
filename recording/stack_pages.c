/* Keeps copies of stacks, page by page, and shares the pages that did not change. */
#include "recording/stack_pages.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 4096 };

struct stack_page {
    uint32_t uses, size;
    uint8_t bytes[];
};

/* How many bytes from `address` on are of its page, of `size` that follow. */
static size_t in_page(uint64_t address, size_t size)
{
    const size_t left = PAGE_BYTES - address % PAGE_BYTES;
    return left < size ? left : size;
}

/* The page that begins at `address` in an earlier copy, or NULL. */
static struct stack_page *page_at(const struct stack_copy *copy, uint64_t address)
{
    if (!copy || address < copy->address || address >= copy->address + copy->size)
        return NULL;
    if (address != copy->address && address % PAGE_BYTES)
        return NULL;
    return copy->pages[address / PAGE_BYTES - copy->address / PAGE_BYTES];
}

static struct stack_page *take_page(const struct stack_copy *before, uint64_t address,
                                    const uint8_t *bytes, size_t size, size_t *held)
{
    struct stack_page *page = page_at(before, address);
    if (page && page->size == size && !memcmp(page->bytes, bytes, size)) {
        page->uses++;
        return page;
    }
    page = malloc(sizeof *page + size);
    if (!page)
        return NULL;
    *page = (struct stack_page){.uses = 1, .size = (uint32_t)size};
    memcpy(page->bytes, bytes, size);
    *held += sizeof *page + size;
    return page;
}

struct stack_copy *recording_stack_copy_new(const struct stack_copy *before, uint64_t address,
                                            const uint8_t *bytes, size_t size, size_t *held)
{
    const size_t most = size / PAGE_BYTES + 2;
    struct stack_copy *copy = malloc(sizeof *copy + most * sizeof *copy->pages);
    if (!copy)
        return NULL;
    *copy = (struct stack_copy){.address = address, .size = size};
    *held += sizeof *copy;
    for (size_t at = 0; at < size;) {
        const size_t part = in_page(address + at, size - at);
        struct stack_page *page = take_page(before, address + at, bytes + at, part, held);
        if (!page) {
            recording_stack_copy_free(copy, held);
            return NULL;
        }
        copy->pages[copy->count++] = page;
        at += part;
    }
    return copy;
}

void recording_stack_copy_free(struct stack_copy *copy, size_t *held)
{
    if (!copy)
        return;
    for (size_t i = 0; i < copy->count; i++) {
        struct stack_page *page = copy->pages[i];
        if (--page->uses)
            continue;
        *held -= sizeof *page + page->size;
        free(page);
    }
    *held -= sizeof *copy;
    free(copy);
}

void recording_stack_copy_read(const struct stack_copy *copy, uint8_t *to)
{
    for (size_t i = 0; i < copy->count; i++) {
        memcpy(to, copy->pages[i]->bytes, copy->pages[i]->size);
        to += copy->pages[i]->size;
    }
}
