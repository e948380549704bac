/* The code of an image in memory, and what leads where in it. */
#include "plan/planner.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

#define TEXT_BYTES_MAX (UINT64_C(1) << 31)

static bool read_at(struct image *image, uint64_t offset, uint8_t *buffer, size_t size)
{
    const struct sprof_bytes memory = image_memory(image);
    const int fd = image_fd(image);
    if (fd < 0) {
        if (offset > memory.size || size > memory.size - offset)
            return false;
        memcpy(buffer, memory.data + offset, size);
        return true;
    }
    while (size) {
        const ssize_t got = pread(fd, buffer, size, (off_t)offset);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        if (got > 0) {
            buffer += got;
            offset += (uint64_t)got;
            size -= (size_t)got;
        }
    }
    return true;
}

int plan_texts_read(struct planner *planner, struct sprof_error *error)
{
    const struct image_segment *segments;
    const size_t count = image_text_segments(planner->image, &segments);
    for (size_t i = 0; i < count && planner->text_count < PLAN_TEXTS_MAX; i++) {
        const struct image_segment *segment = &segments[i];
        if (!segment->size || segment->size > TEXT_BYTES_MAX)
            continue;
        struct plan_text *text = &planner->texts[planner->text_count++];
        *text = (struct plan_text){.start = segment->vaddr, .end = segment->vaddr + segment->size};
        text->bytes = malloc(segment->size);
        text->targets = calloc(segment->size / 64 + 1, sizeof *text->targets);
        if (!text->bytes || !text->targets)
            return sprof_error_memory(error);
        if (!read_at(planner->image, segment->offset, text->bytes, segment->size))
            return sprof_error_set(error, SPROF_EIO, errno, "the code of %s cannot be read",
                                   image_path(planner->image));
    }
    if (!planner->text_count)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "%s has no code",
                               image_path(planner->image));
    return 0;
}

void plan_texts_release(struct planner *planner)
{
    for (size_t i = 0; i < planner->text_count; i++) {
        free(planner->texts[i].bytes);
        free(planner->texts[i].targets);
    }
}

struct plan_text *plan_text_at(struct planner *planner, uint64_t vaddr, struct sprof_bytes *bytes)
{
    for (size_t i = 0; i < planner->text_count; i++) {
        struct plan_text *text = &planner->texts[i];
        if (vaddr < text->start || vaddr >= text->end)
            continue;
        *bytes =
            (struct sprof_bytes){text->bytes + (vaddr - text->start), (size_t)(text->end - vaddr)};
        return text;
    }
    *bytes = (struct sprof_bytes){0};
    return NULL;
}

/* == Targets == */

void plan_target_add(struct planner *planner, uint64_t vaddr)
{
    struct sprof_bytes bytes;
    struct plan_text *text = plan_text_at(planner, vaddr, &bytes);
    if (text) {
        const uint64_t offset = vaddr - text->start;
        text->targets[offset / 64] |= UINT64_C(1) << offset % 64;
    }
}

bool plan_target_between(struct planner *planner, uint64_t start, uint64_t end)
{
    for (uint64_t vaddr = start; vaddr < end; vaddr++) {
        struct sprof_bytes bytes;
        const struct plan_text *text = plan_text_at(planner, vaddr, &bytes);
        const uint64_t offset = text ? vaddr - text->start : 0;
        if (text && text->targets[offset / 64] >> offset % 64 & 1)
            return true;
    }
    return false;
}

/* Words of data that hold addresses of code: tables of computed gotos, for one. */
static void targets_of_words(struct planner *planner, struct sprof_bytes bytes)
{
    for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
        uint64_t word;
        memcpy(&word, bytes.data + at, sizeof word);
        plan_target_add(planner, word);
    }
}

/* DT_RELR (gABI): addresses of words, and bitmaps of the 63 words behind the last. */
static void targets_of_packed(struct planner *planner, struct sprof_bytes bytes)
{
    uint64_t where = 0;
    for (size_t at = 0; at + 8 <= bytes.size; at += 8) {
        uint64_t entry, offset, word;
        memcpy(&entry, bytes.data + at, sizeof entry);
        uint64_t bits = entry & 1 ? entry >> 1 : 1;
        const uint64_t first = entry & 1 ? where : entry;
        for (uint64_t slot = first; bits; bits >>= 1, slot += 8)
            if (bits & 1 && image_offset_of_vaddr(planner->image, slot, &offset) &&
                read_at(planner->image, offset, (uint8_t *)&word, sizeof word))
                plan_target_add(planner, word);
        where = entry & 1 ? where + 63 * 8 : entry + 8;
    }
}

bool plan_has_fixed_addresses(const struct planner *planner)
{
    return !planner->relocated.count && !image_section(planner->image, ".relr.dyn", NULL).size;
}

void plan_targets_of_data(struct planner *planner)
{
    struct image *image = planner->image;
    for (size_t i = 0; i < planner->relocated.capacity; i++)
        if (planner->relocated.slots[i].key)
            plan_target_add(planner, planner->relocated.slots[i].value);
    targets_of_packed(planner, image_section(image, ".relr.dyn", NULL));
    if (!plan_has_fixed_addresses(planner)) /* else they stand in the data as they are */
        return;
    static const char *const sections[] = {".rodata", ".data.rel.ro", ".data"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        targets_of_words(planner, image_section(image, sections[i], NULL));
}
