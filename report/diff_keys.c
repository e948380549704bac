/* Says what is the same in two builds of a program. */
#include "report/diff_parts.h"

#include <string.h>

size_t report_diff_module_stem(const char *name)
{
    const char *version = strstr(name, ".so.");
    const size_t length = version ? (size_t)(version - name) + 4 : strlen(name);
    return version ? length + strspn(version + 4, "0123456789") : length;
}

/* Whether a renaming, OLD=NEW, is of a module of this name. */
static bool is_old_name(const char *renaming, const char *name)
{
    const size_t length = strcspn(renaming, "=");
    return strlen(name) == length && !strncmp(name, renaming, length);
}

/* The name a module goes by on both sides. */
const char *report_diff_module_name(const struct diff_comparison *comparison, size_t side,
                                    const char *name)
{
    const char *const *renamed = comparison->diff->renamed;
    for (; side == 0 && renamed && *renamed; renamed++)
        if (is_old_name(*renamed, name))
            return strchr(*renamed, '=') + 1;
    return name;
}

uint64_t report_diff_module_key(const struct diff_comparison *comparison, size_t side,
                                const char *name)
{
    const char *known = report_diff_module_name(comparison, side, name);
    return sprof_hash_bytes(known, report_diff_module_stem(known));
}

uint64_t report_diff_file_key(const char *file)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    return file ? sprof_hash_text(slash ? slash + 1 : file) : 0;
}

static void note_renamings(struct diff_comparison *comparison, size_t side, const char *name)
{
    const char *const *renamed = comparison->diff->renamed;
    for (size_t i = 0; renamed && renamed[i] && i < 64; i++)
        if (is_old_name(renamed[i], name))
            comparison->renamed_met[side] |= UINT64_C(1) << i;
}

int report_diff_check_renamings(const struct diff_comparison *comparison, struct sprof_error *error)
{
    const char *const *renamed = comparison->diff->renamed;
    for (size_t i = 0; renamed && renamed[i] && i < 64; i++) {
        const int length = (int)strcspn(renamed[i], "=");
        if (comparison->renamed_met[0] >> i & 1)
            continue;
        if (comparison->renamed_met[1] >> i & 1)
            return sprof_error_set(error, SPROF_EUSAGE, 0,
                                   "--map %s: the name in the recording before comes first: `--map %s=%.*s`",
                                   renamed[i], renamed[i] + length + 1, length, renamed[i]);
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "--map %s: no module is called '%.*s' in the recording before; "
                               "`sprof report --modules` lists them",
                               renamed[i], length, renamed[i]);
    }
    return 0;
}

/* Notes which build of each module a side ran. One without a key was mapped and met no sample. */
int report_diff_note_builds(struct diff_comparison *comparison, size_t side)
{
    const struct report_dataset *dataset = &comparison->dataset;
    for (size_t i = 0; i < dataset->modules.count; i++) {
        const struct report_module *module = &dataset->modules.items[i];
        note_renamings(comparison, side, module->name);
        if (!module->key)
            continue;
        const uint64_t key = report_diff_module_key(comparison, side, module->name);
        const uint64_t *known = sprof_map_get(&comparison->builds[side], key);
        const uint64_t build = known && *known != module->key ? 1 : module->key;
        if (sprof_map_put(&comparison->builds[side], key, build))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Functions of one name are distinguished by their files. One without a file, because a build or a
 * machine had no debug information, is the one of its name, as long as only one file is known for
 * it. */
static int tell_apart_by_file(struct diff_comparison *comparison, uint64_t name, const char *file,
                              uint64_t *key)
{
    enum { SEVERAL_FILES = 1 };
    const uint64_t without_file = sprof_hash_pair(name, 0);
    const uint64_t *known = sprof_map_get(&comparison->named, name);
    *key = sprof_hash_pair(name, report_diff_file_key(file));
    if (!known)
        return sprof_map_put(&comparison->named, name, *key);
    if (*known == SEVERAL_FILES || *known == *key)
        return 0;
    if (file && *known != without_file)
        return sprof_map_put(&comparison->named, name, SEVERAL_FILES);
    *key = *known;
    return 0;
}

bool report_diff_is_unnamed(const struct diff_comparison *comparison, uint32_t number)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const uint32_t module = dataset->facts.items[number - 1].module;
    return !dataset->functions.items[number - 1].named &&
           dataset->modules.items[module - 1].kind != MODEL_KIND_NONE;
}

/* The identity of a function in all builds: what it is called, for where it is inlined its linkage
 * name is not always known. One without a name is known by its address, which says
 * something within one build only. */
int report_diff_function_key(struct diff_comparison *comparison, size_t side, uint32_t number,
                             uint64_t *key, bool *unnamed)
{
    const struct report_dataset *dataset = &comparison->dataset;
    const struct report_function *function = &dataset->functions.items[number - 1];
    const struct report_module *module =
        &dataset->modules.items[dataset->facts.items[number - 1].module - 1];
    const uint64_t place = report_diff_module_key(comparison, side, module->name);
    *unnamed = report_diff_is_unnamed(comparison, number);
    const uint64_t build = *unnamed ? module->key : 0;
    const uint64_t name = sprof_hash_text(function->name);
    return tell_apart_by_file(comparison, sprof_hash_pair(sprof_hash_pair(place, build), name),
                              function->file, key);
}

bool report_diff_same_build(const struct diff_comparison *comparison, const char *module)
{
    const uint64_t key = sprof_hash_bytes(module, report_diff_module_stem(module));
    const uint64_t *before = sprof_map_get(&comparison->builds[0], key);
    const uint64_t *after = sprof_map_get(&comparison->builds[1], key);
    return before && after && *before > 1 && *before == *after;
}
