/* Finds slots that code only calls: see called_slots.h. */
#include "probing/called_slots.h"
#include "arch/arch.h"
#include "probing/program.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum use { UNUSED = 1, CALLED, READ };

struct search {
    struct sprof_map uses; /* vaddr → enum use */
    SPROF_VEC(uint64_t) list;
    uint64_t low, high;
};

static int list_slots(struct search *search, struct image *image)
{
    const struct sprof_bytes bytes = image_section(image, ".rela.dyn", NULL);
    search->low = UINT64_MAX;
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size; at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, bytes.data + at, sizeof relocation);
        const uint64_t slot = relocation.r_offset;
        if (ELF64_R_TYPE(relocation.r_info) != ARCH_RELOCATION_GLOB_DAT)
            continue;
        if (sprof_map_put(&search->uses, slot, UNUSED) || sprof_vec_push(&search->list, slot))
            return SPROF_ENOMEM;
        search->low = slot < search->low ? slot : search->low;
        search->high = slot > search->high ? slot : search->high;
    }
    return 0;
}

static void note(void *context, uint64_t address, bool is_call)
{
    uint64_t *use = sprof_map_get(&((struct search *)context)->uses, address);
    if (use && *use != READ)
        *use = is_call ? CALLED : READ;
}

static int scan_code(struct search *search, const struct image *image)
{
    const struct image_segment *segments;
    const size_t count = image_text_segments(image, &segments);
    for (size_t i = 0; i < count; i++) {
        uint8_t *code = malloc(segments[i].size + 1);
        if (!code)
            return SPROF_ENOMEM;
        const size_t size = image_read(image, segments[i].offset, code, segments[i].size);
        arch_code_each_reference((struct sprof_bytes){code, size}, segments[i].vaddr, search->low,
                                 search->high, note, search);
        free(code);
    }
    return 0;
}

int probing_called_slots(struct image *image, struct sprof_map *slots)
{
    struct search search = {0};
    int result = list_slots(&search, image);
    if (!result && search.list.count)
        result = scan_code(&search, image);
    for (size_t i = 0; i < search.list.count && !result; i++)
        if (*sprof_map_get(&search.uses, search.list.items[i]) == CALLED)
            result = sprof_map_put(slots, search.list.items[i], 1);
    sprof_map_release(&search.uses);
    sprof_vec_release(&search.list);
    return result;
}
