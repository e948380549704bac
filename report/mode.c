/* A recording read as another mode than its own. */
#include "report/dataset_parts.h"

#include <string.h>

/* Whether what was cut away at recording is not needed. */
static bool can_read(const struct store_run *run, enum model_mode mode, bool frame_app)
{
    switch (model_mode_of(run->mode)) {
    case MODEL_MODE_FULL: return true;
    case MODEL_MODE_APP: return mode == MODEL_MODE_APP || (mode == MODEL_MODE_PC && frame_app);
    case MODEL_MODE_PC: return mode == MODEL_MODE_PC && frame_app == (run->frame != NULL);
    }
    return false;
}

static unsigned detail_lost(const struct store_run *run)
{
    switch (model_mode_of(run->mode)) {
    case MODEL_MODE_FULL: return 0;
    case MODEL_MODE_APP: return strcmp(run->app_interior, "drop") ? 1 : 2;
    case MODEL_MODE_PC: return 3;
    }
    return 0;
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

static int read_as(struct report_dataset *dataset)
{
    struct model_paths paths;
    if (need_outside(dataset))
        return SPROF_ENOMEM;
    const struct model_functions functions = report_dataset_facts(dataset);
    const struct model_view view = {
        .mode = dataset->mode,
        .frame_app = dataset->frame_app,
        .drop_interior = dataset->drop_interior,
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

/* Several runs are read as the least detailed of them. Returns whether they differ. */
static bool choose_mode(struct report_dataset *dataset)
{
    const struct store_run *least = &dataset->run;
    bool differ = false;
    for (size_t i = 0; i < dataset->runs.count; i++) {
        const struct store_run *run = &dataset->runs.items[i];
        differ |= detail_lost(run) != detail_lost(&dataset->run);
        if (detail_lost(run) > detail_lost(least))
            least = run;
    }
    dataset->mode = model_mode_of(least->mode);
    dataset->frame_app = least->frame != NULL;
    dataset->drop_interior =
        dataset->mode == MODEL_MODE_APP && !strcmp(least->app_interior, "drop");
    return differ;
}

/* The run that cannot be read in a mode; NULL: all can. */
static const struct store_run *find_unreadable(const struct report_dataset *dataset,
                                               enum model_mode mode, bool frame_app)
{
    for (size_t i = 0; i < dataset->runs.count; i++)
        if (!can_read(&dataset->runs.items[i], mode, frame_app))
            return &dataset->runs.items[i];
    return NULL;
}

int report_dataset_read_mode(struct report_dataset *dataset,
                             const struct report_selection *selection, struct sprof_error *error)
{
    const bool differ = choose_mode(dataset);
    dataset->several_modes = differ;
    const struct store_run *cut = find_unreadable(dataset, dataset->mode, dataset->frame_app);
    if (cut && !selection->other_mode)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "runs in mode %s and in mode %s cannot be read together: choose one with --run",
            model_mode_options_text(model_mode_of(cut->mode), cut->frame != NULL, false),
            model_mode_options_text(dataset->mode, dataset->frame_app, false));
    cut = selection->other_mode ? find_unreadable(dataset, selection->mode, selection->frame_app)
                                : NULL;
    if (cut)
        return sprof_error_set(
            error, SPROF_EUSAGE, 0,
            "recorded as mode %s, which cannot be read as %s: record with "
            "`-m full` to read it in every mode",
            model_mode_options_text(model_mode_of(cut->mode), cut->frame != NULL, false),
            model_mode_options_text(selection->mode, selection->frame_app, false));
    const bool same = selection->mode == dataset->mode &&
                      selection->frame_app == dataset->frame_app && !selection->drop_interior;
    if (!differ && (!selection->other_mode || same || dataset->mode == MODEL_MODE_PC))
        return 0;
    dataset->other_mode = true;
    if (selection->other_mode) {
        dataset->mode = selection->mode;
        dataset->frame_app = selection->frame_app;
        dataset->drop_interior = selection->drop_interior;
    }
    return read_as(dataset);
}
