/* Reading a recording for deriving. */
#include "record/derive.h"

#include <string.h>

static bool is_this_boot(const char *recorded)
{
    char boot_id[SPROF_BOOT_ID_SIZE];
    sprof_proc_boot_id(boot_id);
    return *boot_id && recorded && strcmp(boot_id, recorded) == 0;
}

static int load_run(void *context, const struct store_run *run)
{
    struct derive *derive = context;
    const char *mode = run->mode ? run->mode : "full";
    derive->view.mode = strcmp(mode, "pc") == 0    ? MODEL_MODE_PC
                        : strcmp(mode, "app") == 0 ? MODEL_MODE_APP
                                                   : MODEL_MODE_FULL;
    derive->view.frame_app = run->frame != NULL;
    derive->view.drop_interior = run->app_interior && strcmp(run->app_interior, "drop") == 0;
    derive->other_boot |= !is_this_boot(run->boot_id);
    const struct derive_run row = {.id = run->id};
    return sprof_vec_push(&derive->runs, row);
}

static int load_event(void *context, const struct store_event *event)
{
    struct derive_run *run = context;
    if (!run->event)
        run->event = event->id;
    return 0;
}

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

static int load_frame(void *context, const struct store_frame *frame)
{
    struct derive *derive = context;
    if (frame->inline_depth)
        return 0;
    const struct derive_frame loaded = {
        .id = frame->id, .module = frame->module_id, .offset = frame->file_offset};
    if (frame->id > derive->last_frame_id)
        derive->last_frame_id = frame->id;
    if (sprof_map_put(&derive->frame_index, frame->id, derive->frames.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&derive->frames, loaded);
}

static int load_node(void *context, const struct store_node *node)
{
    struct derive *derive = context;
    const struct derive_node loaded = {
        .id = node->id, .parent = node->parent_id, .frame = node->frame_id};
    if (sprof_map_put(&derive->node_index, node->id, derive->nodes.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&derive->nodes, loaded);
}

static struct derive_module *module_of(struct derive *derive, uint32_t id)
{
    const uint64_t *index = sprof_map_get(&derive->module_index, id);
    return index ? &derive->modules.items[*index] : NULL;
}

static int load_mapping(void *context, const struct store_mapping *mapping)
{
    struct derive *derive = context;
    struct derive_module *module = module_of(derive, mapping->module_id);
    if (module && module->row.kind == MODEL_KIND_KERNEL && !module->kernel_start) {
        module->kernel_start = mapping->start;
        module->kernel_offset = mapping->file_offset;
    }
    return 0;
}

static int load_process(void *context, const struct store_process *process)
{
    struct derive *derive = context;
    for (size_t i = 0; i < derive->modules.count; i++)
        if (derive->modules.items[i].row.process_id == process->id)
            derive->modules.items[i].pid = process->pid;
    return 0;
}

/* The modules of the session that just ended still have their files open. */
static void take_images(struct derive *derive)
{
    if (!derive->source->images)
        return;
    for (size_t i = 0; i < derive->source->images->items.count; i++) {
        struct record_image *item = derive->source->images->items.items[i];
        struct derive_module *module = module_of(derive, item->module->id);
        if (!module)
            continue;
        module->image = item->image;
        module->known_table = record_image_table(item);
    }
}

static void apply_rules(struct derive *derive)
{
    if (!derive->source->rules.count)
        return;
    for (size_t i = 0; i < derive->modules.count; i++) {
        struct store_module *row = &derive->modules.items[i].row;
        if (row->kind != MODEL_KIND_NONE && row->path)
            row->kind = model_kind_of(&derive->source->rules, row->path, row->main_executable,
                                      row->kind == MODEL_KIND_KERNEL);
    }
}

int derive_load(struct derive *derive, struct sprof_error *error)
{
    struct store *store = derive->store;
    int result = store_each_run(store, load_run, derive, error);
    if (!result)
        result = store_each_module(store, load_module, derive, error);
    if (!result)
        result = store_each_frame(store, load_frame, derive, error);
    if (!result)
        result = store_each_node(store, load_node, derive, error);
    for (size_t i = 0; i < derive->runs.count && !result; i++) {
        struct derive_run *run = &derive->runs.items[i];
        result = store_each_event(store, run->id, load_event, run, error);
        if (!result)
            result = store_each_mapping(store, run->id, load_mapping, derive, error);
        if (!result)
            result = store_each_process(store, run->id, load_process, derive, error);
    }
    if (result)
        return result;
    for (size_t i = 0; i < derive->modules.count; i++)
        derive->modules.items[i].same_boot = !derive->other_boot;
    apply_rules(derive);
    take_images(derive);
    return 0;
}
