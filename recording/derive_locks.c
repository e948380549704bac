/* From addresses of locks that threads waited for to names: each is looked for in the module that
 * is mapped next below it. */
#include "recording/derive_names.h"

#include "model/fields.h"

#include <stdlib.h>
#include <string.h>

struct lock {
    uint32_t process;
    uint64_t address;
    uint32_t module;              /* position in derive->modules + 1; 0: none lies below it */
    uint64_t mapped, file_offset; /* of the module's mapping that is next below it */
};

struct locks {
    struct derive *derive;
    uint32_t run;
    uint32_t event; /* that has locks; 0: none */
    struct model_field field;
    struct sprof_map process_of; /* thread → process */
    struct sprof_map index;      /* hash of process and address → position + 1 */
    SPROF_VEC(struct lock) items;
};

/* == Which there are == */

static int take_field(void *context, const struct store_event_field *row)
{
    struct locks *locks = context;
    if (strcmp(row->name, MODEL_FIELD_LOCK) != 0)
        return 0;
    locks->event = row->event_id;
    locks->field = (struct model_field){
        .offset = row->offset, .bytes = row->bytes, .kind = MODEL_FIELD_POINTER};
    return 0;
}

static int take_thread(void *context, const struct store_thread *row)
{
    struct locks *locks = context;
    return sprof_map_put(&locks->process_of, row->id, row->process_id);
}

static int take_wait(void *context, const struct store_sample_fields *row)
{
    struct locks *locks = context;
    const uint64_t *process = sprof_map_get(&locks->process_of, row->thread_id);
    if (row->event_id != locks->event || !process)
        return 0;
    const struct lock lock = {.process = (uint32_t)*process,
                              .address = model_field_number(&locks->field, row->bytes)};
    uint64_t *known = sprof_map_at(&locks->index, sprof_hash_pair(lock.process, lock.address));
    if (!known)
        return SPROF_ENOMEM;
    if (*known)
        return 0;
    *known = locks->items.count + 1;
    return sprof_vec_push(&locks->items, lock);
}

/* Data of a module is mapped behind its code, which is what mappings are known of. */
static int take_mapping(void *context, const struct store_mapping *row)
{
    struct locks *locks = context;
    const uint64_t *module = sprof_map_get(&locks->derive->module_index, row->module_id);
    for (size_t i = 0; module && i < locks->items.count; i++) {
        struct lock *lock = &locks->items.items[i];
        if (lock->process != row->process_id || row->start > lock->address ||
            (lock->module && row->start < lock->mapped))
            continue;
        lock->module = (uint32_t)*module + 1;
        lock->mapped = row->start;
        lock->file_offset = row->file_offset;
    }
    return 0;
}

/* == Names == */

struct naming {
    struct locks *locks;
    const size_t *asked; /* positions in locks->items */
};

static int add_name(void *context, size_t index, const char *name)
{
    const struct naming *naming = context;
    struct locks *locks = naming->locks;
    const struct lock *lock = &locks->items.items[naming->asked[index]];
    const struct store_lock_name row = {.run_id = locks->run,
                                        .process_id = lock->process,
                                        .address = lock->address,
                                        .name = sprof_arena_text(&locks->derive->arena, name)};
    return row.name ? sprof_vec_push(&locks->derive->derived.lock_names, row) : SPROF_ENOMEM;
}

/* The locks that lie in a module. */
static int name_in(struct locks *locks, uint32_t module)
{
    struct derive_module *of = &locks->derive->modules.items[module - 1];
    const struct symbolize_options options = {.cache = locks->derive->source->cache,
                                              .log = locks->derive->source->log};
    size_t *asked = calloc(locks->items.count, sizeof *asked), count = 0;
    uint64_t *addresses = calloc(locks->items.count, sizeof *addresses), vaddr;
    recording_derive_open_image(locks->derive, of);
    for (size_t i = 0; asked && addresses && i < locks->items.count; i++) {
        const struct lock *lock = &locks->items.items[i];
        if (lock->module != module || !of->image ||
            !image_vaddr_of_mapping(of->image, lock->file_offset, &vaddr))
            continue;
        asked[count] = i;
        addresses[count++] = vaddr + (lock->address - lock->mapped);
    }
    struct naming naming = {locks, asked};
    int result = asked && addresses ? 0 : SPROF_ENOMEM;
    if (!result && count)
        result = symbolize_objects(of->image, &options, addresses, count, add_name, &naming);
    free(asked);
    free(addresses);
    return result;
}

static int name_all(struct locks *locks)
{
    int result = 0;
    for (uint32_t module = 1; module <= locks->derive->modules.count && !result; module++)
        for (size_t i = 0; i < locks->items.count; i++)
            if (locks->items.items[i].module == module) {
                result = name_in(locks, module);
                break;
            }
    return result;
}

static int name_run(struct locks *locks, struct sprof_error *error)
{
    struct store *store = locks->derive->store;
    int result = store_each_event_field(store, locks->run, take_field, locks, error);
    if (result || !locks->event)
        return result;
    result = store_each_thread(store, locks->run, take_thread, locks, error);
    if (!result)
        result = store_each_sample_fields(store, locks->run, take_wait, locks, error);
    if (!result && locks->items.count)
        result = store_each_mapping(store, locks->run, take_mapping, locks, error);
    return result ? result : name_all(locks);
}

int recording_derive_locks(struct derive *derive, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < derive->runs.count && !result; i++) {
        struct locks locks = {.derive = derive, .run = derive->runs.items[i].id};
        if (!derive->runs.items[i].kept)
            result = name_run(&locks, error);
        sprof_map_release(&locks.process_of);
        sprof_map_release(&locks.index);
        sprof_vec_release(&locks.items);
    }
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}
