/* Makes keys that mean the same function and the same call path in all builds and on all hosts. */
#include "report/export/rows.h"

#include "report/diff_parts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct report_module *module_of(const struct report_dataset *dataset, uint32_t number)
{
    return &dataset->modules.items[dataset->facts.items[number - 1].module - 1];
}

/* `content` is that of the module where the name says something within one build only; else 0. */
static uint64_t key_of(const struct report_module *module, uint64_t content, const char *name,
                       const char *file)
{
    uint64_t key = sprof_hash_bytes(module->name, report_diff_module_stem(module->name));
    key = sprof_hash_pair(key, content);
    key = sprof_hash_pair(key, sprof_hash_text(name));
    return sprof_hash_pair(key, report_diff_file_key(file));
}

/* A function is its module without version, its name, and its file without directories. One without
 * a name is known by its address. */
static uint64_t function_key(const struct report_dataset *dataset, uint32_t number)
{
    const struct report_function *function = &dataset->functions.items[number - 1];
    const struct report_module *module = module_of(dataset, number);
    const bool unnamed = !function->named && module->kind != MODEL_KIND_NONE;
    const char *name = function->linkage_name ? function->linkage_name : function->name;
    return key_of(module, unnamed ? module->key : 0, name, function->file);
}

uint64_t report_row_unnamed_key(const struct report_dataset *dataset, uint32_t number)
{
    const struct report_function *function = &dataset->functions.items[number - 1];
    const struct report_module *module = module_of(dataset, number);
    char name[512]; /* as symbolize gives it */
    if (!function->named || !function->start || module->kind == MODEL_KIND_NONE)
        return 0;
    snprintf(name, sizeof name, "%s+0x%" PRIx64, module->name, function->start);
    return key_of(module, module->key, name, NULL);
}

/* What distinguishes functions of one module that have everything else in common. */
static uint64_t place_of(const struct report_function *function)
{
    const uint64_t file = function->file ? sprof_hash_text(function->file) : 0;
    return sprof_hash_pair(sprof_hash_pair(file, function->line), function->start);
}

/* Static functions of one name in files of one name, or without debug information, stay apart by
 * where they are. */
static int tell_apart(const struct report_dataset *dataset, uint64_t *keys)
{
    enum { SEVERAL = 1 };
    struct sprof_map first = {0}; /* key in a module → number, or with SEVERAL in the lowest bit */
    int result = 0;
    for (uint32_t i = 1; i <= dataset->functions.count && !result; i++) {
        const struct report_function *function = &dataset->functions.items[i - 1];
        if (function->owner)
            continue;
        const uint64_t place = sprof_hash_pair(keys[i], dataset->facts.items[i - 1].module);
        uint64_t *known = sprof_map_at(&first, place);
        if (!known)
            result = SPROF_ENOMEM;
        else
            *known = *known ? *known | SEVERAL : (uint64_t)i << 1;
    }
    for (uint32_t i = 1; i <= dataset->functions.count && !result; i++) {
        const uint64_t place = sprof_hash_pair(keys[i], dataset->facts.items[i - 1].module);
        const uint64_t *known = sprof_map_get(&first, place);
        if (known && *known & SEVERAL)
            keys[i] = sprof_hash_pair(keys[i], place_of(&dataset->functions.items[i - 1]));
    }
    sprof_map_release(&first);
    return result;
}

int report_row_keys_make(struct report_row_keys *keys, const struct report_dataset *dataset)
{
    const size_t functions = dataset->functions.count, paths = dataset->paths.items.count;
    *keys = (struct report_row_keys){calloc(functions + 1, sizeof *keys->functions),
                                     calloc(paths + 1, sizeof *keys->paths)};
    if (!keys->functions || !keys->paths)
        return SPROF_ENOMEM;
    for (uint32_t i = 1; i <= functions; i++)
        keys->functions[i] = function_key(dataset, i);
    if (tell_apart(dataset, keys->functions))
        return SPROF_ENOMEM;
    for (uint32_t i = 1; i <= paths; i++) {
        const struct model_path *path = &dataset->paths.items.items[i - 1];
        keys->paths[i] =
            sprof_hash_pair(keys->paths[path->parent], keys->functions[path->function]);
    }
    return 0;
}

void report_row_keys_release(struct report_row_keys *keys)
{
    free(keys->functions);
    free(keys->paths);
    *keys = (struct report_row_keys){0};
}
