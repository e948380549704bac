/* Keeps where processes belong: each distinct user, cgroup and container once. */
#include "recording/parts.h"

#include <string.h>

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static bool same(const struct target_origin *a, const struct target_origin *b)
{
    return a->uid == b->uid && same_text(a->user, b->user) && same_text(a->cgroup, b->cgroup) &&
           same_text(a->container, b->container);
}

static uint64_t hash_of(const struct target_origin *origin)
{
    const uint64_t group = sprof_hash_text(origin->cgroup ? origin->cgroup : "");
    const uint64_t user = sprof_hash_text(origin->user ? origin->user : "");
    return sprof_hash_pair(
        sprof_hash_pair(origin->uid, user),
        sprof_hash_pair(group, sprof_hash_text(origin->container ? origin->container : "")));
}

static int keep_text(struct recording *recording, const char **text)
{
    const char *found = *text;
    *text = sprof_arena_text(&recording->arena, found);
    return found && !*text ? SPROF_ENOMEM : 0;
}

/* The kept one of the same content; NULL when out of memory. */
static const struct target_origin *keep(struct recording *recording,
                                        const struct target_origin *found)
{
    uint64_t *number = sprof_map_at(&recording->origin_numbers, hash_of(found));
    if (!number)
        return NULL;
    if (*number && same(recording->origins.items[*number - 1], found))
        return recording->origins.items[*number - 1];
    struct target_origin *kept = sprof_arena_alloc(&recording->arena, sizeof *kept);
    if (!kept)
        return NULL;
    *kept = *found;
    if (keep_text(recording, &kept->user) || keep_text(recording, &kept->cgroup) ||
        keep_text(recording, &kept->container) || sprof_vec_push(&recording->origins, kept))
        return NULL;
    *number = recording->origins.count;
    return kept;
}

/* Processes that were forked before the answer belong where the process that forked them does,
 * unless an answer of their own has come. */
int recording_set_origin(struct recording *recording, struct model_process *process,
                         const struct target_origin *found)
{
    const struct model_process_table *table = &recording->process_table;
    const struct target_origin *origin = keep(recording, found);
    const void *before = process->origin;
    if (!origin)
        return SPROF_ENOMEM;
    process->origin = origin;
    process->dirty = true;
    for (size_t i = process->id - table->first_process; i < table->processes.count && !before;
         i++) {
        struct model_process *heir = table->processes.items[i];
        if (heir->origin || !heir->parent)
            continue;
        heir->origin = recording_process(recording, heir->parent)->origin;
        heir->dirty = heir->dirty || heir->origin;
    }
    return 0;
}

int recording_add_origin(struct recording *recording, pid_t pid,
                         const struct store_process_origin *origin)
{
    struct model_process *process = model_process_table_process(&recording->process_table, pid, 0);
    const struct target_origin found = {origin->uid, origin->user, origin->cgroup,
                                        origin->container};
    return process ? recording_set_origin(recording, process, &found) : SPROF_ENOMEM;
}

int recording_origin_row(const struct model_process *process, struct store_batch *batch)
{
    const struct target_origin *origin = process->origin;
    if (!origin)
        return 0;
    return sprof_vec_push(&batch->process_origins,
                          ((struct store_process_origin){.process_id = process->id,
                                                         .uid = origin->uid,
                                                         .user = origin->user,
                                                         .cgroup = origin->cgroup,
                                                         .container = origin->container}));
}

void recording_origins_release(struct recording *recording)
{
    sprof_vec_release(&recording->origins);
    sprof_map_release(&recording->origin_numbers);
}
