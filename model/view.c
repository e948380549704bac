/* A full recording read as another mode would have recorded it (DESIGN §2). */
#include "model/paths.h"

#include <assert.h>

bool model_function_is_app(const struct model_functions *functions, uint32_t function)
{
    assert(function > 0 && function <= functions->count);
    const struct model_function *item = &functions->items[function - 1];
    return model_kind_is_app(item->kind) && !item->startup;
}

struct model_view model_view_of(const char *mode, const char *frame, const char *app_interior)
{
    return (struct model_view){
        .mode = model_mode_of(mode),
        .frame_app = frame != NULL,
        .drop_interior = app_interior && !strcmp(app_interior, "drop"),
    };
}

unsigned model_view_lost(const struct model_view *view)
{
    switch (view->mode) {
    case MODEL_MODE_FULL: return 0;
    case MODEL_MODE_APP: return view->drop_interior ? 2 : 1;
    case MODEL_MODE_PC: return view->frame_app ? 3 : 4;
    }
    return 0;
}

bool model_view_can_be_read(const struct model_view *taken, const struct model_view *as)
{
    switch (taken->mode) {
    case MODEL_MODE_FULL: return true;
    case MODEL_MODE_APP:
        return as->mode == MODEL_MODE_APP || (as->mode == MODEL_MODE_PC && as->frame_app);
    case MODEL_MODE_PC: return as->mode == MODEL_MODE_PC && as->frame_app == taken->frame_app;
    }
    return false;
}

bool model_view_cut(const struct model_view *view, const bool *is_app, size_t count, size_t *first,
                    size_t *last)
{
    if (!count)
        return false;
    *first = 0;
    *last = count - 1;
    if (view->mode == MODEL_MODE_FULL)
        return true;
    if (view->mode == MODEL_MODE_PC && !view->frame_app) {
        *first = *last;
        return true;
    }
    while (*last > 0 && !is_app[*last])
        --*last;
    if (!is_app[*last])
        return false;
    if (view->mode == MODEL_MODE_PC)
        *first = *last;
    while (!is_app[*first])
        ++*first;
    return true;
}

/* What becomes of a path; [id], 0 is the place above all roots. */
struct cut {
    uint32_t copy;     /* the path itself in the new tree; 0 where it is cut off */
    uint32_t sink;     /* the new path that samples ending in it count for; 0: outside */
    uint32_t function; /* mode pc: its innermost (application) function; 0: none */
    uint8_t app;       /* enum below */
};
enum { APP_SELF = 1, APP_BELOW = 2, APP_AROUND = 4 };

struct viewing {
    const struct model_paths *full;
    const struct model_functions *functions;
    const struct model_view *view;
    struct model_paths *out;
    struct cut *cuts;
};

static bool has_cost(struct model_cost cost)
{
    return cost.samples || cost.weight;
}

/* Notes for each path whether it is application code and whether such lies around or below it. */
static void mark(struct viewing *viewing)
{
    const struct model_path *items = viewing->full->items.items;
    struct cut *cuts = viewing->cuts;
    for (size_t i = 0; i < viewing->full->items.count; i++) {
        const uint8_t parent = cuts[items[i].parent].app;
        if (parent & (APP_SELF | APP_AROUND))
            cuts[items[i].id].app |= APP_AROUND;
        if (model_function_is_app(viewing->functions, items[i].function))
            cuts[items[i].id].app |= APP_SELF;
    }
    for (size_t i = viewing->full->items.count; i-- > 0;)
        if (cuts[items[i].id].app & (APP_SELF | APP_BELOW) && has_cost(items[i].costs.inclusive))
            cuts[items[i].parent].app |= APP_BELOW;
}

/* Mode app: copies the path where it belongs to a kept part, and finds its sink. */
static int cut_app(struct viewing *viewing, const struct model_path *path)
{
    struct cut *cut = &viewing->cuts[path->id];
    const struct cut *parent = &viewing->cuts[path->parent];
    const bool self = cut->app & APP_SELF;
    const bool interior = !viewing->view->drop_interior &&
                          (cut->app & (APP_AROUND | APP_BELOW)) == (APP_AROUND | APP_BELOW);
    cut->sink = parent->sink;
    cut->copy = viewing->view->drop_interior ? parent->copy : 0;
    if (!has_cost(path->costs.inclusive) || !(self || interior))
        return 0;
    const int result = model_paths_child(viewing->out, parent->copy, path->function, &cut->copy);
    if (self)
        cut->sink = cut->copy;
    return result;
}

/* Mode pc: the innermost (application) function, alone. */
static int cut_pc(struct viewing *viewing, const struct model_path *path)
{
    struct cut *cut = &viewing->cuts[path->id];
    const bool self = !viewing->view->frame_app || cut->app & APP_SELF;
    const uint32_t function = self ? path->function : viewing->cuts[path->parent].function;
    cut->function = function;
    if (!function || !has_cost(path->costs.exclusive))
        return 0;
    return model_paths_child(viewing->out, 0, function, &cut->sink);
}

static int cut_full(struct viewing *viewing, const struct model_path *path)
{
    struct cut *cut = &viewing->cuts[path->id];
    const int result = model_paths_child(viewing->out, viewing->cuts[path->parent].copy,
                                         path->function, &cut->copy);
    cut->sink = cut->copy;
    return result;
}

static int count(struct viewing *viewing, const struct model_path *path)
{
    if (!has_cost(path->costs.exclusive))
        return 0;
    uint32_t sink = viewing->cuts[path->id].sink;
    if (!sink) {
        const bool not_sampled = path->function == viewing->view->not_sampled;
        const uint32_t function = not_sampled ? path->function : viewing->view->outside;
        if (model_paths_child(viewing->out, 0, function, &sink))
            return SPROF_ENOMEM;
    }
    model_paths_add(viewing->out, sink, path->costs.exclusive);
    return 0;
}

int model_paths_view(const struct model_paths *full, const struct model_functions *functions,
                     const struct model_view *view, struct model_paths *out)
{
    static int (*const cutters[])(struct viewing *, const struct model_path *) = {
        [MODEL_MODE_PC] = cut_pc, [MODEL_MODE_FULL] = cut_full, [MODEL_MODE_APP] = cut_app};
    *out = (struct model_paths){0};
    struct viewing viewing = {full, functions, view, out, NULL};
    viewing.cuts = calloc(full->items.count + 1, sizeof *viewing.cuts);
    if (!viewing.cuts)
        return SPROF_ENOMEM;
    mark(&viewing);
    int result = 0;
    for (size_t i = 0; i < full->items.count && !result; i++) {
        result = cutters[view->mode](&viewing, &full->items.items[i]);
        if (!result)
            result = count(&viewing, &full->items.items[i]);
    }
    free(viewing.cuts);
    if (result)
        model_paths_release(out);
    else
        model_paths_sum(out);
    return result;
}
