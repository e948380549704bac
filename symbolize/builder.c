/* Collects functions and the chains of frames that refer to them. */
#include "symbolize/builder.h"

#include <stdlib.h>
#include <string.h>

/* The builder's copy of a text; NULL for NULL, and when memory runs out. */
static const char *copy_text(struct builder *builder, const char *text)
{
    uint32_t number;
    if (!text)
        return NULL;
    if (sprof_intern_put(&builder->texts, text, &number)) {
        builder->failed = true;
        return NULL;
    }
    return sprof_intern_text(&builder->texts, number);
}

bool symbolize_builder_find(const struct builder *builder, uint64_t key, uint32_t *function)
{
    const uint64_t *place = sprof_map_get(&builder->by_key, key);
    if (place)
        *function = (uint32_t)*place;
    return place != NULL;
}

uint32_t symbolize_builder_add(struct builder *builder, uint64_t key,
                               const struct symbolize_function *function)
{
    const uint32_t index = (uint32_t)builder->functions.count;
    struct symbolize_function copy = *function;
    copy.linkage_name = copy_text(builder, function->linkage_name);
    copy.name = function->name ? copy_text(builder, function->name) : copy.linkage_name;
    copy.inlined_name = copy_text(builder, function->inlined_name);
    copy.file = copy_text(builder, function->file);
    if (sprof_vec_push(&builder->functions, copy) || sprof_map_put(&builder->by_key, key, index))
        builder->failed = true;
    return index;
}

void symbolize_builder_open_chain(struct builder *builder)
{
    if (sprof_vec_push(&builder->first, (uint32_t)builder->frames.count))
        builder->failed = true;
}

void symbolize_builder_add_frame(struct builder *builder, uint32_t function, const char *file,
                                 uint32_t line)
{
    const size_t place = (uintptr_t)file / 16 % (sizeof builder->files / sizeof *builder->files);
    if (builder->files[place].text != file) {
        builder->files[place].text = file;
        builder->files[place].copy = copy_text(builder, file);
    }
    const struct symbolize_frame frame = {function, builder->files[place].copy, line};
    if (sprof_vec_push(&builder->frames, frame))
        builder->failed = true;
}

uint32_t symbolize_builder_add_unnamed(struct builder *builder, const char *module, uint64_t vaddr,
                                       const struct symbolize_bounds *bounds)
{
    uint64_t start = vaddr, end = vaddr;
    if (bounds && bounds->find && !bounds->find(bounds->context, vaddr, &start, &end))
        start = end = vaddr;
    const uint64_t key = symbolize_builder_physical_key(start);
    uint32_t found;
    if (symbolize_builder_find(builder, key, &found))
        return found;
    const char *slash = strrchr(module, '/');
    struct sprof_str name = {0};
    sprof_str_appendf(&name, "%s+0x%llx", slash && slash[1] ? slash + 1 : module,
                      (unsigned long long)start);
    const struct symbolize_function function = {
        .linkage_name = name.failed ? "?" : name.text,
        .start = start,
        .size = end > start ? end - start : 0,
    };
    found = symbolize_builder_add(builder, key, &function);
    sprof_str_release(&name);
    return found;
}

static void release(struct builder *builder)
{
    sprof_intern_release(&builder->texts);
    sprof_map_release(&builder->by_key);
    sprof_vec_release(&builder->functions);
    sprof_vec_release(&builder->frames);
    sprof_vec_release(&builder->first);
}

int symbolize_builder_finish(struct builder *builder, struct symbolize_result *result,
                             struct sprof_error *error)
{
    const size_t address_count = builder->first.count;
    symbolize_builder_open_chain(builder); /* the end of the last chain */
    *result = (struct symbolize_result){0};
    if (builder->failed) {
        release(builder);
        return sprof_error_memory(error);
    }
    result->functions = builder->functions.items;
    result->function_count = builder->functions.count;
    result->frames = builder->frames.items;
    result->frame_count = builder->frames.count;
    result->first = builder->first.items;
    result->address_count = address_count;
    result->texts = builder->texts.arena;
    builder->texts.arena = (struct sprof_arena){0};
    sprof_intern_release(&builder->texts);
    sprof_map_release(&builder->by_key);
    *builder = (struct builder){0};
    return 0;
}

void symbolize_result_release(struct symbolize_result *result)
{
    free(result->functions);
    free(result->frames);
    free(result->first);
    sprof_arena_release(&result->texts);
    *result = (struct symbolize_result){0};
}

enum { KEY_PHYSICAL = 1, KEY_INLINED = 2 };

uint64_t symbolize_builder_physical_key(uint64_t start)
{
    return sprof_hash_pair(KEY_PHYSICAL, start);
}

uint64_t builder_inlined_key(const char *linkage_name, const char *file, uint32_t line)
{
    const uint64_t place = sprof_hash_pair(file ? sprof_hash_text(file) : 0, line);
    return sprof_hash_pair(KEY_INLINED, sprof_hash_pair(sprof_hash_text(linkage_name), place));
}
