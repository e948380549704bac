/* A recording read as another mode than its own. */
#include "report/dataset_parts.h"

#include <string.h>

/* What a run was recorded as. */
static enum model_mode recorded_mode(const struct store_run *run)
{
    if (run->mode && !strcmp(run->mode, "pc"))
        return MODEL_MODE_PC;
    return run->mode && !strcmp(run->mode, "app") ? MODEL_MODE_APP : MODEL_MODE_FULL;
}

/* Whether what was cut away at recording is not needed. */
static bool can_read(const struct report_dataset *dataset, const struct report_selection *selection)
{
    const bool frame_app = dataset->run.frame != NULL;
    switch (recorded_mode(&dataset->run)) {
    case MODEL_MODE_FULL: return true;
    case MODEL_MODE_APP:
        return selection->mode == MODEL_MODE_APP ||
               (selection->mode == MODEL_MODE_PC && selection->frame_app);
    case MODEL_MODE_PC:
        return selection->mode == MODEL_MODE_PC && selection->frame_app == frame_app;
    }
    return false;
}

static const char *mode_text(enum model_mode mode, bool frame_app)
{
    if (mode == MODEL_MODE_PC)
        return frame_app ? "pc --frame app" : "pc";
    return mode == MODEL_MODE_APP ? "app" : "full";
}

static int find_none_module(struct report_dataset *dataset, uint32_t *module)
{
    for (*module = 1; *module <= dataset->modules.count; ++*module)
        if (!strcmp(dataset->modules.items[*module - 1].name, "[none]"))
            return 0;
    const struct report_module none = {.name = "[none]", .path = "[none]"};
    return sprof_vec_push(&dataset->modules, none);
}

static int need_outside(struct report_dataset *dataset)
{
    if (dataset->outside_function)
        return 0;
    uint32_t module;
    if (find_none_module(dataset, &module))
        return SPROF_ENOMEM;
    const struct report_function outside = {.name = "[outside the application]"};
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
    report_dataset_total(dataset);
    return 0;
}

int report_dataset_read_mode(struct report_dataset *dataset,
                             const struct report_selection *selection, struct sprof_error *error)
{
    dataset->mode = recorded_mode(&dataset->run);
    dataset->frame_app = dataset->run.frame != NULL;
    dataset->drop_interior =
        dataset->mode == MODEL_MODE_APP && !strcmp(dataset->run.app_interior, "drop");
    if (!selection->other_mode)
        return 0;
    if (!can_read(dataset, selection))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "recorded as mode %s, which cannot be read as %s: record with "
                               "`-m full` to read it in every mode",
                               mode_text(dataset->mode, dataset->frame_app),
                               mode_text(selection->mode, selection->frame_app));
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
