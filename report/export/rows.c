/* Writes the rows of a recording for a fleet's database: functions and call paths by keys that are
 * the same everywhere, what was spent on them by window, and how it was recorded. */
#include "report/export/rows.h"

#include "report/diff_parts.h"
#include "report/error_text.h"
#include "report/export/labels.h"
#include "report/services.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const report_rows_tables[REPORT_ROWS_TABLES] = {
    [REPORT_ROWS_FUNCTION] = "function", [REPORT_ROWS_PATH] = "path",
    [REPORT_ROWS_LABELS] = "labels",     [REPORT_ROWS_COST] = "cost",
    [REPORT_ROWS_RUN] = "run",
};

struct writing {
    const struct report_rows_files *files;
    const struct report_rows_options *options;
    struct report_rows_count *count;
    struct store *store;
    struct export_labels labels;
    struct sprof_map functions, paths, label_keys; /* that are written */
};

static const char function_heading[] =
    "function_key\tmodule\tkind\tname\tlinkage_name\tfile\tline\tstart\tnamed\n";

/* == Text == */

static void put_escaped(FILE *out, const char *text)
{
    for (; *text; text++)
        switch (*text) {
        case '\t': fputs_unlocked("\\t", out); break;
        case '\n': fputs_unlocked("\\n", out); break;
        case '\r': fputs_unlocked("\\r", out); break;
        case '\\': fputs_unlocked("\\\\", out); break;
        default: putc_unlocked(*text, out);
        }
}

static void put_text(FILE *out, const char *text)
{
    if (text)
        put_escaped(out, text);
    putc_unlocked('\t', out);
}

static void put_raw(FILE *out, const char *text)
{
    fputs_unlocked(text, out);
    putc_unlocked('\t', out);
}

static void put_number(FILE *out, uint64_t number)
{
    char digits[24], *at = digits + sizeof digits;
    *--at = '\t';
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    fwrite_unlocked(at, 1, (size_t)(digits + sizeof digits - at), out);
}

static void put_time(FILE *out, uint64_t seconds)
{
    const time_t time = (time_t)seconds;
    struct tm parts;
    char text[32];
    gmtime_r(&time, &parts);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S\t", &parts);
    fputs_unlocked(text, out);
}

static void end_row(FILE *out, const char *last)
{
    put_escaped(out, last);
    putc_unlocked('\n', out);
}

static void put_headings(const struct report_rows_files *files)
{
    fputs(function_heading, files->tables[REPORT_ROWS_FUNCTION]);
    fputs("service\tpath_key\tfunctions\n", files->tables[REPORT_ROWS_PATH]);
    fputs("labels_key\tlabels\n", files->tables[REPORT_ROWS_LABELS]);
    fputs(
        "service\tversion\thost\ttime\tevent\tunit\tstate\tlabels_key\tprocess\tthread\tpath_key\t"
        "samples\tweight\ttotal\toutermost\tcounted\tin_flight\n",
        files->tables[REPORT_ROWS_COST]);
    fputs("run_key\ttime\tduration_ns\tservice\tversion\thost\tlabels_key\tlabels\tevent\tunit\t"
          "is_clock\tvarying\tperiod\tmode\twindow\tsamples\tweight\tsquares\tlost\ttarget_cpu_ns\t"
          "own_cpu_ns\thz\tchance\tsprof_version\n",
          files->tables[REPORT_ROWS_RUN]);
}

/* == Labels == */

static int put_map(struct writing *writing, FILE *out)
{
    struct sprof_str map = {0};
    const int result =
        report_row_labels_write(&map, writing->labels.others.items, writing->labels.others.count);
    put_raw(out, result ? "" : map.text);
    sprof_str_release(&map);
    return result;
}

/* A row for labels that rows of cost have. */
static int put_labels(struct writing *writing, uint64_t key, const char *map)
{
    uint64_t *written = key ? sprof_map_at(&writing->label_keys, key) : &(uint64_t){1};
    if (!written || *written)
        return written ? 0 : SPROF_ENOMEM;
    FILE *out = writing->files->tables[REPORT_ROWS_LABELS];
    *written = 1;
    put_number(out, key);
    fprintf(out, "%s\n", map);
    return 0;
}

/* == Functions and paths == */

static int put_function(struct writing *writing, const struct report_dataset *dataset,
                        uint32_t number, uint64_t key)
{
    const struct report_function *function = &dataset->functions.items[number - 1];
    const struct report_module *module =
        &dataset->modules.items[dataset->facts.items[number - 1].module - 1];
    const char *slash = function->file ? strrchr(function->file, '/') : NULL;
    FILE *out = writing->files->tables[REPORT_ROWS_FUNCTION];
    uint64_t *written = sprof_map_at(&writing->functions, key);
    if (!written || *written)
        return written ? 0 : SPROF_ENOMEM;
    *written = 1;
    writing->count->functions++;
    put_number(out, key);
    put_text(out, module->name);
    put_text(out, model_kind_text(module->kind));
    put_text(out, function->name);
    put_text(out, function->linkage_name);
    put_text(out, slash ? slash + 1 : function->file);
    put_number(out, function->line);
    put_number(out, function->start);
    end_row(out, function->named ? "1" : "0");
    return 0;
}

/* Each service has its own rows, so that a question about one reads no paths of others. */
static int put_path(struct writing *writing, const struct report_dataset *dataset,
                    const struct report_row_keys *keys, const char *service, uint32_t path,
                    struct export_chain *chain)
{
    uint64_t *written =
        sprof_map_at(&writing->paths, sprof_hash_pair(sprof_hash_text(service), keys->paths[path]));
    FILE *out = writing->files->tables[REPORT_ROWS_PATH];
    if (!written || *written)
        return written ? 0 : SPROF_ENOMEM;
    *written = 1;
    writing->count->paths++;
    int result = report_export_chain(dataset, path, chain);
    put_text(out, service);
    put_number(out, keys->paths[path]);
    for (size_t i = 0; i < chain->functions.count && !result; i++) {
        const uint32_t function = chain->functions.items[i];
        fprintf(out, "%c%" PRIu64, i ? ',' : '[', keys->functions[function]);
        result = put_function(writing, dataset, function, keys->functions[function]);
    }
    fputs("]\n", out);
    return result;
}

/* == Costs and runs == */

static const char *unit_of(const struct report_dataset *dataset)
{
    return report_counts_calls(dataset) ? "call" : "sample";
}

static const char *state_of(const struct report_dataset *dataset)
{
    return dataset->event.is_clock && strcmp(dataset->event.name, MODEL_EVENT_WALL) != 0
               ? report_event_state(&dataset->event)
               : "";
}

static void put_identity(FILE *out, const struct report_row_service *service, const char *host)
{
    put_text(out, service->name);
    put_text(out, service->version);
    put_text(out, host);
}

static void put_cost(struct writing *writing, const struct report_dataset *dataset,
                     const struct export_identity *identity, const struct report_row_costs *costs,
                     const struct report_row_cost *row, uint64_t labels_key, uint64_t path_key)
{
    FILE *out = writing->files->tables[REPORT_ROWS_COST];
    put_identity(out, &costs->services.items[row->service], identity->host);
    put_time(out, row->window * (writing->options->window_ns / 1000000000));
    put_text(out, dataset->event.name);
    put_text(out, row->outside ? "outside" : unit_of(dataset));
    put_text(out, state_of(dataset));
    put_number(out, labels_key);
    put_text(out, sprof_intern_text(&costs->names, row->process));
    put_text(out, sprof_intern_text(&costs->names, row->thread));
    put_number(out, path_key);
    put_number(out, row->sums.cost.samples);
    put_number(out, row->sums.cost.weight);
    put_number(out, row->sums.total_ns);
    put_number(out, row->sums.outermost);
    put_number(out, row->sums.counted);
    fprintf(out, "%" PRIu64 "\n", row->sums.in_flight);
    writing->count->costs++;
}

/* The sum of the squared weights of the samples of the run. */
static double squares_of(const struct report_dataset *dataset)
{
    const double weight = (double)(dataset->total.weight - dataset->apart.not_sampled.weight);
    return dataset->effective_samples > 0 ? weight * weight / dataset->effective_samples : 0;
}

static int take_chance(void *chance, int columns, char *const *values, char *const *names)
{
    (void)names;
    if (columns && values[0])
        *(double *)chance = strtod(values[0], NULL);
    return 0;
}

/* With which chance the segment of a continuous recording was recorded. */
static int read_chance(struct store *store, uint32_t run_id, double *chance,
                       struct sprof_error *error)
{
    char sql[128];
    *chance = 1;
    snprintf(sql, sizeof sql,
             "SELECT value / 1e6 FROM counter WHERE run_id = %" PRIu32
             " AND name = '" STORE_LOOP_CHANCE "'",
             run_id);
    return store_query(store, sql, take_chance, chance, error);
}

/* What a service has of a run. */
struct part {
    const struct report_row_service *service;
    const char *host;
    bool is_whole;
    double chance;
    double before, after, all; /* costs of the services before it, with it, and of all */
};

static uint64_t up_to(const struct part *part, double cost, uint64_t whole)
{
    return cost < part->all ? (uint64_t)((double)whole * (cost / part->all)) : whole;
}

/* What is known of the run as a whole is divided by cost; the sum of the parts is exact. */
static uint64_t share_of(const struct part *part, uint64_t whole)
{
    return up_to(part, part->after, whole) - up_to(part, part->before, whole);
}

static uint64_t part_key(const struct store_run *run, const struct part *part)
{
    const uint64_t of_service = sprof_hash_pair(sprof_hash_text(part->service->name),
                                                sprof_hash_text(part->service->version));
    return part->is_whole ? run->key : sprof_hash_pair(run->key, of_service);
}

static int put_run(struct writing *writing, const struct report_dataset *dataset,
                   const struct part *part)
{
    const struct store_run *run = &dataset->run;
    const struct store_event *event = &dataset->event;
    FILE *out = writing->files->tables[REPORT_ROWS_RUN];
    put_number(out, part_key(run, part));
    put_time(out, run->start_realtime_ns / 1000000000);
    put_number(out, run->duration_ns);
    put_identity(out, part->service, part->host);
    put_number(out, writing->labels.key);
    const int result = put_map(writing, out);
    put_text(out, event->name);
    put_text(out, unit_of(dataset));
    put_number(out, event->is_clock);
    put_number(out, event->varying);
    put_number(out, event->period);
    put_text(out, model_mode_options_text(dataset->reading.mode, dataset->reading.frame_app,
                                          dataset->reading.drop_interior));
    put_number(out, writing->options->window_ns / 1000000000);
    put_number(out, part->service->sum.samples);
    put_number(out, part->service->sum.weight);
    fprintf(out, "%.17g\t", squares_of(dataset) * ((part->after - part->before) / part->all));
    put_number(out, share_of(part, dataset->quality.lost));
    put_number(out, share_of(part, run->target_cpu_ns));
    put_number(out, share_of(part, run->own_cpu_ns));
    put_number(out, run->frequency_hz);
    fprintf(out, "%.7g\t", part->chance);
    end_row(out, writing->options->sprof_version);
    writing->count->runs++;
    return result;
}

static double cost_of(const struct report_row_service *service)
{
    return (double)service->sum.samples + (double)service->sum.weight;
}

/* A row for each service that has costs; where none has any, each has an equal part. */
static int put_runs(struct writing *writing, const struct report_dataset *dataset,
                    const struct report_row_costs *costs, const struct export_identity *identity,
                    struct sprof_error *error)
{
    struct part part = {.host = identity->host, .is_whole = identity->service};
    int result = read_chance(writing->store, dataset->run.id, &part.chance, error);
    for (size_t i = 0; i < costs->services.count; i++)
        part.all += cost_of(&costs->services.items[i]);
    const double least = part.all > 0 ? 0 : 1;
    part.all += least * (double)costs->services.count;
    for (size_t i = 0; i < costs->services.count && !result; i++) {
        part.service = &costs->services.items[i];
        part.before = part.after;
        part.after += cost_of(part.service) + least;
        if (part.after > part.before)
            result = put_run(writing, dataset, &part);
    }
    return result;
}

static int put_rows(struct writing *writing, struct report_dataset *dataset, const uint32_t *paths,
                    struct sprof_error *error)
{
    const struct report_content content = {
        .kind = REPORT_PROFILE, .dataset = dataset, .store = writing->store};
    struct export_identity identity = report_export_identity(&writing->labels, dataset);
    struct report_row_costs costs;
    struct report_row_keys keys = {0};
    struct report_row_labels labels;
    struct export_chain chain = {0};
    if (report_run_is_of_machine(&dataset->run) && !writing->labels.service)
        identity.service = NULL; /* each process has its own */
    int result =
        report_row_labels_make(&labels, dataset, &writing->labels, writing->options->without);
    costs = (struct report_row_costs){0};
    if (!result)
        result = report_row_costs_make(&costs, &content, paths, &labels, &identity,
                                       writing->options, error);
    if (!result)
        result = report_row_keys_make(&keys, dataset);
    for (size_t i = 0; i < costs.items.count && !result; i++) {
        const struct report_row_cost *row = &costs.items.items[i];
        const uint64_t key = labels.keys.items[row->labels - 1];
        result = put_path(writing, dataset, &keys, costs.services.items[row->service].name,
                          row->path, &chain);
        if (!result)
            result = put_labels(writing, key, sprof_intern_text(&labels.maps, row->labels));
        put_cost(writing, dataset, &identity, &costs, row, key, keys.paths[row->path]);
    }
    if (!result && costs.items.count)
        result = put_runs(writing, dataset, &costs, &identity, error);
    sprof_vec_release(&chain.functions);
    report_row_keys_release(&keys);
    report_row_costs_release(&costs);
    report_row_labels_release(&labels);
    return result;
}

/* One event of one run. */
static int put_event(struct writing *writing, const struct report_selection *selection,
                     struct sprof_error *error)
{
    struct report_dataset dataset;
    int result = report_dataset_load(&dataset, writing->store, selection,
                                     REPORT_STACKS | REPORT_ONLY_RUN, error);
    if (!result && dataset.counted.coverage.called)
        result = sprof_error_set(error, SPROF_EUSAGE, 0,
                                 "run %u says which functions were called, and rows hold costs: "
                                 "`sprof export -f lcov` writes coverage",
                                 dataset.run.id);
    uint32_t *paths = result ? NULL : report_export_paths(&dataset);
    sprof_map_release(&dataset.paths.index); /* no path is added any more */
    if (!result)
        result = paths ? put_rows(writing, &dataset, paths, error) : SPROF_ENOMEM;
    free(paths);
    report_dataset_release(&dataset);
    return report_error_code(result, error);
}

int report_rows(const struct report_rows_files *files, struct store *store,
                const struct report_selection *selection, const struct report_rows_options *options,
                struct report_rows_count *count, struct sprof_error *error)
{
    struct writing writing = {.files = files, .options = options, .count = count, .store = store};
    struct report_dataset all = {0};
    *count = (struct report_rows_count){0};
    int result = report_export_labels(&writing.labels, &options->labels, error);
    if (!result)
        result = report_dataset_load_events(&all, store, selection, error);
    put_headings(files);
    for (size_t i = 0; i < all.events.count && !result; i++) {
        const struct store_event *event = &all.events.items[i];
        struct report_selection one = *selection;
        if ((selection->event || selection->state) && !report_dataset_takes_event(&all, event->id))
            continue;
        one.run_id = event->run_id;
        one.all_runs = false;
        one.host = NULL;
        one.event = event->name;
        result = put_event(&writing, &one, error);
    }
    report_dataset_release(&all);
    report_export_labels_release(&writing.labels);
    sprof_map_release(&writing.functions);
    sprof_map_release(&writing.paths);
    sprof_map_release(&writing.label_keys);
    return result;
}

/* A part of a function is found where the part is, and has the name of the whole. */
int report_rows_names(FILE *function, struct store *store, uint64_t *count,
                      struct sprof_error *error)
{
    const struct report_selection all = {.all_runs = true};
    const struct report_rows_files files = {{[REPORT_ROWS_FUNCTION] = function}};
    struct report_rows_count counted = {0};
    struct writing writing = {.files = &files, .count = &counted, .store = store};
    struct report_dataset dataset = {0};
    int result = report_dataset_load(&dataset, store, &all, REPORT_ANY_MODE, error);
    fputs(function_heading, function);
    for (uint32_t i = 1; i <= dataset.functions.count && !result; i++) {
        const uint64_t key = report_row_unnamed_key(&dataset, i);
        const uint32_t owner = dataset.functions.items[i - 1].owner;
        result = key ? put_function(&writing, &dataset, owner ? owner : i, key) : 0;
    }
    report_dataset_release(&dataset);
    sprof_map_release(&writing.functions);
    *count = counted.functions;
    return report_error_code(result, error);
}
