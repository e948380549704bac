/* The step from a finished recording to names, call paths and costs, and what starts it. */
#include "recording/derive.h"

#include "recording/recording.h"

#include <stdlib.h>
#include <string.h>

void recording_derive_release(struct derive *derive)
{
    recording_closing_end(&derive->closing);
    for (size_t i = 0; i < derive->modules.count; i++) {
        image_free(derive->modules.items[i].owned_image);
        unwind_table_free(derive->modules.items[i].table);
    }
    for (size_t i = 0; i < derive->runs.count; i++)
        recording_derive_events_release(&derive->runs.items[i]);
    sprof_vec_release(&derive->runs);
    sprof_vec_release(&derive->modules);
    sprof_vec_release(&derive->frames);
    sprof_vec_release(&derive->nodes);
    sprof_vec_release(&derive->levels);
    sprof_vec_release(&derive->functions);
    sprof_vec_release(&derive->function_rows);
    sprof_vec_release(&derive->function_changed);
    sprof_map_release(&derive->module_index);
    sprof_vec_release(&derive->processes);
    sprof_map_release(&derive->process_index);
    sprof_map_release(&derive->frame_index);
    sprof_map_release(&derive->function_index);
    sprof_map_release(&derive->older);
    symbolize_kernel_free(derive->kernel);
    model_paths_release(&derive->paths);
    sprof_vec_release(&derive->path_rows);
    store_derived_release(&derive->derived);
    sprof_arena_release(&derive->arena);
}

static int compare_ids(const void *left, const void *right)
{
    const struct store_frame *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Rows that are written in the order of their ids fill their pages. */
static void sort_frames(struct derive *derive)
{
    if (derive->derived.frames.count)
        qsort(derive->derived.frames.items, derive->derived.frames.count,
              sizeof *derive->derived.frames.items, compare_ids);
}

/* Whether what has no name was looked up, and has none still. */
static bool found_nothing(const struct derive *derive)
{
    const struct recording_derive_source *source = derive->source;
    bool complete = true;
    for (size_t i = 0; i < derive->runs.count; i++)
        complete &= derive->runs.items[i].complete;
    return complete && source->unnamed && !source->again && !source->rules.count &&
           !derive->derived.frames.count;
}

static int load(struct derive *derive, struct sprof_error *error)
{
    int result = store_begin_reading(derive->store, error);
    if (!result)
        result = recording_derive_load(derive, error);
    store_end_reading(derive->store);
    return result;
}

/* Where samples got other nodes, everything is read again. */
static int load_split(struct derive *derive, struct sprof_error *error)
{
    bool changed = false;
    int result = load(derive, error);
    if (!result)
        result = recording_derive_split_jit(derive, &changed, error);
    if (result || !changed)
        return result;
    const struct derive again = {.store = derive->store,
                                 .source = derive->source,
                                 .import = derive->import,
                                 .older = derive->older};
    derive->older = (struct sprof_map){0};
    recording_derive_release(derive);
    *derive = again;
    return load(derive, error);
}

/* `names` are those of imported stacks; NULL: they come from the symbolizer. */
static int run_step(struct derive *derive, const struct recording_names *names,
                    struct sprof_error *error)
{
    int result = load_split(derive, error);
    if (!result && derive->runs.count) {
        result = names ? recording_derive_given_names(derive, names, error)
                       : recording_derive_names(derive, error);
        derive->nothing_new = !result && found_nothing(derive);
        if (!result && recording_derive_keep_runs(derive))
            result = sprof_error_memory(error);
        if (!result && !derive->nothing_new)
            result = recording_derive_costs(derive, error);
        if (!result && !derive->nothing_new)
            result = recording_derive_locks(derive, error);
        if (!result && recording_derive_changed_rows(derive))
            result = sprof_error_memory(error);
        sort_frames(derive);
        if (!result)
            result = store_write_derived(derive->store, &derive->derived, error);
    }
    recording_derive_release(derive);
    return result;
}

int recording_derive_store(struct store *store, const struct recording_derive_source *source,
                           struct sprof_error *error)
{
    struct derive derive = {.store = store, .source = source};
    return run_step(&derive, NULL, error);
}

int recording_derive_import(struct store *store, const struct recording_names *names,
                            struct sprof_error *error)
{
    static const struct recording_derive_source again = {.again = true};
    struct derive derive = {.store = store, .source = &again, .import = true};
    return run_step(&derive, names, error);
}

int recording_derive_copy(struct store *store, const struct recording_derive_options *options,
                          struct sprof_error *error)
{
    const struct recording_derive_source source = {
        .cache = options->again || options->no_cache ? NULL : cache_open(NULL),
        .log = options->log,
        .rules = options->rules,
        .root = options->root,
        .again = options->again,
        .unnamed = options->unnamed,
    };
    const int result = recording_derive_store(store, &source, error);
    cache_free(source.cache, 0);
    return result;
}

int recording_derive(const char *path, const struct recording_derive_options *options,
                     struct sprof_error *error)
{
    struct store *store = NULL;
    int result = store_open_write(&store, path, error);
    if (!result)
        result = recording_derive_copy(store, options, error);
    if (!store)
        return result;
    const int closed = store_close(store, result ? NULL : error);
    return result ? result : closed;
}
