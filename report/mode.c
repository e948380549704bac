/* A recording read as another mode than its own. */
#include "report/dataset_parts.h"

#include <string.h>

static int find_none_module(struct report_dataset *dataset, uint32_t *module)
{
    for (*module = 1; *module <= dataset->modules.count; ++*module)
        if (!strcmp(dataset->modules.items[*module - 1].name, MODEL_MODULE_NONE))
            return 0;
    const struct report_module none = {.name = MODEL_MODULE_NONE, .path = MODEL_MODULE_NONE};
    return sprof_vec_push(&dataset->modules, none);
}

static int need_outside(struct report_dataset *dataset)
{
    if (dataset->apart.outside_function)
        return 0;
    uint32_t module;
    if (find_none_module(dataset, &module))
        return SPROF_ENOMEM;
    const struct report_function outside = {.name = MODEL_OUTSIDE};
    dataset->apart.outside_function = report_dataset_add_function(
        dataset, outside, (struct model_function){module, MODEL_KIND_NONE, 0});
    return dataset->apart.outside_function ? 0 : SPROF_ENOMEM;
}

static int read_as(struct report_dataset *dataset)
{
    struct model_paths paths;
    if (need_outside(dataset))
        return SPROF_ENOMEM;
    const struct model_functions functions = report_dataset_facts(dataset);
    const struct model_view view = {
        .mode = dataset->reading.mode,
        .frame_app = dataset->reading.frame_app,
        .drop_interior = dataset->reading.drop_interior,
        .outside = dataset->apart.outside_function,
        .not_sampled = dataset->apart.not_sampled_function,
    };
    if (model_paths_view(&dataset->paths, &functions, &view, &paths))
        return SPROF_ENOMEM;
    model_paths_release(&dataset->paths);
    dataset->paths = paths;
    dataset->path_inlined.count = 0;
    report_dataset_total(dataset);
    return 0;
}

/* Calls `look` with the mode of each selected phase in which samples were taken. */
static void each_view(struct report_dataset *dataset,
                      void (*look)(struct report_dataset *, const struct model_view *, void *),
                      void *context)
{
    size_t found = 0;
    for (size_t i = 0; i < dataset->phases.count; i++) {
        const struct report_phase *phase = &dataset->phases.items[i];
        if (!phase->selected || phase->paused)
            continue;
        look(dataset, &phase->view, context);
        found++;
    }
    const struct model_view view =
        model_view_of(dataset->run.mode, dataset->run.frame, dataset->run.app_interior);
    if (!found)
        look(dataset, &view, context);
}

static void compare(struct report_dataset *dataset, const struct model_view *view, void *context)
{
    bool *begun = context;
    const unsigned lost = model_view_lost(view),
                   least = model_view_lost(&dataset->reading.recorded);
    dataset->reading.several_modes |= *begun && lost != least;
    if (!*begun || lost > least)
        dataset->reading.recorded = *view;
    *begun = true;
}

struct readable {
    struct model_view as, unreadable;
    bool fails;
};

static void try_reading(struct report_dataset *dataset, const struct model_view *view,
                        void *context)
{
    struct readable *readable = context;
    (void)dataset;
    if (readable->fails || model_view_can_be_read(view, &readable->as))
        return;
    readable->unreadable = *view;
    readable->fails = true;
}

static const char *text_of(const struct model_view *view)
{
    return model_mode_options_text(view->mode, view->frame_app, false);
}

int report_dataset_list_phases(const struct report_dataset *dataset, struct sprof_str *list)
{
    enum { MOST = 12 };
    const char *before = "";
    int result = 0;
    for (size_t i = 0; i < dataset->phases.count && i < MOST && !result; i++) {
        const struct report_phase *phase = &dataset->phases.items[i];
        if (phase->paused)
            continue;
        result = sprof_str_append(list, before);
        before = ", ";
        if (!result && dataset->runs.count > 1)
            result = sprof_str_appendf(list, "run %u ", phase->run);
        if (!result)
            result =
                sprof_str_appendf(list, "phase %u (mode %s, from %.2f s%s%.60s)", phase->number,
                                  text_of(&phase->view), (double)phase->start_ns / 1e9,
                                  phase->mark ? ", mark " : "", phase->mark ? phase->mark : "");
    }
    if (!result && dataset->phases.count > MOST)
        result = sprof_str_append(list, ", …");
    return result;
}

static int cannot_read_together(const struct report_dataset *dataset,
                                const struct readable *readable, struct sprof_error *error)
{
    struct sprof_str list = {0};
    if (report_dataset_list_phases(dataset, &list)) {
        sprof_str_release(&list);
        return sprof_error_memory(error);
    }
    sprof_error_set(error, SPROF_EUSAGE, 0,
                    "what was recorded in mode %s and in mode %s cannot be read together: choose "
                    "one with --run or --phase%s%s",
                    text_of(&readable->unreadable), text_of(&readable->as), list.text ? ": " : "",
                    list.text ? list.text : "");
    sprof_str_release(&list);
    return SPROF_EUSAGE;
}

/* Several runs or phases are read as the least detailed of them. */
int report_dataset_read_mode(struct report_dataset *dataset,
                             const struct report_selection *selection, struct sprof_error *error)
{
    bool begun = false;
    each_view(dataset, compare, &begun);
    const struct model_view asked = {.mode = selection->mode,
                                     .frame_app = selection->frame_app,
                                     .drop_interior = selection->drop_interior};
    struct readable readable = {.as = selection->other_mode ? asked : dataset->reading.recorded};
    each_view(dataset, try_reading, &readable);
    if (readable.fails && !selection->other_mode && dataset->parts & REPORT_ANY_MODE) {
        dataset->reading.mode = MODEL_MODE_FULL; /* as recorded */
        return 0;
    }
    if (readable.fails && !selection->other_mode)
        return cannot_read_together(dataset, &readable, error);
    if (readable.fails)
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "recorded as mode %s, which cannot be read as %s: record with "
                               "`-m full` to read it in every mode",
                               text_of(&readable.unreadable), text_of(&readable.as));
    const struct model_view *recorded = &dataset->reading.recorded;
    const bool same = asked.mode == recorded->mode && asked.frame_app == recorded->frame_app &&
                      !asked.drop_interior;
    dataset->reading.mode = readable.as.mode;
    dataset->reading.frame_app = readable.as.frame_app;
    dataset->reading.drop_interior = readable.as.drop_interior;
    if (!dataset->reading.several_modes &&
        (!selection->other_mode || same || recorded->mode == MODEL_MODE_PC)) {
        dataset->reading.mode = recorded->mode;
        dataset->reading.frame_app = recorded->frame_app;
        dataset->reading.drop_interior = recorded->drop_interior;
        /* Nodes, of which the tree was made, may hold more than the mode shows. */
        return dataset->reading.no_inlined && recorded->mode != MODEL_MODE_FULL ? read_as(dataset)
                                                                                : 0;
    }
    dataset->reading.other_mode = true;
    return read_as(dataset);
}
