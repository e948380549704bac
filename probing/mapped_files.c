/* Reads a process's executable mappings and its loader's list. */
#include "probing/mapped_files.h"
#include "probing/program.h"

#include <link.h>
#include <string.h>

enum { LINKED_MOST = 16384 };

/* Stores each path once: equal paths are one pointer. */
static const char *kept_path(struct probing_mapped_files *files, const char *path)
{
    const size_t length = sprof_file_path_length(path);
    for (size_t i = 0; i < files->paths.count; i++)
        if (strlen(files->paths.items[i]) == length && !memcmp(files->paths.items[i], path, length))
            return files->paths.items[i];
    char *kept = sprof_arena_alloc(&files->program->arena, length + 1);
    if (!kept || sprof_vec_push(&files->paths, (const char *)kept))
        return NULL;
    memcpy(kept, path, length); /* ends with NUL */
    return kept;
}

bool probing_mapped_is_of(const struct probing_mapped *mapped, const struct probing_file *file)
{
    return plan_identity(&mapped->file) == file->identity;
}

static int take_mapping(void *context, const struct model_mmap *mapping)
{
    struct probing_mapped_files *files = context;
    struct probing_mapped mapped = {.address = mapping->address,
                                    .size = mapping->size,
                                    .file_offset = mapping->file_offset,
                                    .file = mapping->file};
    if (!mapping->file.path || mapping->file.path[0] != '/' ||
        plan_is_generated(files->program->process.pid, mapping))
        return 0;
    mapped.file.path = kept_path(files, mapping->file.path);
    return !mapped.file.path || sprof_vec_push(&files->now, mapped) ? SPROF_ENOMEM : 0;
}

static bool is_same(const struct probing_mapped *a, const struct probing_mapped *b)
{
    return a->address == b->address && plan_identity(&a->file) == plan_identity(&b->file);
}

bool probing_mapped_files_had(const struct probing_mapped_files *files,
                              const struct probing_mapped *mapped)
{
    for (size_t i = 0; i < files->before.count; i++)
        if (is_same(&files->before.items[i], mapped))
            return true;
    return false;
}

struct model_mmap probing_mapped_as_model(const struct probing_mapped *mapped)
{
    return (struct model_mmap){mapped->address, mapped->size, mapped->file_offset, mapped->file};
}

bool probing_mapped_files_has_other(const struct probing_mapped_files *files, size_t index)
{
    const struct probing_mapped *mapped = &files->now.items[index];
    const struct model_mmap mapping = probing_mapped_as_model(mapped);
    for (size_t i = 0; i < files->now.count; i++) {
        const struct model_mmap other = probing_mapped_as_model(&files->now.items[i]);
        if (plan_identity(&other.file) == plan_identity(&mapped->file) &&
            (i < index || probing_mapped_files_had(files, &files->now.items[i])) &&
            (plan_is_same_copy(&other, &mapping) ||
             !plan_is_idle_copy(files->program->process.pid, &other)))
            return true;
    }
    return false;
}

int probing_mapped_files_read_linked(struct probing_mapped_files *files)
{
    const struct probing_program *program = files->program;
    struct r_debug debug;
    struct link_map map;
    files->linked.count = 0;
    if (target_read_memory(program->process.pid, program->process.hello.debug, &debug,
                           sizeof debug) != sizeof debug)
        return 0;
    for (uint64_t at = (uint64_t)debug.r_map; at && files->linked.count < LINKED_MOST;
         at = (uint64_t)map.l_next)
        if (target_read_memory(program->process.pid, at, &map, sizeof map) != sizeof map)
            break;
        else if (sprof_vec_push(&files->linked, map.l_addr))
            return SPROF_ENOMEM;
    return 0;
}

bool probing_mapped_files_is_linked(const struct probing_mapped_files *files, uint64_t bias)
{
    for (size_t i = 0; i < files->linked.count; i++)
        if (files->linked.items[i] == bias)
            return true;
    return false;
}

int probing_mapped_files_read(struct probing_mapped_files *files)
{
    files->now.count = 0;
    return target_each_mapping(files->program->process.pid, take_mapping, files);
}

void probing_mapped_files_keep(struct probing_mapped_files *files)
{
    files->before.count = 0;
    if (sprof_vec_reserve(&files->before, files->now.count))
        return;
    for (size_t i = 0; i < files->now.count; i++)
        if (!files->now.items[i].is_early)
            files->before.items[files->before.count++] = files->now.items[i];
}

void probing_mapped_files_release(struct probing_mapped_files *files)
{
    sprof_vec_release(&files->before);
    sprof_vec_release(&files->now);
    sprof_vec_release(&files->linked);
    sprof_vec_release(&files->paths);
}
