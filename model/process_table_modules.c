/* Modules: one for each file (or piece of made-up code), for all processes that map it. */
#include "model/process_table.h"

#include <string.h>

static const char *path_of(const struct sprof_file_id *identity)
{
    return identity->path ? identity->path : "";
}

/* Code that is made at run time: the same path says nothing in another process. */
static bool is_private(const struct sprof_file_id *identity, bool in_kernel)
{
    return !identity->build_id_size &&
           model_kind_of(NULL, path_of(identity), false, in_kernel) == MODEL_KIND_JIT;
}

static uint64_t identity_hash(const struct sprof_file_id *identity, uint32_t process)
{
    if (identity->build_id_size)
        return sprof_hash_bytes(identity->build_id, identity->build_id_size);
    uint64_t hash = sprof_hash_pair(sprof_hash_text(path_of(identity)), process);
    if (identity->inode) {
        hash = sprof_hash_pair(hash, identity->device_major);
        hash = sprof_hash_pair(hash, identity->device_minor);
        hash = sprof_hash_pair(hash, identity->inode);
        hash = sprof_hash_pair(hash, identity->inode_generation);
    }
    return hash;
}

static bool same_identity(const struct model_module *module, const struct sprof_file_id *identity,
                          uint32_t process)
{
    const struct sprof_file_id *known = &module->identity;
    if (known->build_id_size || identity->build_id_size)
        return known->build_id_size == identity->build_id_size &&
               !memcmp(known->build_id, identity->build_id, known->build_id_size);
    return known->inode == identity->inode &&
           known->inode_generation == identity->inode_generation &&
           known->device_major == identity->device_major &&
           known->device_minor == identity->device_minor && module->process == process &&
           !strcmp(known->path, path_of(identity));
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return !slash || path[0] == '[' || !strncmp(path, "//", 2) || !slash[1] ? path : slash + 1;
}

static struct model_module *module_new(struct model_process_table *table,
                                       const struct sprof_file_id *identity, bool in_kernel,
                                       uint32_t process)
{
    const char *path = path_of(identity);
    struct model_module *module = sprof_arena_alloc(&table->arena, sizeof *module);
    char *copy = sprof_arena_copy(&table->arena, path, strlen(path));
    if (!module || !copy || sprof_vec_reserve(&table->modules, table->modules.count + 1))
        return NULL;
    *module = (struct model_module){
        .id = table->first_module + (uint32_t)table->modules.count + 1,
        .identity = *identity,
        .name = name_of(copy),
        .kind = model_kind_of(&table->rules, copy, false, in_kernel),
        .in_kernel = in_kernel,
        .process = process,
        .dirty = true,
    };
    module->identity.path = copy;
    return module;
}

static struct sprof_file_id checked(const struct sprof_file_id *identity)
{
    struct sprof_file_id copy = *identity;
    if (copy.build_id_size > sizeof copy.build_id)
        copy.build_id_size = sizeof copy.build_id;
    if (!copy.inode && !copy.build_id_size)
        copy.device_major = copy.device_minor = 0, copy.inode_generation = 0;
    return copy;
}

struct model_module *model_process_table_module(struct model_process_table *table,
                                                const struct sprof_file_id *identity,
                                                bool in_kernel, uint32_t process)
{
    const struct sprof_file_id wanted = checked(identity);
    const uint32_t owner = is_private(&wanted, in_kernel) ? process : 0;
    uint64_t hash = identity_hash(&wanted, owner);
    for (const uint64_t *id; (id = sprof_map_get(&table->module_index, hash));) {
        struct model_module *module = model_process_table_module_by_id(table, (uint32_t)*id);
        if (same_identity(module, &wanted, owner))
            return module;
        hash = sprof_hash_mix(hash + 1);
    }
    struct model_module *module = module_new(table, &wanted, in_kernel, owner);
    if (!module || sprof_map_put(&table->module_index, hash, module->id))
        return NULL;
    table->modules.items[table->modules.count++] = module;
    return module;
}

struct model_module *model_process_table_module_by_id(const struct model_process_table *table,
                                                      uint32_t id)
{
    if (id <= table->first_module || id - table->first_module > table->modules.count)
        return NULL;
    return table->modules.items[id - 1 - table->first_module];
}
