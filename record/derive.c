#include "record/derive.h"

#include "record/record.h"

#include <string.h>

static void release(struct derive *derive)
{
    for (size_t i = 0; i < derive->modules.count; i++) {
        image_free(derive->modules.items[i].owned_image);
        unwind_table_free(derive->modules.items[i].table);
    }
    sprof_vec_release(&derive->runs);
    sprof_vec_release(&derive->modules);
    sprof_vec_release(&derive->frames);
    sprof_vec_release(&derive->nodes);
    sprof_vec_release(&derive->chains);
    sprof_vec_release(&derive->functions);
    sprof_map_release(&derive->module_index);
    sprof_map_release(&derive->frame_index);
    sprof_map_release(&derive->node_index);
    sprof_map_release(&derive->function_index);
    symbolize_kernel_free(derive->kernel);
    model_paths_release(&derive->paths);
    store_derived_release(&derive->derived);
    sprof_arena_release(&derive->arena);
}

int record_derive_store(struct store *store, const struct record_derive_source *source,
                        struct sprof_error *error)
{
    struct derive derive = {.store = store, .source = source};
    int result = derive_load(&derive, error);
    if (!result)
        result = derive_names(&derive, error);
    if (!result)
        result = derive_costs(&derive, error);
    if (!result)
        result = store_write_derived(store, &derive.derived, error);
    release(&derive);
    return result;
}

int record_derive_import(struct store *store, const struct sprof_intern *names,
                         struct sprof_error *error)
{
    static const struct record_derive_source nothing = {0};
    struct derive derive = {.store = store, .source = &nothing};
    int result = derive_load(&derive, error);
    if (!result)
        result = derive_given_names(&derive, names, error);
    if (!result)
        result = derive_costs(&derive, error);
    if (!result)
        result = store_write_derived(store, &derive.derived, error);
    release(&derive);
    return result;
}

struct run_states {
    SPROF_VEC(uint32_t) ids;
    bool incomplete, imported;
};

static int note_run(void *context, const struct store_run *run)
{
    struct run_states *states = context;
    states->incomplete |= run->state != STORE_COMPLETE;
    states->imported |= strcmp(run->source, "import") == 0;
    return sprof_vec_push(&states->ids, run->id);
}

int record_derive(const char *path, const struct record_derive_options *options,
                  struct sprof_error *error)
{
    struct store *store;
    struct run_states states = {0};
    int result = store_open_write(&store, path, error);
    if (result)
        return result;
    result = store_each_run(store, note_run, &states, error);
    if (!result && !states.imported && (states.incomplete || options->again)) {
        const struct record_derive_source source = {.log = options->log, .rules = options->rules};
        result = record_derive_store(store, &source, error);
        for (size_t i = 0; i < states.ids.count && !result; i++)
            result = store_set_state(store, states.ids.items[i], STORE_COMPLETE, error);
    }
    sprof_vec_release(&states.ids);
    const int closed = store_close(store, result ? NULL : error);
    return result ? result : closed;
}
