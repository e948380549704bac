/* Notes by whose rights the programs run that are sampled or traced. */
#include "recording/parts.h"

#include <string.h>

/* Each distinct user is a row: readers show a source only where all of them may read it. */
static int add_user(struct recording *recording, const struct sprof_proc_user *user)
{
    for (size_t i = 0; i < recording->users.count; i++) {
        const struct store_sampled_user *known = &recording->users.items[i];
        if (known->uid == user->uid && known->gid == user->gid &&
            !strcmp(known->groups, user->groups))
            return 0;
    }
    const struct store_sampled_user row = {
        .run_id = recording->run.id,
        .uid = user->uid,
        .gid = user->gid,
        .groups = sprof_arena_text(&recording->arena, user->groups),
    };
    return !row.groups || sprof_vec_push(&recording->users, row) ||
                   sprof_vec_push(&recording_writer_batch(&recording->writer)->rows.sampled_users,
                                  row)
               ? SPROF_ENOMEM
               : 0;
}

int recording_note_user(struct recording *recording, const struct model_process *process)
{
    struct sprof_proc_user user;
    if (sprof_proc_user_read(process->pid, &user))
        return add_user(recording, &user);
    return sprof_map_put(&recording->of_unknown_users, process->id, 1) ? SPROF_ENOMEM : 0;
}

/* A fork has the user of what it was forked by, until it executes a program. */
static bool is_of_unknown_user(const struct recording *recording,
                               const struct model_process *process)
{
    while (!sprof_map_get(&recording->of_unknown_users, process->id)) {
        if (process->space.exec_ns || !process->parent)
            return false;
        process = recording_process(recording, process->parent);
    }
    return true;
}

int recording_add_unknown_user(struct recording *recording)
{
    const struct model_process_table *table = &recording->process_table;
    const struct sprof_proc_user unknown = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    const bool is_by_samples = recording->run.frequency_hz > 0;
    bool is_there = false;
    if (!recording->of_unknown_users.count)
        return 0;
    for (size_t i = 0; i < table->processes.count && !is_there; i++) {
        const struct model_process *process = table->processes.items[i];
        is_there = (process->sampled || !is_by_samples) && is_of_unknown_user(recording, process);
    }
    return is_there ? add_user(recording, &unknown) : 0;
}
