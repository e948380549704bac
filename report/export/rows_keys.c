/* Makes keys that mean the same function and the same call path in all builds and on all hosts. */
#include "report/export/rows.h"

#include "report/diff_parts.h"

#include <string.h>

/* A function is its module without version, its name, and its file without directories. One without
 * a name is known by its address, which says something within one build only. */
static uint64_t function_key(const struct report_dataset *dataset, uint32_t number)
{
    const struct report_function *function = &dataset->functions.items[number - 1];
    const struct report_module *module =
        &dataset->modules.items[dataset->facts.items[number - 1].module - 1];
    const bool unnamed = !function->named && module->kind != MODEL_KIND_NONE;
    const char *name = function->linkage_name ? function->linkage_name : function->name;
    uint64_t key = sprof_hash_bytes(module->name, report_diff_module_stem(module->name));
    key = sprof_hash_pair(key, unnamed ? module->key : 0);
    key = sprof_hash_pair(key, sprof_hash_text(name));
    return sprof_hash_pair(key, report_diff_file_key(function->file));
}

/* What tells functions of one module apart that have everything else in common. */
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
