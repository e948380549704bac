/* Makes a recording of rows of a fleet's database: a run for each service, version and host, which
 * are merged. */
#include "import/made_directory.h"
#include "import/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct group {
    uint32_t service, version, host;
    size_t first, end; /* in the costs, which are sorted */
};

struct building {
    struct import_rows *rows;
    const struct import_options *options;
    SPROF_VEC(struct group) groups;
    struct recording_names names;            /* of all functions, which are numbered alike in all */
    SPROF_VEC(struct model_kind_rule) rules; /* what kind of module each is, and then the user's */
    struct sprof_intern globs;
};

/* An event of a run, and how much the weights of its samples vary (import_rows_spread). */
struct event {
    uint32_t id; /* 0: not added yet */
    double spread;
    struct import_row_weights weights;
};

/* One run. */
struct run {
    const struct building *building;
    const struct group *group;
    struct recording *recording;
    uint64_t start_s;
    struct sprof_map events; /* text → position + 1 in `known` */
    SPROF_VEC(struct event) known;
    struct sprof_map processes; /* labels and text → pid */
    struct sprof_map threads;   /* pid and text → id */
    struct sprof_map calls;     /* thread and node → position + 1 in the batch's call_costs */
    uint32_t *nodes;            /* [path] */
    int32_t last_number;        /* of a process or thread */
};

static const char *text_of(const struct run *run, uint32_t number)
{
    return import_rows_text(run->building->rows, number);
}

/* == Groups == */

static int compare_costs(const void *left, const void *right, void *context)
{
    const struct import_row_cost *a = left, *b = right;
    const struct import_rows *rows = context;
    const uint32_t pairs[][2] = {
        {a->service, b->service}, {a->version, b->version}, {a->host, b->host}};
    for (size_t i = 0; i < 3; i++)
        if (pairs[i][0] != pairs[i][1])
            return strcmp(import_rows_text(rows, pairs[i][0]), import_rows_text(rows, pairs[i][1]));
    if (a->time_s != b->time_s)
        return a->time_s < b->time_s ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return (a->path_key > b->path_key) - (a->path_key < b->path_key);
}

static int find_groups(struct building *building, struct sprof_error *error)
{
    struct import_rows *rows = building->rows;
    struct import_row_cost *costs = rows->costs.items;
    qsort_r(costs, rows->costs.count, sizeof *costs, compare_costs, rows);
    for (size_t i = 0; i < rows->costs.count; i++) {
        const struct import_row_cost *row = &costs[i];
        struct group *last =
            building->groups.count ? &building->groups.items[building->groups.count - 1] : NULL;
        if (last && last->service == row->service && last->version == row->version &&
            last->host == row->host) {
            last->end = i + 1;
            continue;
        }
        const struct group group = {row->service, row->version, row->host, i, i + 1};
        if (building->groups.count == IMPORT_GROUPS_MAX)
            return sprof_error_set(error, SPROF_ELIMIT, 0,
                                   "the rows are of more than %s hosts and versions, of which each "
                                   "is a run: choose fewer, or leave the column `host` out of the "
                                   "query",
                                   sprof_digits_of(IMPORT_GROUPS_MAX).text);
        if (sprof_vec_push(&building->groups, group))
            return sprof_error_memory(error);
    }
    return 0;
}

/* == Functions == */

static enum model_kind kind_of(const char *word)
{
    for (int i = 0; model_kind_words[i]; i++)
        if (!strcmp(model_kind_words[i], word))
            return (enum model_kind)i;
    return MODEL_KIND_APP;
}

/* A glob that only this text matches. */
static const char *exact_glob(struct building *building, const char *text)
{
    struct sprof_str glob = {0};
    uint32_t number = 0;
    for (; *text; text++) {
        if (strchr("*?[]\\", *text))
            sprof_str_append(&glob, "\\");
        sprof_str_append_bytes(&glob, text, 1);
    }
    const int result = glob.failed || sprof_intern_put(&building->globs, glob.text, &number);
    sprof_str_release(&glob);
    return result ? NULL : sprof_intern_text(&building->globs, number);
}

/* Modules are what they were where they were recorded, unless the user says something else. */
static int add_rule(struct building *building, const struct import_row_function *function)
{
    const char *module = import_rows_text(building->rows, function->module);
    const enum model_kind kind = kind_of(import_rows_text(building->rows, function->kind));
    const bool in_kernel = kind == MODEL_KIND_KERNEL;
    if (!*module || kind == MODEL_KIND_NONE || in_kernel ||
        model_kind_of(NULL, module, false, in_kernel) == kind)
        return 0;
    const struct model_kind_rule rule = {kind, exact_glob(building, module)};
    return rule.glob ? sprof_vec_push(&building->rules, rule) : SPROF_ENOMEM;
}

static const char *or_null(const char *text)
{
    return *text ? text : NULL;
}

/* The functions in the order of their rows: function i is the address i + 1. */
static int name_functions(struct building *building)
{
    const struct import_rows *rows = building->rows;
    struct sprof_map modules = {0}; /* text → 1: has its rule */
    int result = 0;
    for (size_t i = 0; i < rows->functions.count && !result; i++) {
        const struct import_row_function *row = &rows->functions.items[i];
        const struct recording_level level = {
            .name = or_null(import_rows_text(rows, row->name)),
            .linkage_name = or_null(import_rows_text(rows, row->linkage_name)),
            .declared_file = or_null(import_rows_text(rows, row->file)),
            .declared_line = row->line > UINT32_MAX ? 0 : (uint32_t)row->line,
            .start = row->start,
            .is_unnamed = !row->named,
        };
        const struct recording_named named = {i + 1, 0};
        uint64_t *known = sprof_map_at(&modules, row->module);
        if (!known || sprof_vec_push(&building->names.levels, level) ||
            sprof_vec_push(&building->names.addresses, named))
            result = SPROF_ENOMEM;
        else if (!*known)
            result = add_rule(building, row);
        if (known)
            *known = 1;
    }
    for (size_t i = 0; i < building->options->rules.count && !result; i++)
        result = sprof_vec_push(&building->rules, building->options->rules.items[i]);
    sprof_map_release(&modules);
    return result;
}

/* == A run == */

static int add_child(const struct run *run, uint64_t function_key, uint32_t *node)
{
    const struct import_rows *rows = run->building->rows;
    const uint64_t number = *sprof_map_get(&rows->function_index, function_key);
    const struct import_row_function *row = &rows->functions.items[number - 1];
    const char *module = import_rows_text(rows, row->module);
    const struct sprof_file_id file = {.path = *module ? module : IMPORT_NO_MODULE};
    const bool in_kernel = kind_of(import_rows_text(rows, row->kind)) == MODEL_KIND_KERNEL;
    return recording_child(run->recording, *node, &file, in_kernel, number, node);
}

static int node_of(const struct run *run, uint64_t path_key, uint32_t *node)
{
    const struct import_rows *rows = run->building->rows;
    const size_t number = (size_t)*sprof_map_get(&rows->path_index, path_key) - 1;
    const struct import_row_path *path = &rows->paths.items[number];
    int result = 0;
    *node = run->nodes[number];
    if (*node)
        return 0;
    for (size_t i = 0; i < path->count && !result; i++)
        result = add_child(run, rows->chains.items[path->first + i], node);
    run->nodes[number] = *node;
    return result;
}

static int add_process(struct run *run, const struct import_row_cost *row,
                       const struct import_row_labels *labels, pid_t pid)
{
    if (!recording_thread(run->recording, pid, pid, or_null(text_of(run, row->process)), 0))
        return SPROF_ENOMEM;
    if (!labels || !(labels->user || labels->cgroup || labels->container))
        return 0;
    const struct store_process_origin origin = {
        .uid = UINT32_MAX,
        .user = or_null(text_of(run, labels->user)),
        .cgroup = or_null(text_of(run, labels->cgroup)),
        .container = or_null(text_of(run, labels->container)),
    };
    return recording_add_origin(run->recording, pid, &origin);
}

/* Rows have no numbers of processes and threads: names and labels stand for them. */
static int thread_of(struct run *run, const struct import_row_cost *row, uint32_t *thread)
{
    const struct import_rows *rows = run->building->rows;
    const struct import_row_labels *labels = import_rows_labels(rows, row->labels_key);
    const uint64_t place = labels ? (uint64_t)(labels - rows->labels.items) + 1 : 0;
    const char *process = or_null(text_of(run, row->process));
    const char *name = or_null(text_of(run, row->thread));
    uint64_t *pid = sprof_map_at(&run->processes, place << 32 | row->process);
    if (!pid)
        return SPROF_ENOMEM;
    if (!*pid) {
        *pid = (uint64_t)++run->last_number;
        if (add_process(run, row, labels, (pid_t)*pid))
            return SPROF_ENOMEM;
    }
    uint64_t *known = sprof_map_at(&run->threads, *pid << 32 | row->thread);
    if (!known)
        return SPROF_ENOMEM;
    *thread = (uint32_t)*known;
    if (*known)
        return 0;
    const bool is_main = row->process == row->thread;
    const pid_t tid = is_main ? (pid_t)*pid : ++run->last_number;
    const struct model_thread *made =
        recording_thread(run->recording, (pid_t)*pid, tid, name ? name : process, 0);
    *thread = made ? made->id : 0;
    *known = *thread;
    return made ? 0 : SPROF_ENOMEM;
}

/* The rows of `run` of this run, those of an event or all. */
static struct import_row_runs runs_of(const struct run *run, uint32_t event, bool all)
{
    const struct group *group = run->group;
    const struct import_row_run like = {
        .service = group->service, .version = group->version, .host = group->host, .event = event};
    return import_rows_runs(run->building->rows, &like, all);
}

static bool has_unit(const struct run *run, const struct import_row_cost *cost, const char *unit)
{
    return !strcmp(text_of(run, cost->unit), unit);
}

/* An event as the rows of `run` describe it; of several that differ the weights vary. Calls out of
 * the traced modules are of the same event as those within. */
static struct store_event describe(const struct run *run, const struct import_row_cost *cost)
{
    const struct import_row_runs runs = runs_of(run, cost->event, false);
    struct store_event event = {
        .name = cost->event ? text_of(run, cost->event) : "samples",
        .is_clock = *text_of(run, cost->state) != '\0',
        .varying = true,
        .unit = has_unit(run, cost, "call") || has_unit(run, cost, "outside") ? STORE_UNIT_CALL
                                                                              : STORE_UNIT_SAMPLE,
    };
    for (size_t i = 0; i < runs.count; i++) {
        const struct import_row_run *row = &runs.items[i];
        event.is_clock = row->is_clock;
        event.varying = row->varying || (i && (event.varying || event.period != row->period));
        event.period = !i || event.period == row->period ? row->period : 0;
    }
    return event;
}

static int weigh(struct run *run, const struct import_row_cost *cost)
{
    uint64_t *known = sprof_map_at(&run->events, cost->event);
    if (!known || (!*known && sprof_vec_push(&run->known, (struct event){0})))
        return SPROF_ENOMEM;
    *known = *known ? *known : run->known.count;
    import_rows_weigh(&run->known.items[*known - 1].weights, cost);
    return 0;
}

/* The event of a row that was weighed. */
static int find_event(struct run *run, const struct import_row_cost *cost,
                      const struct event **found)
{
    struct event *event = &run->known.items[*sprof_map_get(&run->events, cost->event) - 1];
    *found = event;
    if (event->id)
        return 0;
    const struct store_event described = describe(run, cost);
    const struct import_row_runs runs = runs_of(run, cost->event, false);
    event->spread = described.varying ? import_rows_spread(runs, &event->weights) : 1;
    return recording_add_event(run->recording, &described, &event->id);
}

/* As many rows as it takes; the first has the weight of all. */
static int add_part(struct run *run, struct store_sample *row, struct model_cost part)
{
    uint64_t left = part.samples;
    int result = 0;
    row->weight = part.weight;
    do {
        row->count = left < STORE_SAMPLE_COUNT_MAX ? left : STORE_SAMPLE_COUNT_MAX;
        if (!result)
            result = recording_add_sample(run->recording, row);
        left -= row->count;
        row->weight = 0;
    } while (left && !result);
    return result;
}

static int add_sample(struct run *run, const struct import_row_cost *cost)
{
    const uint64_t second_ns = 1000000000;
    struct store_sample row = {
        .time_ns = cost->time_s > run->start_s ? (cost->time_s - run->start_s) * second_ns : 0,
        .cpu = -1,
        .end_reason = MODEL_END_ROOT,
        .user_stack = true,
    };
    const struct event *event;
    struct model_cost parts[2];
    int result = find_event(run, cost, &event);
    row.event_id = event->id;
    if (!result)
        result = node_of(run, cost->path_key, &row.node_id);
    if (!result)
        result = thread_of(run, cost, &row.thread_id);
    if (!result && has_unit(run, cost, "call"))
        result = import_rows_add_calls(recording_batch(run->recording), &run->calls, cost, &row,
                                       recording_run(run->recording)->id);
    if (!cost->samples && !cost->weight)
        return result;
    const size_t count =
        import_rows_divide((struct model_cost){cost->samples, cost->weight}, event->spread, parts);
    for (size_t i = 0; i < count && !result; i++)
        result = add_part(run, &row, parts[i]);
    return result;
}

/* What all rows of `run` of this run say together. */
static void settle_run(struct run *run, uint64_t last_s)
{
    const struct import_row_runs runs = runs_of(run, 0, true);
    const uint64_t second_ns = 1000000000;
    struct store_run *row = recording_run(run->recording);
    uint64_t end_ns = (last_s - run->start_s) * second_ns;
    uint32_t mode = 0;
    for (size_t i = 0; i < runs.count; i++) {
        const struct import_row_run *from = &runs.items[i];
        const uint64_t begin_ns =
            from->time_s > run->start_s ? (from->time_s - run->start_s) * second_ns : 0;
        const uint64_t length_ns =
            from->duration_ns < UINT64_C(1) << 60 ? from->duration_ns : UINT64_C(1) << 60;
        if (begin_ns + length_ns > end_ns)
            end_ns = begin_ns + length_ns;
        row->target_cpu_ns += from->target_cpu_ns;
        row->own_cpu_ns += from->own_cpu_ns;
        row->frequency_hz = from->hz;
        mode = from->mode;
    }
    const char *words = text_of(run, mode);
    row->mode = model_mode_text(!strncmp(words, "pc", 2)    ? MODEL_MODE_PC
                                : !strncmp(words, "app", 3) ? MODEL_MODE_APP
                                                            : MODEL_MODE_FULL);
    row->frame = strstr(words, "--frame app") ? "app" : NULL;
    row->app_interior = strstr(words, "drop") ? "drop" : row->app_interior;
    row->host = or_null(text_of(run, run->group->host));
    row->sprof_version = run->building->options->sprof_version;
    row->source = MODEL_SOURCE_ROWS;
    row->boot_id = MODEL_SOURCE_ROWS; /* addresses do not matter: the kernel is the same in all */
    row->start_realtime_ns = run->start_s * second_ns;
    row->duration_ns = end_ns;
}

static int note_chance(const struct run *run)
{
    const double chance = import_rows_chance(runs_of(run, 0, true));
    const uint64_t ppm = (uint64_t)(chance * 1e6 + 0.5);
    const struct store_counter row = {recording_run(run->recording)->id, STORE_LOOP_CHANCE,
                                      ppm ? ppm : 1};
    return chance < 1 ? sprof_vec_push(&recording_batch(run->recording)->counters, row) : 0;
}

/* When the first of this run's windows and runs began. */
static uint64_t start_of(const struct run *run)
{
    const struct import_row_runs runs = runs_of(run, 0, true);
    uint64_t start_s = run->building->rows->costs.items[run->group->first].time_s;
    for (size_t i = 0; i < runs.count; i++)
        if (runs.items[i].time_s && runs.items[i].time_s < start_s)
            start_s = runs.items[i].time_s;
    return start_s;
}

static int fill_run(struct run *run, const char *path, const char *command,
                    struct sprof_error *error)
{
    const struct building *building = run->building;
    const struct import_row_cost *costs = building->rows->costs.items;
    const struct recording_end end = {.names = &building->names};
    int result = 0;
    recording_run(run->recording)->command = command;
    for (size_t i = run->group->first; i < run->group->end && !result; i++)
        result = weigh(run, &costs[i]);
    for (size_t i = run->group->first; i < run->group->end && !result; i++)
        result = add_sample(run, &costs[i]);
    import_rows_settle_calls(recording_batch(run->recording));
    settle_run(run, costs[run->group->end - 1].time_s);
    if (result || note_chance(run))
        return sprof_error_memory(error);
    result = recording_create(run->recording, path, error);
    if (!result)
        result = recording_start(run->recording, 0, 0, error);
    return result ? result : recording_finish(run->recording, &end, error);
}

/* "shop 1.2", how the run is called. */
static char *title_of(const struct run *run)
{
    struct sprof_str text = {0};
    const char *service = text_of(run, run->group->service);
    const char *version = text_of(run, run->group->version);
    sprof_str_appendf(&text, "%s%s%s", *service ? service : "rows", *version ? " " : "", version);
    return sprof_str_take(&text);
}

static int build_run(const struct building *building, const struct group *group, const char *path,
                     struct sprof_error *error)
{
    const struct recording_options options = {
        .view = {.mode = MODEL_MODE_FULL},
        .rules = {building->rules.items, building->rules.count},
        .no_cache = true,
        .overwrite = building->options->overwrite,
        .log = building->options->log,
    };
    struct run run = {.building = building, .group = group};
    char *title = title_of(&run);
    run.nodes = calloc(building->rows->paths.count + 1, sizeof *run.nodes);
    run.start_s = start_of(&run);
    int result = title && run.nodes ? recording_open(&run.recording, &options, error)
                                    : sprof_error_memory(error);
    if (!result)
        result = fill_run(&run, path, title, error);
    recording_free(run.recording);
    free(run.nodes);
    free(title);
    sprof_map_release(&run.events);
    sprof_vec_release(&run.known);
    sprof_map_release(&run.processes);
    sprof_map_release(&run.threads);
    sprof_map_release(&run.calls);
    return result;
}

/* == All of them == */

/* The runs in files of their own, which become one. */
struct parts {
    char directory[PATH_MAX + NAME_MAX + 2];
    SPROF_VEC(char *) paths;
};

static int build_parts(const struct building *building, struct parts *parts,
                       struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < building->groups.count && !result; i++) {
        struct sprof_str path = {0};
        sprof_str_appendf(&path, "%s/%zu.db", parts->directory, i);
        char *text = sprof_str_take(&path);
        if (!text || sprof_vec_push(&parts->paths, text)) {
            free(text);
            return sprof_error_memory(error);
        }
        sprof_log_progress(building->options->log, "importing", i, building->groups.count);
        result = build_run(building, &building->groups.items[i], text, error);
    }
    return result;
}

static int merge_parts(const struct building *building, const struct parts *parts,
                       struct sprof_error *error)
{
    const struct store_merge_options options = {
        .output = building->options->output,
        .inputs = (const char *const *)parts->paths.items,
        .count = parts->paths.count,
        .overwrite = building->options->overwrite,
        .log = building->options->log,
    };
    struct store_merge_result result;
    return store_merge(&options, &result, error);
}

/* Other users may write into the output's directory: links of theirs lead nowhere. */
static int build_all(const struct building *building, struct sprof_error *error)
{
    const char *output = building->options->output;
    struct parts parts = {.paths = {0}};
    struct sprof_place place;
    char beside[PATH_MAX], name[NAME_MAX + 1];
    if (building->groups.count == 1)
        return build_run(building, &building->groups.items[0], output, error);
    int fd = sprof_place_find(&place, output), result;
    if (fd == -ELOOP)
        return sprof_place_refuse_link(&place, output, SPROF_EPERMISSION, error);
    if (!fd)
        fd = sprof_place_directory(&place, beside, sizeof beside)
                 ? import_made_directory_make(&place, name)
                 : -ENOTDIR;
    if (fd < 0) {
        sprof_place_close(&place);
        return sprof_error_set(error, SPROF_EIO, -fd,
                               "cannot make a directory for the runs beside %s: %s", output,
                               strerror(-fd));
    }
    snprintf(parts.directory, sizeof parts.directory, "%s/%s", beside, name);
    result = build_parts(building, &parts, error);
    if (!result)
        result = merge_parts(building, &parts, error);
    for (size_t i = 0; i < parts.paths.count; i++)
        free(parts.paths.items[i]);
    sprof_vec_release(&parts.paths);
    import_made_directory_remove(&place, name, fd);
    sprof_place_close(&place);
    return result;
}

/* A selection is no mistake, and neither is what is missing of a file always found otherwise. */
static void say_what_is_missing(const struct building *building, const struct import_result *result)
{
    const struct import_rows *rows = building->rows;
    uint64_t recorded = 0;
    for (size_t i = 0; i < rows->runs.count; i++)
        recorded += rows->runs.items[i].samples;
    if (!rows->runs.count)
        sprof_log_message(building->options->log, SPROF_LOG_WARNING,
                          "no rows of the table `run`: how it was recorded is not known");
    else if (recorded != result->samples)
        sprof_log_message(building->options->log, SPROF_LOG_WARNING,
                          "%s of the %s samples of these runs are here: a selection, or a part of "
                          "the rows is missing",
                          sprof_digits_of(result->samples).text, sprof_digits_of(recorded).text);
}

int import_rows_build(struct import_rows *rows, const struct import_options *options,
                      struct import_result *result, struct sprof_error *error)
{
    struct building building = {.rows = rows, .options = options};
    *result = (struct import_result){.format = "rows"};
    int status = import_rows_add_up(rows, &result->samples, error);
    import_rows_sort_runs(rows);
    if (!status)
        status = find_groups(&building, error);
    if (!status && name_functions(&building))
        status = sprof_error_memory(error);
    if (!status)
        status = build_all(&building, error);
    result->runs = building.groups.count;
    if (!status)
        say_what_is_missing(&building, result);
    sprof_vec_release(&building.groups);
    sprof_vec_release(&building.rules);
    sprof_vec_release(&building.names.levels);
    sprof_vec_release(&building.names.addresses);
    sprof_intern_release(&building.globs);
    return status;
}
