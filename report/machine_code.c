/* Reads the machine code of functions from the files that ran. */
#include "report/machine_code.h"

#include <stdlib.h>

int report_machine_code_open(struct image **image, const struct report_module *module,
                             const char *root, struct sprof_error *error)
{
    struct image_request request = {
        .file = {.path = module->path_bytes ? module->path_bytes : module->path}, .root = root};
    const char *digits = module->build_id ? module->build_id : "";
    for (; digits[0] && digits[1] && request.file.build_id_size < SPROF_BUILD_ID_MAX; digits += 2) {
        const char pair[] = {digits[0], digits[1], '\0'};
        request.file.build_id[request.file.build_id_size++] = (uint8_t)strtoul(pair, NULL, 16);
    }
    const int result = image_open(image, &request, error);
    if (result || !module->key || image_key(*image) == module->key)
        return result;
    image_free(*image);
    *image = NULL;
    return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                           "%s has changed since it was recorded: no instructions are shown",
                           module->path);
}

int report_machine_code_read(struct report_instructions *instructions, struct sprof_arena *arena,
                             const struct image *image, const struct report_function *function,
                             bool intel, struct sprof_error *error)
{
    uint64_t offset;
    if (!image_offset_of_vaddr(image, function->start, &offset))
        return 0;
    uint8_t *bytes = malloc(function->size + 1);
    if (!bytes)
        return SPROF_ENOMEM;
    const size_t got = sprof_file_read(image_fd(image), offset, bytes, function->size);
    const int result = report_disassemble(instructions, arena, (struct sprof_bytes){bytes, got},
                                          function->start, intel, error);
    free(bytes);
    return result;
}

size_t report_machine_code_find(const struct report_instructions *instructions, uint64_t vaddr)
{
    size_t low = 0, high = instructions->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct report_instruction *item = &instructions->items[middle];
        if (vaddr < item->vaddr)
            high = middle;
        else if (vaddr >= item->vaddr + item->size)
            low = middle + 1;
        else
            return middle;
    }
    return SIZE_MAX;
}
