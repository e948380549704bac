/* Reading a recording for finishing. */
#include "record/finish.h"

#include <stdio.h>
#include <string.h>

static bool is_this_boot(const char *recorded)
{
    char boot_id[64] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file)
        return false;
    const bool read = fgets(boot_id, sizeof boot_id, file) != NULL;
    fclose(file);
    boot_id[strcspn(boot_id, "\n")] = '\0';
    return read && recorded && strcmp(boot_id, recorded) == 0;
}

static int load_run(void *context, const struct store_run *run)
{
    struct finish *finish = context;
    const char *mode = run->mode ? run->mode : "full";
    finish->view.mode = strcmp(mode, "pc") == 0    ? MODEL_MODE_PC
                        : strcmp(mode, "app") == 0 ? MODEL_MODE_APP
                                                   : MODEL_MODE_FULL;
    finish->view.frame_app = run->frame != NULL;
    finish->view.drop_interior = run->app_interior && strcmp(run->app_interior, "drop") == 0;
    finish->other_boot |= !is_this_boot(run->boot_id);
    const struct finish_run row = {.id = run->id};
    return sprof_vec_push(&finish->runs, row);
}

static int load_event(void *context, const struct store_event *event)
{
    struct finish_run *run = context;
    if (!run->event)
        run->event = event->id;
    return 0;
}

static int load_module(void *context, const struct store_module *module)
{
    struct finish *finish = context;
    struct finish_module loaded = {.row = *module, .canonical = module->id};
    loaded.row.path = sprof_arena_text(&finish->arena, module->path);
    loaded.row.name = sprof_arena_text(&finish->arena, module->name);
    loaded.row.problem = sprof_arena_text(&finish->arena, module->problem);
    if (module->build_id.size) {
        loaded.row.build_id.data = (const uint8_t *)sprof_arena_copy(
            &finish->arena, (const char *)module->build_id.data, module->build_id.size);
        if (!loaded.row.build_id.data)
            return SPROF_ENOMEM;
    }
    if (sprof_map_put(&finish->module_index, module->id, finish->modules.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&finish->modules, loaded);
}

static int load_frame(void *context, const struct store_frame *frame)
{
    struct finish *finish = context;
    if (frame->inline_depth)
        return 0;
    const struct finish_frame loaded = {
        .id = frame->id, .module = frame->module_id, .offset = frame->file_offset};
    if (frame->id > finish->last_frame_id)
        finish->last_frame_id = frame->id;
    if (sprof_map_put(&finish->frame_index, frame->id, finish->frames.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&finish->frames, loaded);
}

static int load_node(void *context, const struct store_node *node)
{
    struct finish *finish = context;
    const struct finish_node loaded = {
        .id = node->id, .parent = node->parent_id, .frame = node->frame_id};
    if (sprof_map_put(&finish->node_index, node->id, finish->nodes.count))
        return SPROF_ENOMEM;
    return sprof_vec_push(&finish->nodes, loaded);
}

static struct finish_module *module_of(struct finish *finish, uint32_t id)
{
    const uint64_t *index = sprof_map_get(&finish->module_index, id);
    return index ? &finish->modules.items[*index] : NULL;
}

static int load_mapping(void *context, const struct store_mapping *mapping)
{
    struct finish *finish = context;
    struct finish_module *module = module_of(finish, mapping->module_id);
    if (module && module->row.kind == MODEL_KIND_KERNEL && !module->kernel_start) {
        module->kernel_start = mapping->start;
        module->kernel_offset = mapping->file_offset;
    }
    return 0;
}

static int load_process(void *context, const struct store_process *process)
{
    struct finish *finish = context;
    for (size_t i = 0; i < finish->modules.count; i++)
        if (finish->modules.items[i].row.process_id == process->id)
            finish->modules.items[i].pid = process->pid;
    return 0;
}

/* The modules of the session that just ended still have their files open. */
static void take_images(struct finish *finish)
{
    if (!finish->source->images)
        return;
    for (size_t i = 0; i < finish->source->images->items.count; i++) {
        struct record_image *item = finish->source->images->items.items[i];
        struct finish_module *module = module_of(finish, item->module->id);
        if (!module)
            continue;
        module->image = item->image;
        module->known_table = record_image_table(item);
    }
}

static void apply_rules(struct finish *finish)
{
    if (!finish->source->rules.count)
        return;
    for (size_t i = 0; i < finish->modules.count; i++) {
        struct store_module *row = &finish->modules.items[i].row;
        if (row->kind != MODEL_KIND_NONE && row->path)
            row->kind = model_kind_of(&finish->source->rules, row->path, row->main_executable,
                                      row->kind == MODEL_KIND_KERNEL);
    }
}

int finish_load(struct finish *finish, struct sprof_error *error)
{
    struct store *store = finish->store;
    int result = store_each_run(store, load_run, finish, error);
    if (!result)
        result = store_each_module(store, load_module, finish, error);
    if (!result)
        result = store_each_frame(store, load_frame, finish, error);
    if (!result)
        result = store_each_node(store, load_node, finish, error);
    for (size_t i = 0; i < finish->runs.count && !result; i++) {
        struct finish_run *run = &finish->runs.items[i];
        result = store_each_event(store, run->id, load_event, run, error);
        if (!result)
            result = store_each_mapping(store, run->id, load_mapping, finish, error);
        if (!result)
            result = store_each_process(store, run->id, load_process, finish, error);
    }
    if (result)
        return result;
    for (size_t i = 0; i < finish->modules.count; i++)
        finish->modules.items[i].same_boot = !finish->other_boot;
    apply_rules(finish);
    take_images(finish);
    return 0;
}
