/* A recording read as another mode than its own. */
#include "report/dataset_parts.h"

#include <string.h>

/* Whether what was cut away at recording is not needed. */
static bool can_read(const struct report_dataset *dataset, const struct report_selection *selection)
{
    const bool frame_app = dataset->run.frame != NULL;
    switch (model_mode_of(dataset->run.mode)) {
    case MODEL_MODE_FULL: return true;
    case MODEL_MODE_APP:
        return selection->mode == MODEL_MODE_APP ||
               (selection->mode == MODEL_MODE_PC && selection->frame_app);
    case MODEL_MODE_PC:
        return selection->mode == MODEL_MODE_PC && selection->frame_app == frame_app;
    }
    return false;
}

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
    if (dataset->outside_function)
        return 0;
    uint32_t module;
    if (find_none_module(dataset, &module))
        return SPROF_ENOMEM;
    const struct report_function outside = {.name = MODEL_OUTSIDE};
    dataset->outside_function = report_dataset_add_function(
        dataset, outside, (struct model_function){module, MODEL_KIND_NONE, 0});
    return dataset->outside_function ? 0 : SPROF_ENOMEM;
}

static int read_as(struct report_dataset *dataset, const struct report_selection *selection)
{
    struct model_paths paths;
    if (need_outside(dataset))
        return SPROF_ENOMEM;
    const struct model_functions functions = report_dataset_facts(dataset);
    const struct model_view view = {
        .mode = selection->mode,
        .frame_app = selection->frame_app,
        .drop_interior = selection->drop_interior,
        .outside = dataset->outside_function,
        .not_sampled = dataset->not_sampled_function,
    };
    if (model_paths_view(&dataset->paths, &functions, &view, &paths))
        return SPROF_ENOMEM;
    model_paths_release(&dataset->paths);
    dataset->paths = paths;
    dataset->path_inlined.count = 0;
    report_dataset_total(dataset);
    return 0;
}

int report_dataset_read_mode(struct report_dataset *dataset,
                             const struct report_selection *selection, struct sprof_error *error)
{
    dataset->mode = model_mode_of(dataset->run.mode);
    dataset->frame_app = dataset->run.frame != NULL;
    dataset->drop_interior =
        dataset->mode == MODEL_MODE_APP && !strcmp(dataset->run.app_interior, "drop");
    if (!selection->other_mode)
        return 0;
    if (!can_read(dataset, selection))
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "recorded as mode %s, which cannot be read as %s: record with "
            "`-m full` to read it in every mode",
            model_mode_options_text(dataset->mode, dataset->frame_app, false),
            model_mode_options_text(selection->mode, selection->frame_app, false));
    const bool same = selection->mode == dataset->mode &&
                      selection->frame_app == dataset->frame_app && !selection->drop_interior;
    if (same || dataset->mode == MODEL_MODE_PC)
        return 0;
    dataset->other_mode = true;
    dataset->mode = selection->mode;
    dataset->frame_app = selection->frame_app;
    dataset->drop_interior = selection->drop_interior;
    return read_as(dataset, selection);
}
