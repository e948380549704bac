/* What is derived of a recording that goes on, kept between looks at it: each look reads, names and
 * adds up only what is new, and leaves the rows in memory, where reports find them. */
#include "recording/derive.h"

#include <stdlib.h>
#include <string.h>

/* Ids of inlined levels, which the recorder's frames never come to. */
enum { FIRST_LEVEL_ID = INT32_MAX };

struct recording_live {
    char *path;
    bool lines;
    struct recording_derive_source source;
    struct store *store; /* the copy; NULL: none yet */
    struct derive derive;
    bool derived; /* `derive` is of the copy's run */
    SPROF_VEC(struct store_node) nodes;
    struct store_held held;
};

static void forget(struct recording_live *live)
{
    recording_derive_release(&live->derive);
    live->derive = (struct derive){0};
    live->derived = false;
}

static void close_copy(struct recording_live *live)
{
    forget(live);
    store_close(live->store, NULL);
    live->store = NULL;
}

int recording_live_open(struct recording_live **live, const char *path, bool lines,
                        struct sprof_error *error)
{
    *live = calloc(1, sizeof **live);
    if (!*live || !((*live)->path = strdup(path))) {
        free(*live);
        *live = NULL;
        return sprof_error_memory(error);
    }
    (*live)->lines = lines;
    (*live)->source.cache = cache_open(NULL);
    (*live)->source.namer = recording_namer_open(false, NULL); /* without it files are reread */
    return 0;
}

void recording_live_free(struct recording_live *live)
{
    if (!live)
        return;
    close_copy(live);
    sprof_vec_release(&live->nodes);
    recording_namer_free(live->source.namer);
    cache_free(live->source.cache, 0);
    free(live->path);
    free(live);
}

/* == Rows == */

static int frame_rows(struct derive *derive)
{
    for (int inlined = 0; inlined < 2; inlined++) /* their ids are larger */
        for (size_t i = 0; i < derive->frames.count; i++) {
            const struct derive_frame *frame = &derive->frames.items[i];
            struct store_frame row = {.id = frame->id,
                                      .module_id = frame->module,
                                      .key = frame->key,
                                      .file_offset = frame->offset};
            const uint32_t end = inlined ? frame->chain_count : 1;
            for (uint32_t k = inlined ? 1 : 0; k < end; k++) {
                const struct derive_level *level = &derive->levels.items[frame->chain + k];
                const bool more = k + 1 < frame->chain_count;
                if (frame->chain_count) {
                    row.id = level->frame;
                    row.function_id = level->function;
                    row.file = level->file;
                    row.line = level->line;
                }
                row.key = k && frame->key ? sprof_hash_pair(frame->key, k) : frame->key;
                row.inline_depth = k;
                row.inline_parent_id = more ? level[1].frame : 0;
                if (sprof_vec_push(&derive->derived.frames, row))
                    return SPROF_ENOMEM;
            }
        }
    return 0;
}

static int node_rows(struct recording_live *live)
{
    const struct derive *derive = &live->derive;
    for (size_t i = live->nodes.count; i < derive->nodes.count; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        const struct store_node row = {
            .id = node->id,
            .parent_id = node->parent ? derive->nodes.items[node->parent - 1].id : 0,
            .frame_id = node->frame,
            .depth = node->depth,
            .guessed = node->guessed};
        if (sprof_vec_push(&live->nodes, row))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int event_rows(struct derive *derive)
{
    struct store_derived *derived = &derive->derived;
    const struct derive_run *run = &derive->runs.items[0];
    for (size_t k = 0; k < run->events.count; k++) {
        const struct derive_event *event = &run->events.items[k];
        const struct store_event_cost row = {run->id,        event->id, event->cost,
                                             event->squares, true,      0};
        if (sprof_vec_push(&derived->event_costs, row))
            return SPROF_ENOMEM;
        for (size_t i = 0; i < event->threads.count; i++)
            if (sprof_vec_push(&derived->thread_costs, event->threads.items[i]))
                return SPROF_ENOMEM;
        for (size_t i = 0; i < event->pairs.count; i++)
            if (sprof_vec_push(&derived->thread_node_costs,
                               recording_derive_pair_row(&event->pairs.items[i])))
                return SPROF_ENOMEM;
    }
    return 0;
}

/* All but paths are made anew. */
static int make_rows(struct recording_live *live)
{
    struct derive *derive = &live->derive;
    derive->derived.frames.count = 0; /* those that got names are among all */
    for (size_t i = 0; i < derive->modules.count; i++)
        derive->modules.items[i].changed = true;
    for (size_t i = 0; i < derive->function_rows.count; i++)
        derive->function_changed.items[i] = derive->function_rows.items[i].id != 0;
    return recording_derive_changed_rows(derive) || frame_rows(derive) || node_rows(live) ||
                   event_rows(derive)
               ? SPROF_ENOMEM
               : 0;
}

static void clear_rows(struct derive *derive)
{
    struct store_derived *derived = &derive->derived;
    derived->runs.count = derived->forgotten_frames.count = 0;
    derived->modules.count = derived->frames.count = derived->functions.count = 0;
    derived->node_paths.count = derived->sample_summaries.count = derived->event_costs.count = 0;
    derived->thread_costs.count = derived->thread_node_costs.count = 0;
    derived->path_costs.count = derived->line_costs.count = 0;
}

/* == Deriving == */

static int note_unit(void *context, const struct store_event *event)
{
    bool *of_calls = context;
    *of_calls |= event->unit == STORE_UNIT_CALL;
    return 0;
}

/* What probes measured, and stacks between those of other runs, are derived whole each time. */
static int is_plain(const struct derive *derive, bool *plain, struct sprof_error *error)
{
    const size_t nodes = derive->nodes.count;
    bool of_calls = false;
    *plain = derive->runs.count == 1 &&
             (!nodes || derive->nodes.items[nodes - 1].id - derive->nodes.items[0].id == nodes - 1);
    const int result = *plain ? store_each_event(derive->store, derive->runs.items[0].id, note_unit,
                                                 &of_calls, error)
                              : 0;
    *plain = *plain && !of_calls;
    return result;
}

static int derive_more(struct recording_live *live, struct sprof_error *error)
{
    struct derive *derive = &live->derive;
    int result;
    if (live->derived) {
        clear_rows(derive);
        derive->repath = false;
        result = recording_derive_load_more(derive, error);
    } else {
        *derive = (struct derive){
            .store = live->store, .source = &live->source, .live = true, .lines = live->lines};
        live->nodes.count = 0;
        result = recording_derive_load(derive, error);
        derive->last_frame_id = FIRST_LEVEL_ID;
    }
    bool plain = false;
    if (!result)
        result = is_plain(derive, &plain, error);
    if (result || !plain)
        return result;
    result = recording_derive_names(derive, error);
    if (!result && derive->repath) {
        model_paths_release(&derive->paths);
        derive->path_rows.count = derive->derived.paths.count = 0;
    }
    for (size_t i = 0; i < derive->frames.count; i++) {
        derive->frames.items[i].asked |= derive->frames.items[i].wanted;
        derive->frames.items[i].wanted = false;
    }
    if (!result)
        result = recording_derive_costs(derive, error);
    if (!result && make_rows(live))
        result = sprof_error_memory(error);
    live->derived = true;
    return result;
}

struct phases {
    const struct derive_run *run;
    size_t count;
};

/* 1: another mode came to a run of one. */
static int note_phase(void *context, const struct store_phase *phase)
{
    struct phases *phases = context;
    const struct model_view view = model_view_of(phase->mode, phase->frame, phase->app_interior);
    phases->count++;
    return !phases->run->phases.count &&
           model_view_lost(&view) != model_view_lost(&phases->run->view);
}

/* 1: what was kept is of no use any more. */
static int update(struct recording_live *live, struct sprof_error *error)
{
    bool cleared = false;
    int status = live->derived ? store_update_copy(live->store, &cleared, error) : 1;
    if (status)
        return status;
    if (cleared) {
        forget(live);
        return 0;
    }
    /* Whether phases have come is seen in the database only. */
    struct phases phases = {.run = &live->derive.runs.items[0]};
    status = store_each_phase(live->store, phases.run->id, note_phase, &phases, error);
    return status ? status : phases.run->phases.count && phases.count != phases.run->phases.count;
}

int recording_live_look(struct recording_live *live, const struct sprof_log *log,
                        struct store **store, struct sprof_error *error)
{
    live->source.log = log;
    *store = NULL;
    int status = update(live, error);
    if (status > 0) {
        close_copy(live);
        status = store_open_copy(&live->store, live->path, error);
    }
    if (!status && store_running(live->store)) {
        status = derive_more(live, error);
        if (!status && live->derived) {
            live->held = (struct store_held){live->derive.runs.items[0].id, &live->derive.derived,
                                             live->nodes.items, live->nodes.count};
            status = store_hold(live->store, &live->held, error);
        }
    }
    if (!status && !live->derived) {
        forget(live);
        status = recording_derive_store(live->store, &live->source, error);
    }
    if (status)
        close_copy(live);
    else
        *store = live->store;
    return status;
}
