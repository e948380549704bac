/* The recording's one table of functions, and the frames' chains of inlined ones. */
#include "recording/derive_names.h"

#include "recording/walk.h"

#include <string.h>

/* == Functions == */

/* A function is the same one wherever it is inlined; static functions of one name differ by where
 * they are declared, or without debug information by where they start. Its name is what it is
 * called: of an inlined one the linkage name is not always known, and constructors have several. */
static uint64_t function_identity(uint32_t module, const char *name, const char *file,
                                  uint32_t line, uint64_t start)
{
    const uint64_t identity = sprof_hash_pair(module, sprof_hash_text(name));
    if (file)
        return sprof_hash_pair(sprof_hash_pair(identity, sprof_hash_text(file)), line);
    return sprof_hash_pair(identity, start);
}

static uint64_t function_key(const struct derive_module *module,
                             const struct symbolize_function *function)
{
    const char *soname = module->row.name ? module->row.name : "";
    const uint64_t key = sprof_hash_pair(sprof_hash_text(soname), sprof_hash_text(function->name));
    return sprof_hash_pair(key, function->file ? sprof_hash_text(function->file) : 0);
}

static bool holds_entry(const struct derive_module *module,
                        const struct symbolize_function *function)
{
    if (!module->image || !module->row.main_executable || !function->size)
        return false;
    return image_entry(module->image) - function->start < function->size;
}

/* Debug information may be there for one run and not for another: a function that was declared
 * somewhere is found by where it starts, too, as it is known without. Where it is inlined it has no
 * start. */
static int index_by_start(struct derive *derive, const struct store_function *row)
{
    const uint64_t starts[] = {row->start, 0};
    for (size_t i = 0; i < 2 && row->size && row->named; i++) {
        const uint64_t identity = function_identity(row->module_id, row->name, NULL, 0, starts[i]);
        if (!sprof_map_get(&derive->function_index, identity) &&
            sprof_map_put(&derive->function_index, identity, row->id))
            return SPROF_ENOMEM;
    }
    return 0;
}

int recording_derive_extend_functions(struct derive *derive, uint32_t last)
{
    while (derive->functions.count < last)
        if (sprof_vec_push(&derive->function_rows, (struct store_function){0}) ||
            sprof_vec_push(&derive->function_changed, false) ||
            sprof_vec_push(&derive->functions, (struct model_function){0}))
            return SPROF_ENOMEM;
    return 0;
}

static int add_row(struct derive *derive, const struct derive_module *module,
                   const struct store_function *row, bool changed)
{
    const uint64_t *position = sprof_map_get(&derive->module_index, row->module_id);
    if (!row->name || recording_derive_extend_functions(derive, row->id))
        return SPROF_ENOMEM;
    derive->function_rows.items[row->id - 1] = *row;
    derive->function_changed.items[row->id - 1] = changed;
    derive->functions.items[row->id - 1] =
        (struct model_function){(uint32_t)*position + 1, module->row.kind, row->startup};
    if (sprof_map_put(
            &derive->function_index,
            function_identity(row->module_id, row->name, row->file, row->line, row->start),
            row->id))
        return SPROF_ENOMEM;
    return index_by_start(derive, row);
}

int recording_derive_keep_function(struct derive *derive, const struct derive_module *module,
                                   const struct store_function *function)
{
    struct store_function row = *function;
    row.name = sprof_arena_text(&derive->arena, function->name);
    row.linkage_name = sprof_arena_text(&derive->arena, function->linkage_name);
    row.file = sprof_arena_text(&derive->arena, function->file);
    return add_row(derive, module, &row, false);
}

/* Whether it is known without the place of its declaration, which is now there. */
static bool is_without_place(const struct derive *derive, const struct derive_module *module,
                             const struct symbolize_function *function, const uint64_t **known)
{
    if (!function->file || !function->size)
        return false;
    *known =
        sprof_map_get(&derive->function_index, function_identity(module->canonical, function->name,
                                                                 NULL, 0, function->start));
    return *known && !derive->function_rows.items[**known - 1].file;
}

/* Whether a function that is declared nowhere is known only where it is inlined. */
static bool is_without_start(const struct derive *derive, const struct derive_module *module,
                             const struct symbolize_function *function, const uint64_t **known)
{
    if (function->file || !function->size || !function->named)
        return false;
    *known = sprof_map_get(&derive->function_index,
                           function_identity(module->canonical, function->name, NULL, 0, 0));
    if (!*known)
        return false;
    const struct store_function *row = &derive->function_rows.items[**known - 1];
    return row->named && !row->size && !row->file;
}

/* Adds to a row what was not known of its function. */
static int complete_row(struct derive *derive, const struct derive_module *module,
                        const struct symbolize_function *function, uint64_t identity, uint32_t id)
{
    struct store_function *row = &derive->function_rows.items[id - 1];
    const bool sized = !row->size && function->size, placed = !row->file && function->file;
    if (!sized && !placed)
        return 0;
    derive->function_changed.items[id - 1] = true;
    if (sized) {
        row->start = function->start;
        row->size = function->size;
        if (!row->file && sprof_map_put(&derive->function_index, identity, id))
            return SPROF_ENOMEM;
    }
    if (placed) {
        row->file = sprof_arena_text(&derive->arena, function->file);
        row->line = function->line;
        row->key = function_key(module, function);
        if (sprof_map_put(&derive->function_index, identity, id))
            return SPROF_ENOMEM;
    }
    return index_by_start(derive, row);
}

/* A function that has another name where it is inlined is one row, called as its symbol says. */
static int join_inlined(struct derive *derive, const struct derive_module *module,
                        const struct symbolize_function *function, uint32_t id)
{
    struct store_function *row = &derive->function_rows.items[id - 1];
    const uint64_t identity = function_identity(module->canonical, function->inlined_name,
                                                function->file, function->line, function->start);
    if (strcmp(row->name, function->inlined_name) == 0) {
        row->name = sprof_arena_text(&derive->arena, function->name);
        row->linkage_name = sprof_arena_text(&derive->arena, function->linkage_name);
        row->key = function_key(module, function);
        derive->function_changed.items[id - 1] = true;
        if (!row->name)
            return SPROF_ENOMEM;
    }
    if (sprof_map_get(&derive->function_index, identity))
        return 0;
    return sprof_map_put(&derive->function_index, identity, id);
}

/* The row of a function that is there already; NULL: there is none. */
static const uint64_t *find_row(const struct derive *derive, const struct derive_module *module,
                                const struct symbolize_function *function, uint64_t identity)
{
    const uint64_t *known = sprof_map_get(&derive->function_index, identity);
    if (!known && function->inlined_name)
        known = sprof_map_get(&derive->function_index,
                              function_identity(module->canonical, function->inlined_name,
                                                function->file, function->line, function->start));
    if (known || is_without_place(derive, module, function, &known) ||
        is_without_start(derive, module, function, &known))
        return known;
    return NULL;
}

int recording_derive_add_function(struct derive *derive, const struct derive_module *module,
                                  const struct symbolize_function *function, uint32_t *id)
{
    const uint64_t identity = function_identity(module->canonical, function->name, function->file,
                                                function->line, function->start);
    const uint64_t *known = find_row(derive, module, function, identity);
    if (known) {
        *id = (uint32_t)*known;
        if (function->inlined_name && (join_inlined(derive, module, function, *id) ||
                                       sprof_map_put(&derive->function_index, identity, *id)))
            return SPROF_ENOMEM;
        return complete_row(derive, module, function, identity, *id);
    }
    const struct store_function row = {
        .id = (uint32_t)derive->function_rows.count + 1,
        .module_id = module->canonical,
        .key = function_key(module, function),
        .name = sprof_arena_text(&derive->arena, function->name),
        .linkage_name = strcmp(function->linkage_name, function->name) == 0
                            ? NULL
                            : sprof_arena_text(&derive->arena, function->linkage_name),
        .start = function->start,
        .size = function->size,
        .file = sprof_arena_text(&derive->arena, function->file),
        .line = function->line,
        .named = function->named,
        .startup = model_is_startup_name(function->linkage_name) || holds_entry(module, function),
    };
    *id = row.id;
    if (add_row(derive, module, &row, true))
        return SPROF_ENOMEM;
    return function->inlined_name ? join_inlined(derive, module, function, row.id) : 0;
}

/* == Frames == */

bool recording_derive_frame_is_named(const struct derive *derive, const struct derive_frame *frame)
{
    return frame->chain_count &&
           derive->function_rows.items[derive->levels.items[frame->chain].function - 1].named;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_chain(const struct derive *derive, const struct derive_frame *frame,
                       const struct derive_level *levels, uint32_t count)
{
    const struct derive_level *stored = &derive->levels.items[frame->chain];
    if (frame->chain_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (stored[i].function != levels[i].function || stored[i].line != levels[i].line ||
            !same_text(stored[i].file, levels[i].file))
            return false;
    return true;
}

int recording_derive_add_chain(struct derive *derive, struct derive_frame *frame,
                               const struct derive_level *levels, uint32_t count)
{
    const bool named = derive->function_rows.items[levels[0].function - 1].named;
    if (frame->chain_count && ((!named && recording_derive_frame_is_named(derive, frame)) ||
                               same_chain(derive, frame, levels, count)))
        return 0;
    for (uint32_t i = 1; i < frame->chain_count; i++)
        if (sprof_vec_push(&derive->derived.forgotten_frames,
                           derive->levels.items[frame->chain + i].frame))
            return SPROF_ENOMEM;
    derive->repath |= frame->chain_count > 0;
    frame->renamed = true;
    frame->chain = derive->levels.count;
    frame->chain_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = i + 1 < count ? derive->last_frame_id + 1 : 0;
        const struct store_frame row = {
            .id = i ? derive->last_frame_id : frame->id,
            .module_id = frame->module,
            .key = i && frame->key ? sprof_hash_pair(frame->key, i) : frame->key,
            .file_offset = frame->offset,
            .function_id = levels[i].function,
            .file = sprof_arena_text(&derive->arena, levels[i].file),
            .line = levels[i].line,
            .inline_depth = i,
            .inline_parent_id = next,
        };
        const struct derive_level level = {row.function_id, row.file, row.line, row.id};
        derive->last_frame_id += next != 0;
        if (sprof_vec_push(&derive->derived.frames, row) || sprof_vec_push(&derive->levels, level))
            return SPROF_ENOMEM;
    }
    return 0;
}

int recording_derive_add_nameless(struct derive *derive, const struct derive_module *module,
                                  uint32_t *id)
{
    const char *name = module->row.name ? module->row.name : MODEL_MODULE_UNKNOWN;
    const struct symbolize_function function = {.name = name, .linkage_name = name};
    return recording_derive_add_function(derive, module, &function, id);
}

/* The levels of one address, innermost first. */
static int take_levels(struct derive *derive, const struct derive_module *module,
                       const struct symbolize_result *result, size_t address,
                       struct derive_levels *levels)
{
    levels->count = 0;
    for (uint32_t k = result->first[address]; k < result->first[address + 1]; k++) {
        const struct symbolize_frame *found = &result->frames[k];
        struct derive_level level = {.file = found->file, .line = found->line};
        if (recording_derive_add_function(derive, module, &result->functions[found->function],
                                          &level.function) ||
            sprof_vec_push(levels, level))
            return SPROF_ENOMEM;
    }
    struct derive_level level = {0};
    if (levels->count)
        return 0;
    return recording_derive_add_nameless(derive, module, &level.function) ||
                   sprof_vec_push(levels, level)
               ? SPROF_ENOMEM
               : 0;
}

int recording_derive_take_result(struct derive *derive, struct derive_job *job,
                                 const struct symbolize_result *result)
{
    struct derive_levels levels = {0};
    int failed = 0;
    size_t at = 0;
    for (size_t i = 0; i < job->count && !failed; i++) {
        struct derive_frame *frame = job->frames[i];
        while (at + 1 < job->address_count && job->addresses[at] < frame->lookup)
            at++;
        failed = take_levels(derive, job->module, result, at, &levels) ||
                 recording_derive_add_chain(derive, frame, levels.items, (uint32_t)levels.count);
    }
    sprof_vec_release(&levels);
    return failed ? SPROF_ENOMEM : 0;
}
