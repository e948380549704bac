#include "record/finish.h"

#include "record/record.h"

#include <string.h>

static void release(struct finish *finish)
{
    for (size_t i = 0; i < finish->modules.count; i++) {
        image_free(finish->modules.items[i].owned_image);
        unwind_table_free(finish->modules.items[i].table);
    }
    sprof_vec_release(&finish->runs);
    sprof_vec_release(&finish->modules);
    sprof_vec_release(&finish->frames);
    sprof_vec_release(&finish->nodes);
    sprof_vec_release(&finish->chains);
    sprof_vec_release(&finish->functions);
    sprof_map_release(&finish->module_index);
    sprof_map_release(&finish->frame_index);
    sprof_map_release(&finish->node_index);
    sprof_map_release(&finish->function_index);
    symbolize_kernel_free(finish->kernel);
    model_paths_release(&finish->paths);
    store_derived_release(&finish->derived);
    sprof_arena_release(&finish->arena);
}

int record_finish_store(struct store *store, const struct record_finish_source *source,
                        struct sprof_error *error)
{
    struct finish finish = {.store = store, .source = source};
    int result = finish_load(&finish, error);
    if (!result)
        result = finish_names(&finish, error);
    if (!result)
        result = finish_costs(&finish, error);
    if (!result)
        result = store_write_derived(store, &finish.derived, error);
    release(&finish);
    return result;
}

int record_finish_import(struct store *store, const struct sprof_intern *names,
                         struct sprof_error *error)
{
    static const struct record_finish_source nothing = {0};
    struct finish finish = {.store = store, .source = &nothing};
    int result = finish_load(&finish, error);
    if (!result)
        result = finish_given_names(&finish, names, error);
    if (!result)
        result = finish_costs(&finish, error);
    if (!result)
        result = store_write_derived(store, &finish.derived, error);
    release(&finish);
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

int record_finish(const char *path, const struct record_finish_options *options,
                  struct sprof_error *error)
{
    struct store *store;
    struct run_states states = {0};
    int result = store_open_write(&store, path, error);
    if (result)
        return result;
    result = store_each_run(store, note_run, &states, error);
    if (!result && !states.imported && (states.incomplete || options->again)) {
        const struct record_finish_source source = {.log = options->log, .rules = options->rules};
        result = record_finish_store(store, &source, error);
        for (size_t i = 0; i < states.ids.count && !result; i++)
            result = store_set_state(store, states.ids.items[i], STORE_COMPLETE, error);
    }
    sprof_vec_release(&states.ids);
    const int closed = store_close(store, result ? NULL : error);
    return result ? result : closed;
}
