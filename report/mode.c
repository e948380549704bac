/* A recording read as another mode than its own. */
#include "report/profile.h"

#include <string.h>

/* What a run was recorded as. */
static enum model_mode recorded_mode(const struct store_run *run)
{
    if (run->mode && !strcmp(run->mode, "pc"))
        return MODEL_MODE_PC;
    return run->mode && !strcmp(run->mode, "app") ? MODEL_MODE_APP : MODEL_MODE_FULL;
}

/* Whether what was cut away at recording is not needed. */
static bool can_read(const struct profile *profile, const struct report_options *options)
{
    const bool frame_app = profile->run.frame != NULL;
    switch (recorded_mode(&profile->run)) {
    case MODEL_MODE_FULL: return true;
    case MODEL_MODE_APP:
        return options->mode == MODEL_MODE_APP ||
               (options->mode == MODEL_MODE_PC && options->frame_app);
    case MODEL_MODE_PC: return options->mode == MODEL_MODE_PC && options->frame_app == frame_app;
    }
    return false;
}

static const char *mode_text(enum model_mode mode, bool frame_app)
{
    if (mode == MODEL_MODE_PC)
        return frame_app ? "pc --frame app" : "pc";
    return mode == MODEL_MODE_APP ? "app" : "full";
}

static int find_none_module(struct profile *profile, uint32_t *module)
{
    for (*module = 1; *module <= profile->modules.count; ++*module)
        if (!strcmp(profile->modules.items[*module - 1].name, "[none]"))
            return 0;
    const struct profile_module none = {"[none]", "[none]", MODEL_KIND_NONE};
    return sprof_vec_push(&profile->modules, none);
}

static int need_outside(struct profile *profile)
{
    if (profile->outside_function)
        return 0;
    uint32_t module;
    if (find_none_module(profile, &module))
        return SPROF_ENOMEM;
    const struct profile_function outside = {"[outside the application]", NULL};
    profile->outside_function =
        profile_add_function(profile, outside, (struct model_function){module, MODEL_KIND_NONE, 0});
    return profile->outside_function ? 0 : SPROF_ENOMEM;
}

static int read_as(struct profile *profile, const struct report_options *options)
{
    struct model_paths paths;
    if (need_outside(profile))
        return SPROF_ENOMEM;
    const struct model_functions functions = profile_facts(profile);
    const struct model_view view = {
        .mode = options->mode,
        .frame_app = options->frame_app,
        .drop_interior = options->drop_interior,
        .outside = profile->outside_function,
        .not_sampled = profile->not_sampled_function,
    };
    if (model_paths_view(&profile->paths, &functions, &view, &paths))
        return SPROF_ENOMEM;
    model_paths_release(&profile->paths);
    profile->paths = paths;
    profile_total(profile);
    return 0;
}

int profile_view(struct profile *profile, const struct report_options *options,
                 struct sprof_error *error)
{
    profile->mode = recorded_mode(&profile->run);
    profile->frame_app = profile->run.frame != NULL;
    if (!options->other_mode)
        return 0;
    if (!can_read(profile, options))
        return sprof_error_set(error, SPROF_EUSAGE, 0,
                               "recorded as mode %s, which cannot be read as %s: record with "
                               "`-m full` to read it in every mode",
                               mode_text(profile->mode, profile->frame_app),
                               mode_text(options->mode, options->frame_app));
    const bool same = options->mode == profile->mode && options->frame_app == profile->frame_app &&
                      !options->drop_interior;
    if (same || profile->mode == MODEL_MODE_PC)
        return 0;
    profile->other_mode = true;
    profile->mode = options->mode;
    profile->frame_app = options->frame_app;
    profile->drop_interior = options->drop_interior;
    return read_as(profile, options);
}
