/* Reads the machine code of functions from the files that ran. */
#include "report/machine_code.h"

#include "report/utf8_text.h"
#include "symbolize/symbolize.h"

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

static int compare_addresses(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return first < second ? -1 : first > second;
}

/* Whether the name of the target says more than its address: it is another function, or called. */
static bool is_worth_a_name(const struct report_instruction *item,
                            const struct report_function *function)
{
    return item->target && item->target - function->start - 1 >= function->size - 1;
}

/* The name of the function that holds an address; NULL: it has none. 0 or SPROF_ENOMEM. */
static int name_of(const struct symbolize_result *names, size_t index, struct sprof_arena *arena,
                   const char **name)
{
    *name = NULL;
    if (names->first[index] == names->first[index + 1])
        return 0;
    const struct symbolize_frame *frame = &names->frames[names->first[index + 1] - 1];
    const struct symbolize_function *function = &names->functions[frame->function];
    if (function->named)
        *name = report_utf8_copy(arena, function->name);
    return function->named && !*name ? SPROF_ENOMEM : 0;
}

/* Names the targets of instructions from index `from` on. */
static int name_targets(struct report_instructions *instructions, size_t from,
                        struct sprof_arena *arena, struct image *image,
                        const struct report_function *function)
{
    const struct symbolize_options options = {.symbols_only = true};
    struct symbolize_result names = {0};
    uint64_t *targets = malloc((instructions->count - from + 1) * sizeof *targets);
    size_t count = 0, distinct = 0;
    if (!targets)
        return SPROF_ENOMEM;
    for (size_t i = from; i < instructions->count; i++)
        if (is_worth_a_name(&instructions->items[i], function))
            targets[count++] = instructions->items[i].target;
    if (count)
        qsort(targets, count, sizeof *targets, compare_addresses);
    for (size_t i = 0; i < count; i++)
        if (!distinct || targets[distinct - 1] != targets[i])
            targets[distinct++] = targets[i];
    int result =
        distinct ? symbolize_image(&names, image, targets, distinct, NULL, &options, NULL) : 0;
    for (size_t i = from; i < instructions->count && distinct && !result; i++) {
        struct report_instruction *item = &instructions->items[i];
        const uint64_t *at =
            is_worth_a_name(item, function)
                ? bsearch(&item->target, targets, distinct, sizeof *targets, compare_addresses)
                : NULL;
        if (at)
            result = name_of(&names, (size_t)(at - targets), arena, &item->target_name);
    }
    symbolize_result_release(&names);
    free(targets);
    return result;
}

int report_machine_code_read(struct report_instructions *instructions, struct sprof_arena *arena,
                             struct image *image, const struct report_function *function,
                             bool intel, struct sprof_error *error)
{
    const size_t from = instructions->count;
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
    return result ? result : name_targets(instructions, from, arena, image, function);
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
