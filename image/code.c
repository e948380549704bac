/* Where the code of a file lies. */
#include "image/elf_file.h"

#include <stdlib.h>

struct stretches {
    SPROF_VEC(struct image_stretch) found;
    bool failed;
};

static void add(struct stretches *stretches, uint64_t start, uint64_t size)
{
    const struct image_stretch made = {start, start + size};
    if (size && made.end > start)
        stretches->failed |= sprof_vec_push(&stretches->found, made) != 0;
}

static int by_start(const void *left, const void *right)
{
    const struct image_stretch *a = left, *b = right;
    return (a->start > b->start) - (a->start < b->start);
}

/* Linkers leave a few bytes between sections, to align them. */
static size_t join(struct image_stretch *items, size_t count)
{
    enum { ALIGNMENT = 64 };
    size_t kept = 0;
    qsort(items, count, sizeof *items, by_start);
    for (size_t i = 0; i < count; i++) {
        struct image_stretch *last = kept ? &items[kept - 1] : NULL;
        if (!last || items[i].start > last->end + ALIGNMENT)
            items[kept++] = items[i];
        else if (items[i].end > last->end)
            last->end = items[i].end;
    }
    return kept;
}

size_t image_code(const struct image *image, struct image_stretch **out)
{
    struct stretches stretches = {0};
    *out = NULL;
    if (image->type != ET_EXEC && image->type != ET_DYN)
        return 0;
    for (size_t i = 0; i < image->sections.count; i++) {
        const struct image_section_header *section = &image->sections.items[i];
        if ((section->flags & (SHF_ALLOC | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_EXECINSTR))
            add(&stretches, section->vaddr, section->size);
    }
    for (size_t i = 0; i < image->text.count && !image->sections.count; i++)
        add(&stretches, image->text.items[i].vaddr, image->text.items[i].size);
    if (stretches.failed || !stretches.found.count) {
        sprof_vec_release(&stretches.found);
        return 0;
    }
    *out = stretches.found.items;
    return join(stretches.found.items, stretches.found.count);
}
