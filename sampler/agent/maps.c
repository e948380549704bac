/* Follows what a process has mapped, of which an agent cannot speak. */
#include "sampler/agent/sigprof_source.h"

/* How often a process is looked at that unmaps code: what it maps in its place would be taken for
 * what was there. */
enum { LOOK_NS = 10000000 };

struct telling {
    struct sigprof_source *source;
    struct sigprof_process *process;
    struct sprof_map now;
    uint64_t time_ns;
};

static uint64_t hash_of(const struct model_mmap *mapping)
{
    uint64_t hash = sprof_hash_pair(mapping->address, mapping->size);
    hash = sprof_hash_pair(hash, mapping->file_offset);
    hash = sprof_hash_pair(hash, mapping->file.inode);
    return sprof_hash_pair(hash,
                           (uint64_t)mapping->file.device_major << 32 | mapping->file.device_minor);
}

static int tell(void *context, const struct model_mmap *mapping)
{
    struct telling *telling = context;
    const uint64_t hash = hash_of(mapping);
    if (sprof_map_put(&telling->now, hash, 1))
        return SPROF_ENOMEM;
    if (sprof_map_get(&telling->process->mappings, hash))
        return 0;
    const struct model_record record = {.type = MODEL_RECORD_MMAP,
                                        .time_ns = telling->time_ns,
                                        .pid = telling->process->pid,
                                        .tid = telling->process->pid,
                                        .cpu = -1,
                                        .mapping = *mapping};
    return sigprof_events_add(&telling->source->events, &record);
}

int sigprof_maps_tell(struct sigprof_source *source, struct sigprof_process *process,
                      uint64_t time_ns, uint64_t now_ns)
{
    struct telling telling = {.source = source, .process = process, .time_ns = time_ns};
    const int result = target_each_mapping(process->pid, tell, &telling);
    sprof_map_release(&process->mappings); /* what is gone may come again */
    process->mappings = telling.now;
    process->looked_ns = now_ns;
    return result;
}

/* Only code that takes the place of other code must be noticed here: at an address where nothing
 * was known, samples themselves give it away. From the first dlclose on that may happen at any
 * time. */
int sigprof_maps_look(struct sigprof_source *source, struct sigprof_process *process,
                      uint64_t now_ns)
{
    const struct agent_control *control = &process->shared->control;
    const uint64_t changes = atomic_load_explicit(&control->maps_changes, memory_order_acquire);
    const uint64_t changed_ns = atomic_load_explicit(&control->maps_ns, memory_order_relaxed);
    const bool changed = changes != process->maps_changes;
    if (process->ended || (!changed && !process->unmaps) || now_ns - process->looked_ns < LOOK_NS)
        return 0;
    const uint64_t before_ns = process->looked_ns;
    const bool between = changed && changed_ns > before_ns && changed_ns < now_ns;
    process->unmaps = true;
    process->maps_changes = changes;
    return sigprof_maps_tell(source, process, between ? changed_ns : before_ns, now_ns);
}
