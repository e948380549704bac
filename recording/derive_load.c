/* Reading a recording for deriving. */
#include "recording/derive_names.h"

#include <stdlib.h>
#include <string.h>

/* Function ids that are missing in a row: more of them are damage. */
enum { MAX_GAP = 1 << 24 };

static int finish(int result, struct sprof_error *error)
{
    if (result == SPROF_EFORMAT && error && !error->code)
        return sprof_error_set(
            error, SPROF_EFORMAT, 0,
            "the recording is damaged: its call tree refers to rows that are missing");
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}

/* == Runs == */

static bool is_this_boot(const char *recorded)
{
    char boot_id[SPROF_BOOT_ID_SIZE];
    sprof_proc_boot_id(boot_id);
    return *boot_id && recorded && strcmp(boot_id, recorded) == 0;
}

/* The names of imported stacks came with them: they cannot be looked up. */
static int load_run(void *context, const struct store_run *run)
{
    struct derive *derive = context;
    const bool imported = model_source_is_import(run->source);
    const bool wanted =
        run->state != STORE_COMPLETE || derive->source->again || derive->source->unnamed;
    if (imported && !derive->import && derive->source->rules.count)
        sprof_log_message(derive->source->log, SPROF_LOG_WARNING,
                          "run %u was imported, and its application modules are fixed: give "
                          "--app-module or --system-module to `sprof import`, or when reading the "
                          "recording",
                          run->id);
    if ((imported && !derive->import) || !wanted) {
        derive->all = false;
        return 0;
    }
    const struct derive_run row = {
        .id = run->id,
        .same_boot = is_this_boot(run->boot_id),
        .complete = run->state == STORE_COMPLETE,
        .view = model_view_of(run->mode, run->frame, run->app_interior),
    };
    return sprof_vec_push(&derive->runs, row);
}

static int load_phase(void *context, const struct store_phase *phase)
{
    struct derive_run *run = context;
    const struct derive_phase row = {phase->start_ns,
                                     model_view_of(phase->mode, phase->frame, phase->app_interior)};
    const struct derive_stretch stretch = {phase->start_ns,
                                           phase->end_ns ? phase->end_ns : UINT64_MAX};
    return sprof_vec_push(&run->phases, row) || sprof_vec_push(&run->stretches, stretch)
               ? SPROF_ENOMEM
               : 0;
}

static int load_phases(struct derive *derive, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < derive->runs.count && !result; i++) {
        struct derive_run *run = &derive->runs.items[i];
        bool differ = false;
        result = store_each_phase(derive->store, run->id, load_phase, run, error);
        for (size_t k = 0; k < run->phases.count; k++)
            differ |= model_view_lost(&run->phases.items[k].view) != model_view_lost(&run->view);
        if (!differ)
            run->phases.count = 0;
    }
    return result;
}

/* == Modules and functions == */

static int load_module(void *context, const struct store_module *module)
{
    struct derive *derive = context;
    struct derive_module loaded = {.row = *module, .canonical = module->id};
    loaded.row.path = sprof_arena_text(&derive->arena, module->path);
    loaded.row.name = sprof_arena_text(&derive->arena, module->name);
    loaded.row.problem = sprof_arena_text(&derive->arena, module->problem);
    if (module->build_id.size) {
        loaded.row.build_id.data = (const uint8_t *)sprof_arena_copy(
            &derive->arena, (const char *)module->build_id.data, module->build_id.size);
        if (!loaded.row.build_id.data)
            return SPROF_ENOMEM;
    }
    if (sprof_map_put(&derive->module_index, module->id, derive->modules.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&derive->modules, loaded);
}

/* Those that are known keep what was found out about them. */
static int load_new_module(void *context, const struct store_module *module)
{
    const struct derive *derive = context;
    return sprof_map_get(&derive->module_index, module->id) ? 0 : load_module(context, module);
}

static int load_function(void *context, const struct store_function *function)
{
    struct derive *derive = context;
    const struct derive_module *module = recording_derive_module(derive, function->module_id);
    const size_t count = derive->functions.count;
    if (!module || !function->id || (function->id > count && function->id - count > MAX_GAP))
        return SPROF_EFORMAT;
    /* Functions that nothing refers to any more leave gaps. */
    if (recording_derive_extend_functions(derive, function->id))
        return SPROF_ENOMEM;
    return derive->function_rows.items[function->id - 1].id
               ? 0
               : recording_derive_keep_function(derive, module, function);
}

static int load_all_functions(struct derive *derive, struct sprof_error *error)
{
    derive->some_functions = false;
    return store_each_function(derive->store, load_function, derive, error);
}

/* Of a further run those are read that its frames have, and those of its modules once these are
 * known by their content. Where that would be a long list, all are. */
enum { LISTED_MAX = 500 };

static int load_functions(struct derive *derive, struct sprof_error *error)
{
    const struct recording_derive_source *source = derive->source;
    if (derive->all || derive->live || source->again || source->unnamed ||
        derive->last.function > MAX_GAP)
        return load_all_functions(derive, error);
    derive->some_functions = true;
    return recording_derive_extend_functions(derive, derive->last.function);
}

/* The functions of levels[first …) that are not there yet. */
static int load_functions_of_levels(struct derive *derive, size_t first, struct sprof_error *error)
{
    const size_t count = derive->functions.count;
    SPROF_VEC(uint32_t) ids = {0};
    bool *is_listed = calloc(count + 1, sizeof *is_listed);
    int result = is_listed ? 0 : SPROF_ENOMEM;
    for (size_t i = first; i < derive->levels.count && !result; i++) {
        const uint32_t id = derive->levels.items[i].function;
        if (id > count)
            result = SPROF_EFORMAT;
        else if (!derive->function_rows.items[id - 1].id && !is_listed[id])
            result = sprof_vec_push(&ids, id);
        if (!result)
            is_listed[id] = true;
    }
    if (!result && ids.count && derive->some_functions)
        result = ids.count > LISTED_MAX
                     ? load_all_functions(derive, error)
                     : store_each_function_among(derive->store, ids.items, ids.count, load_function,
                                                 derive, error);
    for (size_t i = 0; i < ids.count && !result; i++)
        if (!derive->function_rows.items[ids.items[i] - 1].id)
            result = SPROF_EFORMAT;
    sprof_vec_release(&ids);
    free(is_listed);
    return result;
}

int recording_derive_load_functions_of(struct derive *derive, const bool *is_wanted,
                                       struct sprof_error *error)
{
    SPROF_VEC(uint32_t) modules = {0};
    int result = 0;
    for (size_t i = 0; i < derive->modules.count && !result && derive->some_functions; i++)
        if (is_wanted[i])
            result = sprof_vec_push(&modules, derive->modules.items[i].row.id);
    if (!result && modules.count)
        result = modules.count > LISTED_MAX
                     ? load_all_functions(derive, error)
                     : store_each_function_of_modules(derive->store, modules.items, modules.count,
                                                      load_function, derive, error);
    sprof_vec_release(&modules);
    return finish(result, error);
}

/* == Frames == */

/* Inlined levels as stored, until they are in their frame's chain. */
struct inlined {
    SPROF_VEC(struct derive_level) levels;
    SPROF_VEC(uint32_t) outer;                /* of each: the id of the level around it */
    struct sprof_map index;                   /* frame id → position */
    SPROF_VEC(struct derive_level) innermost; /* by position of the physical frame */
    SPROF_VEC(uint32_t) innermost_outer;
};

struct loading {
    struct derive *derive;
    size_t first; /* position of the first frame that is being read */
    struct inlined inlined;
};

static int load_frame(void *context, const struct store_frame *frame)
{
    struct loading *loading = context;
    struct derive *derive = loading->derive;
    struct inlined *inlined = &loading->inlined;
    const struct derive_level level = {
        frame->function_id, sprof_arena_text(&derive->arena, frame->file), frame->line, frame->id};
    if (frame->inline_depth)
        return sprof_map_put(&inlined->index, frame->id, inlined->levels.count) ||
                       sprof_vec_push(&inlined->levels, level) ||
                       sprof_vec_push(&inlined->outer, frame->inline_parent_id)
                   ? SPROF_ENOMEM
                   : 0;
    const struct derive_frame loaded = {.id = frame->id,
                                        .module = frame->module_id,
                                        .offset = frame->file_offset,
                                        .key = frame->key};
    return sprof_map_put(&derive->frame_index, frame->id, derive->frames.count) ||
                   sprof_vec_push(&inlined->innermost, level) ||
                   sprof_vec_push(&inlined->innermost_outer, frame->inline_parent_id) ||
                   sprof_vec_push(&derive->frames, loaded)
               ? SPROF_ENOMEM
               : 0;
}

/* The chains that are stored already. A circle of damaged rows ends where all levels are used. */
static int link_chains(struct loading *loading)
{
    struct derive *derive = loading->derive;
    const struct inlined *inlined = &loading->inlined;
    for (size_t i = loading->first; i < derive->frames.count; i++) {
        struct derive_frame *frame = &derive->frames.items[i];
        const struct derive_level *level = &inlined->innermost.items[i - loading->first];
        uint32_t outer = inlined->innermost_outer.items[i - loading->first];
        if (!level->function)
            continue;
        frame->chain = derive->levels.count;
        for (;;) {
            if (!level->function || frame->chain_count > inlined->levels.count)
                return SPROF_EFORMAT;
            if (sprof_vec_push(&derive->levels, *level))
                return SPROF_ENOMEM;
            frame->chain_count++;
            const uint64_t *next = outer ? sprof_map_get(&inlined->index, outer) : NULL;
            if (!next)
                break;
            level = &inlined->levels.items[*next];
            outer = inlined->outer.items[*next];
        }
    }
    return 0;
}

static int load_frames_from(struct derive *derive, uint32_t first, struct sprof_error *error)
{
    struct loading loading = {.derive = derive, .first = derive->frames.count};
    const size_t levels = derive->levels.count;
    int result =
        store_each_frame_from(derive->store, first, UINT32_MAX, load_frame, &loading, error);
    if (!result)
        result = link_chains(&loading);
    if (!result)
        result = load_functions_of_levels(derive, levels, error);
    sprof_vec_release(&loading.inlined.levels);
    sprof_vec_release(&loading.inlined.outer);
    sprof_vec_release(&loading.inlined.innermost);
    sprof_vec_release(&loading.inlined.innermost_outer);
    sprof_map_release(&loading.inlined.index);
    return result;
}

/* Those of the nodes that were loaded, and the levels of their chains, which have larger ids. */
static int load_frames(struct derive *derive, struct sprof_error *error)
{
    uint32_t first = UINT32_MAX;
    for (size_t i = 0; i < derive->nodes.count; i++)
        if (derive->nodes.items[i].frame < first)
            first = derive->nodes.items[i].frame;
    return load_frames_from(derive, first, error);
}

/* == Nodes == */

struct loading_nodes {
    struct derive *derive;
    uint32_t first;  /* rows from this id on are being read */
    uint32_t wanted; /* the smallest parent that lies before them */
};

static int load_node(void *context, const struct store_node *node)
{
    struct loading_nodes *loading = context;
    const struct derive_node loaded = {.id = node->id,
                                       .parent = node->parent_id, /* an id until all are read */
                                       .frame = node->frame_id,
                                       .depth = node->depth,
                                       .guessed = node->guessed};
    if (node->parent_id && node->parent_id < loading->first && node->parent_id < loading->wanted)
        loading->wanted = node->parent_id;
    return sprof_vec_push(&loading->derive->nodes, loaded);
}

static int compare_nodes(const void *a, const void *b)
{
    const struct derive_node *first = a, *second = b;
    return first->id < second->id ? -1 : first->id > second->id;
}

/* A run's nodes lie together, but for those that runs of a merged file have in common: rows are
 * read from the first one that the runs need, then from the first one that those need. */
static int load_nodes(struct derive *derive, struct sprof_error *error)
{
    struct loading_nodes loading = {.derive = derive, .wanted = derive->all ? 1 : UINT32_MAX};
    int result = 0;
    for (size_t i = 0; i < derive->runs.count && !derive->all && !result; i++) {
        uint32_t node = 0;
        result = store_first_node(derive->store, derive->runs.items[i].id, &node, error);
        if (node && node < loading.wanted)
            loading.wanted = node;
    }
    size_t stretches = 0;
    for (uint32_t last = UINT32_MAX; loading.wanted <= last && !result; stretches++) {
        loading.first = loading.wanted;
        loading.wanted = UINT32_MAX;
        result =
            store_each_node_from(derive->store, loading.first, last, load_node, &loading, error);
        last = loading.first - 1;
    }
    if (stretches > 1 && derive->nodes.count)
        qsort(derive->nodes.items, derive->nodes.count, sizeof *derive->nodes.items, compare_nodes);
    return result;
}

/* Parents become positions. */
static int link_nodes(struct derive *derive, size_t first)
{
    for (size_t i = first; i < derive->nodes.count; i++) {
        struct derive_node *node = &derive->nodes.items[i];
        const size_t parent = node->parent ? recording_derive_find_node(derive, node->parent) : 0;
        if ((node->parent && !parent) || !sprof_map_get(&derive->frame_index, node->frame))
            return SPROF_EFORMAT;
        node->parent = (uint32_t)parent;
    }
    return 0;
}

/* == Mappings of the runs == */

static int load_mapping(void *context, const struct store_mapping *mapping)
{
    struct derive *derive = context;
    struct derive_module *module = recording_derive_module(derive, mapping->module_id);
    derive->read.mapping = mapping->id;
    if (module && module->row.kind == MODEL_KIND_KERNEL && !module->kernel_start) {
        module->kernel_start = mapping->start;
        module->kernel_offset = mapping->file_offset;
    }
    return 0;
}

/* == Samples == */

/* Marks what a run's samples stand on. */
static void reach(struct derive *derive, const struct derive_run *run,
                  const struct derive_event *event)
{
    for (size_t i = 0; i < event->pairs.count; i++) {
        const size_t at = recording_derive_find_node(derive, event->pairs.items[i].node_id);
        derive->nodes.items[at - 1].has_row = true;
        recording_derive_reach(derive, run, at);
    }
}

/* Marks what stacks of mode full pass through, in a run of several modes. */
static void mark_full(struct derive *derive, const struct derive_run *run,
                      const struct derive_event *event)
{
    for (size_t i = 0; run->phases.count && i < event->pairs.count; i++) {
        uint32_t at = (uint32_t)recording_derive_find_node(derive, event->pairs.items[i].node_id);
        const uint32_t phase = derive->nodes.items[at - 1].phase;
        if (run->phases.items[phase - 1].view.mode != MODEL_MODE_FULL)
            continue;
        for (; at && !derive->nodes.items[at - 1].in_full;
             at = derive->nodes.items[at - 1].parent) {
            derive->nodes.items[at - 1].in_full = true;
            derive->repath |= derive->nodes.items[at - 1].path != 0;
        }
    }
}

static int load_costs(struct derive *derive, struct sprof_error *error)
{
    for (size_t i = 0; i < derive->runs.count; i++) {
        struct derive_run *run = &derive->runs.items[i];
        int result = recording_derive_scan_samples(derive, run, error);
        if (!result)
            result = recording_derive_load_calls(derive, run, error);
        if (result)
            return result;
        for (size_t k = 0; k < run->events.count; k++) {
            reach(derive, run, &run->events.items[k]);
            mark_full(derive, run, &run->events.items[k]);
        }
        result = recording_derive_reach_coverage(derive, run, error);
        if (result)
            return result;
    }
    return 0;
}

/* == All == */

/* The modules of the session that just ended still have their files open. */
static void take_images(struct derive *derive)
{
    if (!derive->source->images)
        return;
    for (size_t i = 0; i < derive->source->images->items.count; i++) {
        struct recording_image *item = derive->source->images->items.items[i];
        struct derive_module *module = recording_derive_module(derive, item->module->id);
        if (!module)
            continue;
        module->image = item->image;
        module->known_table = recording_image_table(item);
    }
}

static void apply_rules(struct derive *derive)
{
    if (!derive->source->rules.count)
        return;
    for (size_t i = 0; i < derive->modules.count; i++) {
        struct store_module *row = &derive->modules.items[i].row;
        if (row->kind == MODEL_KIND_NONE || !row->path)
            continue;
        row->kind = model_kind_of(&derive->source->rules, row->path, row->main_executable,
                                  row->kind == MODEL_KIND_KERNEL);
        derive->modules.items[i].changed = true;
    }
}

/* What no run at hand stands on keeps what it has. As a run goes on, only code that appears while a
 * program runs can get names later. */
static void choose_frames(struct derive *derive)
{
    for (size_t i = 0; i < derive->nodes.count; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        struct derive_frame *frame =
            &derive->frames.items[*sprof_map_get(&derive->frame_index, node->frame)];
        if (!node->run ||
            (frame->asked &&
             recording_derive_module(derive, frame->module)->row.kind != MODEL_KIND_JIT))
            continue;
        if (derive->source->again || !recording_derive_frame_is_named(derive, frame))
            frame->wanted = true;
    }
}

static void note_read(struct derive *derive)
{
    const size_t frames = derive->frames.count, nodes = derive->nodes.count;
    derive->read.frame = frames ? derive->frames.items[frames - 1].id : 0;
    derive->read.node = nodes ? derive->nodes.items[nodes - 1].id : 0;
}

int recording_derive_load(struct derive *derive, struct sprof_error *error)
{
    struct store *store = derive->store;
    derive->all = true;
    int result = store_each_run(store, load_run, derive, error);
    if (result || !derive->runs.count)
        return result;
    result = store_last_ids(store, &derive->last, error);
    derive->last_frame_id = derive->last.frame;
    if (!result)
        result = load_phases(derive, error);
    if (!result)
        result = store_each_module(store, load_module, derive, error);
    apply_rules(derive);
    if (!result)
        result = load_functions(derive, error);
    if (!result)
        result = load_nodes(derive, error);
    if (!result)
        result = load_frames(derive, error);
    if (!result)
        result = link_nodes(derive, 0);
    if (!result) /* the kernel's mappings belong to every run */
        result = store_each_mapping(store, derive->runs.items[0].id, load_mapping, derive, error);
    if (!result)
        result = recording_derive_load_owners(derive, error);
    if (!result)
        result = load_costs(derive, error);
    if (!result) {
        choose_frames(derive);
        take_images(derive);
        note_read(derive);
    }
    return finish(result, error);
}

int recording_derive_load_more(struct derive *derive, struct sprof_error *error)
{
    struct store *store = derive->store;
    struct loading_nodes loading = {.derive = derive, .first = derive->read.node + 1};
    struct derive_run *run = &derive->runs.items[0];
    const size_t nodes = derive->nodes.count;
    int result = store_each_module(store, load_new_module, derive, error);
    if (!result)
        result = store_each_node_from(store, loading.first, UINT32_MAX, load_node, &loading, error);
    if (!result)
        result = load_frames_from(derive, derive->read.frame + 1, error);
    if (!result)
        result = link_nodes(derive, nodes);
    if (!result)
        result = store_each_mapping_from(store, derive->read.mapping + 1, UINT32_MAX, load_mapping,
                                         derive, error);
    if (!result)
        result = recording_derive_load_owners(derive, error);
    if (!result)
        result = recording_derive_scan_more(derive, run, error);
    for (size_t k = 0; k < run->events.count && !result; k++) {
        reach(derive, run, &run->events.items[k]);
        mark_full(derive, run, &run->events.items[k]);
    }
    if (!result) {
        choose_frames(derive);
        note_read(derive);
    }
    return finish(result, error);
}
