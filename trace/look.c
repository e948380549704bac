/* Reads what a process has mapped as code, and what its loader has loaded of that. */
#include "trace/look.h"

#include <link.h>
#include <string.h>

enum { LINKED_MOST = 16384 };

/* Keeps each path once, so that equal paths are one pointer. */
static const char *kept_path(struct trace_look *look, const char *path)
{
    const size_t length = sprof_file_path_length(path);
    for (size_t i = 0; i < look->paths.count; i++)
        if (strlen(look->paths.items[i]) == length && !memcmp(look->paths.items[i], path, length))
            return look->paths.items[i];
    char *kept = sprof_arena_alloc(&look->session->arena, length + 1);
    if (!kept || sprof_vec_push(&look->paths, (const char *)kept))
        return NULL;
    memcpy(kept, path, length); /* the rest is zero */
    return kept;
}

bool trace_mapped_is_of(const struct trace_mapped *mapped, const struct trace_file *file)
{
    return plan_identity(&mapped->file) == file->identity;
}

static int take_mapping(void *context, const struct model_mmap *mapping)
{
    struct trace_look *look = context;
    struct trace_mapped mapped = {.address = mapping->address,
                                  .size = mapping->size,
                                  .file_offset = mapping->file_offset,
                                  .file = mapping->file};
    if (!mapping->file.path || mapping->file.path[0] != '/' ||
        plan_is_generated(look->session->process.pid, mapping))
        return 0;
    mapped.file.path = kept_path(look, mapping->file.path);
    return !mapped.file.path || sprof_vec_push(&look->now, mapped) ? SPROF_ENOMEM : 0;
}

static bool is_same(const struct trace_mapped *a, const struct trace_mapped *b)
{
    return a->address == b->address && plan_identity(&a->file) == plan_identity(&b->file);
}

bool trace_look_had(const struct trace_look *look, const struct trace_mapped *mapped)
{
    for (size_t i = 0; i < look->before.count; i++)
        if (is_same(&look->before.items[i], mapped))
            return true;
    return false;
}

struct model_mmap trace_mapped_as_model(const struct trace_mapped *mapped)
{
    return (struct model_mmap){mapped->address, mapped->size, mapped->file_offset, mapped->file};
}

bool trace_look_has_other(const struct trace_look *look, size_t index)
{
    const struct trace_mapped *mapped = &look->now.items[index];
    const struct model_mmap mapping = trace_mapped_as_model(mapped);
    for (size_t i = 0; i < look->now.count; i++) {
        const struct model_mmap other = trace_mapped_as_model(&look->now.items[i]);
        if (plan_identity(&other.file) == plan_identity(&mapped->file) &&
            (i < index || trace_look_had(look, &look->now.items[i])) &&
            (plan_is_same_copy(&other, &mapping) ||
             !plan_is_idle_copy(look->session->process.pid, &other)))
            return true;
    }
    return false;
}

int trace_look_read_linked(struct trace_look *look)
{
    const struct trace_session *session = look->session;
    struct r_debug debug;
    struct link_map map;
    look->linked.count = 0;
    if (target_read_memory(session->process.pid, session->process.hello.debug, &debug,
                           sizeof debug) != sizeof debug)
        return 0;
    for (uint64_t at = (uint64_t)debug.r_map; at && look->linked.count < LINKED_MOST;
         at = (uint64_t)map.l_next)
        if (target_read_memory(session->process.pid, at, &map, sizeof map) != sizeof map)
            break;
        else if (sprof_vec_push(&look->linked, map.l_addr))
            return SPROF_ENOMEM;
    return 0;
}

bool trace_look_is_linked(const struct trace_look *look, uint64_t bias)
{
    for (size_t i = 0; i < look->linked.count; i++)
        if (look->linked.items[i] == bias)
            return true;
    return false;
}

int trace_look_again(struct trace_look *look)
{
    look->now.count = 0;
    return target_each_mapping(look->session->process.pid, take_mapping, look);
}

void trace_look_keep(struct trace_look *look)
{
    look->before.count = 0;
    if (sprof_vec_reserve(&look->before, look->now.count))
        return;
    for (size_t i = 0; i < look->now.count; i++)
        if (!look->now.items[i].is_early)
            look->before.items[look->before.count++] = look->now.items[i];
}

void trace_look_release(struct trace_look *look)
{
    sprof_vec_release(&look->before);
    sprof_vec_release(&look->now);
    sprof_vec_release(&look->linked);
    sprof_vec_release(&look->paths);
}
