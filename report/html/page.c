/* Writes a recording as one HTML page that holds all it needs and loads nothing. */
#include "report/dataset.h"
#include "report/error_text.h"
#include "report/html/parts.h"
#include "report/json.h"
#include "report/output_close.h"
#include "report/quality.h"
#include "report/slots.h"

#include <string.h>
#include <time.h>

/* A page of this size opens within a second, and has at most 6 MB. */
enum { PATHS_MOST = 200 * 1000, COSTS_MOST = 600 * 1000 };

/* Flags of a function, as report/html/data.js names them. */
enum { FLAG_STARTUP = 1, FLAG_INLINED = 2 };

struct page {
    struct store *store;
    struct sprof_error *error;
    struct report_slots slots;
    struct report_dataset dataset;      /* of the run at hand; in the end of the last */
    struct sprof_map events, threads;   /* database id → index in the page */
    struct sprof_map files;             /* hash of a name → index + 1 */
    SPROF_VEC(const char *) file_names; /* in the dataset's arena */
    SPROF_VEC(uint32_t) runs;           /* database ids */
    size_t processes;
    struct json json;
    uint32_t pruned_function, outside_function; /* numbers */
};

/* == One run == */

static void put_card(struct json *json, const char *value, const char *title, const char *note,
                     bool warn)
{
    report_json_open_object(json, NULL);
    report_json_text(json, "value", value);
    report_json_text(json, "title", title);
    report_json_text(json, "note", note);
    report_json_bool(json, "warn", warn);
    report_json_close_object(json);
}

static void put_share_card(struct json *json, uint64_t part, uint64_t whole, const char *title,
                           const char *note, unsigned least_percent)
{
    char number[NUMBER_BYTES];
    if (whole)
        put_card(json, report_number_quality(number, part, whole), title, note,
                 report_number_share(part, whole) < least_percent);
}

static void put_cards(struct json *json, const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    char number[NUMBER_BYTES], other[NUMBER_BYTES], note[160];
    report_json_open_array(json, "cards");
    report_number_time(number, quality->target_cpu_ns,
                       report_number_time_unit(quality->target_cpu_ns));
    report_number_time(other, dataset->run.duration_ns,
                       report_number_time_unit(dataset->run.duration_ns));
    snprintf(note, sizeof note, "in %s of wall time", other);
    put_card(json, number, "CPU time", note, false);
    snprintf(note, sizeof note, "%s%s%s", dataset->event.name ? dataset->event.name : "no event",
             quality->requested_hz > 0 ? ", " : "", report_quality_rate(other, quality));
    put_card(json, report_number_grouped(number, quality->samples), "samples", note, false);
    snprintf(note, sizeof note, "of %s that were due",
             report_number_grouped(other, quality->samples + quality->lost));
    put_card(json, report_number_grouped(number, quality->lost), "samples lost", note,
             quality->lost * 100 > quality->samples);
    if (quality->has_user_stacks) {
        snprintf(note, sizeof note, "followed to the thread's root; %s guessed frames",
                 report_number_grouped(other, quality->guessed_frames));
        put_share_card(json, quality->whole_stacks, quality->user_stacks, "whole stacks", note, 99);
    }
    put_share_card(json, quality->named_frames, quality->frames, "named frames",
                   "by symbols or debug information", 50);
    if (quality->own_cpu_ns)
        put_card(json, report_quality_own_cost(number, quality), "sprof's own cost",
                 "CPU time while recording", false);
    report_json_close_array(json);
}

static void put_fact(struct json *json, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    report_json_open_array(json, NULL);
    report_json_text(json, NULL, name);
    report_json_text(json, NULL, value);
    report_json_close_array(json);
}

static void put_facts(struct json *json, const struct report_dataset *dataset)
{
    const struct store_run *run = &dataset->run;
    char number[NUMBER_BYTES];
    char text[64] = "";
    struct tm local;
    const time_t started = (time_t)(run->start_realtime_ns / 1000000000);
    if (run->start_realtime_ns && localtime_r(&started, &local))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local);
    report_json_open_array(json, "facts");
    put_fact(json, "started", text);
    put_fact(json, "host", run->host);
    put_fact(json, "kernel", run->kernel);
    put_fact(json, "processors", run->cpus ? report_number_grouped(number, run->cpus) : NULL);
    put_fact(json, "directory", run->working_directory);
    put_fact(json, "attached to", run->targets);
    put_fact(json, "source", run->source);
    put_fact(json, "kernel not sampled", run->kernel_excluded);
    if (run->stack_bytes)
        put_fact(json, "stack copied", report_number_size(number, run->stack_bytes));
    put_fact(json, "sprof", run->sprof_version);
    report_json_close_array(json);
}

static int put_quality(struct json *json, struct report_dataset *dataset)
{
    struct quality_parts parts = {0};
    char number[NUMBER_BYTES];
    report_number_grouped(number, dataset->quality.samples);
    if (report_quality_part(dataset, &parts, "%s sample%s", number,
                            report_number_plural(dataset->quality.samples)) ||
        report_quality_of_samples(dataset, &parts) || report_quality_notes(dataset, &parts))
        return SPROF_ENOMEM;
    report_json_open_array(json, "quality");
    for (size_t i = 0; i < parts.count; i++)
        report_json_text(json, NULL, parts.items[i]);
    report_json_close_array(json);
    return 0;
}

static void put_processes(struct page *page)
{
    struct json *json = &page->json;
    const struct report_dataset *dataset = &page->dataset;
    report_json_open_array(json, "processes");
    for (size_t i = 0; i < dataset->processes.count; i++) {
        const struct report_process *process = &dataset->processes.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "pid", (uint64_t)process->pid);
        report_json_text(json, "name", process->name);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

/* Threads of a run, by their indexes among all threads of the page. */
static void put_threads(struct page *page, const uint64_t *sampled)
{
    struct json *json = &page->json;
    const struct report_dataset *dataset = &page->dataset;
    report_json_open_array(json, "threads");
    for (size_t i = 0; i < dataset->threads.count; i++) {
        const struct report_thread *thread = &dataset->threads.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "process", thread->process - 1 + page->processes);
        report_json_count(json, "tid", (uint64_t)thread->tid);
        report_json_text(json, "name", thread->name);
        report_json_count(json, "samples", sampled[i]);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static int put_events(struct page *page, uint64_t index)
{
    struct json *json = &page->json;
    const struct report_dataset *dataset = &page->dataset;
    report_json_open_array(json, "events");
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        /* The dataset knows of its own event whether rows without samples make it weighted. */
        const bool own = event->id == dataset->event.id;
        report_json_open_object(json, NULL);
        report_json_count(json, "run", index);
        report_json_text(json, "name", event->name);
        report_json_bool(json, "clock", event->is_clock);
        report_json_bool(json, "varying", event->varying || (own && dataset->weighted));
        report_json_close_object(json);
        if (sprof_map_put(&page->events, event->id, page->events.count))
            return SPROF_ENOMEM;
    }
    report_json_close_array(json);
    return 0;
}

/* How many samples each thread of the dataset has, and the last slot that has any. */
static uint64_t *count_samples(const struct page *page, uint32_t *slots)
{
    const struct report_slots *all = &page->slots;
    uint64_t *sampled = calloc(page->dataset.threads.count + 1, sizeof *sampled);
    *slots = 1;
    for (size_t i = 0; sampled && i < all->costs.count; i++) {
        const struct report_slot_cost *cost = &all->costs.items[i];
        const struct report_lane *lane = &all->lanes.items[cost->lane];
        if (lane->run != page->dataset.run.id)
            continue;
        const uint64_t *thread = sprof_map_get(&page->dataset.thread_numbers, lane->thread);
        if (thread)
            sampled[*thread - 1] += cost->cost.samples;
        if (cost->slot >= *slots)
            *slots = cost->slot + 1;
    }
    return sampled;
}

static const char *name_of(const struct store_run *run)
{
    return run->command ? run->command : run->targets ? run->targets : "recording";
}

static int put_run(struct page *page, uint64_t index)
{
    struct json *json = &page->json;
    struct report_dataset *dataset = &page->dataset;
    const struct store_run *run = &dataset->run;
    uint32_t slots;
    char label[32];
    uint64_t *sampled = count_samples(page, &slots);
    if (!sampled)
        return SPROF_ENOMEM;
    const uint64_t whole = (run->duration_ns + page->slots.slot_ns - 1) / page->slots.slot_ns;
    snprintf(label, sizeof label, "run %u", dataset->run_number);
    report_json_open_object(json, NULL);
    report_json_text(json, "label", label);
    report_json_text(json, "name", name_of(run));
    report_json_text(json, "command", name_of(run));
    report_json_text(json, "mode", run->mode);
    report_json_text(json, "frame", run->frame);
    report_json_text(json, "interior", run->app_interior);
    report_json_count(json, "slots", whole > slots ? whole : slots);
    report_json_count(json, "slotNs", page->slots.slot_ns);
    int result = put_quality(json, dataset);
    put_cards(json, dataset);
    put_facts(json, dataset);
    put_processes(page);
    if (!result)
        result = put_events(page, index);
    put_threads(page, sampled);
    report_json_close_object(json);
    free(sampled);
    return result;
}

/* Finds the threads of the run's lanes in the page, where the run's first thread is `first`. */
static int index_threads(struct page *page, size_t first)
{
    for (size_t i = 0; i < page->slots.lanes.count; i++) {
        const struct report_lane *lane = &page->slots.lanes.items[i];
        const uint64_t *number = sprof_map_get(&page->dataset.thread_numbers, lane->thread);
        if (lane->run == page->dataset.run.id && number &&
            sprof_map_put(&page->threads, lane->thread, first + *number - 1))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int put_runs(struct page *page)
{
    size_t threads = 0;
    report_json_open_array(&page->json, "runs");
    for (size_t i = 0; i < page->runs.count; i++) {
        const struct report_selection selection = {.run_id = page->runs.items[i]};
        report_dataset_release(&page->dataset);
        int result = report_dataset_load(&page->dataset, page->store, &selection, 0, page->error);
        if (result)
            return result;
        result = index_threads(page, threads);
        if (!result)
            result = put_run(page, i);
        if (result)
            return result;
        threads += page->dataset.threads.count;
        page->processes += page->dataset.processes.count;
    }
    report_json_close_array(&page->json);
    return 0;
}

/* == Functions, modules, files == */

static int file_index(struct page *page, const char *name, uint64_t *index)
{
    *index = 0;
    if (!name)
        return 0;
    const uint64_t key = sprof_hash_text(name);
    const uint64_t *known = sprof_map_get(&page->files, key);
    if (!known) {
        if (sprof_vec_push(&page->file_names, name) ||
            sprof_map_put(&page->files, key, page->file_names.count))
            return SPROF_ENOMEM;
        *index = page->file_names.count;
        return 0;
    }
    *index = *known;
    return 0;
}

/* A function that only the page knows, in the module of such. */
static uint32_t add_pseudo(struct page *page, const char *name)
{
    struct report_dataset *dataset = &page->dataset;
    uint32_t module = 1;
    while (module <= dataset->modules.count &&
           dataset->modules.items[module - 1].kind != MODEL_KIND_NONE)
        module++;
    const struct report_module none = {.name = "[none]", .path = "", .kind = MODEL_KIND_NONE};
    if (module > dataset->modules.count && sprof_vec_push(&dataset->modules, none))
        return 0;
    return report_dataset_add_function(dataset, (struct report_function){.name = name},
                                       (struct model_function){module, MODEL_KIND_NONE, false});
}

static unsigned flags_of(const struct report_dataset *dataset, size_t i)
{
    const struct report_function *function = &dataset->functions.items[i];
    const bool inlined = function->named && !function->start && !function->size && function->line &&
                         dataset->facts.items[i].kind != MODEL_KIND_NONE;
    return (dataset->facts.items[i].startup ? FLAG_STARTUP : 0u) | (inlined ? FLAG_INLINED : 0u);
}

static int put_function_columns(struct page *page, struct html_columns *columns)
{
    const struct report_dataset *dataset = &page->dataset;
    const size_t count = dataset->functions.count;
    for (size_t i = 0; i < count; i++)
        report_html_column_plain(columns, dataset->facts.items[i].module - 1);
    for (size_t i = 0; i < count; i++) {
        uint64_t file;
        if (file_index(page, dataset->functions.items[i].file, &file))
            return SPROF_ENOMEM;
        report_html_column_plain(columns, file);
    }
    for (size_t i = 0; i < count; i++)
        report_html_column_plain(columns, dataset->functions.items[i].line);
    for (size_t i = 0; i < count; i++)
        report_html_column_plain(columns, flags_of(dataset, i));
    return 0;
}

static int put_path_columns(struct page *page, struct html_columns *columns)
{
    const struct report_slots *slots = &page->slots;
    for (size_t i = 0; i < slots->paths.count; i++) {
        const uint32_t parent = slots->paths.items[i].parent;
        report_html_column_plain(columns, parent ? i + 1 - parent : 0);
    }
    report_html_column_begin(columns);
    for (size_t i = 0; i < slots->paths.count; i++) {
        const uint32_t id = slots->paths.items[i].function;
        const uint64_t *number = id ? sprof_map_get(&page->dataset.function_numbers, id) : NULL;
        if (id && !number)
            return SPROF_EFORMAT;
        report_html_column_difference(columns, (number ? *number : page->pruned_function) - 1);
    }
    return 0;
}

static void put_cost_columns(const struct report_slots *slots, struct html_columns *columns)
{
    const size_t count = slots->costs.count;
    report_html_column_begin(columns);
    for (size_t i = 0; i < count; i++)
        report_html_column_difference(columns, slots->costs.items[i].lane);
    report_html_column_begin(columns);
    for (size_t i = 0; i < count; i++)
        report_html_column_difference(columns, slots->costs.items[i].slot);
    report_html_column_begin(columns);
    for (size_t i = 0; i < count; i++)
        report_html_column_difference(columns, slots->costs.items[i].path);
    for (size_t i = 0; i < count; i++)
        report_html_column_plain(columns, slots->costs.items[i].cost.samples);
    for (size_t i = 0; i < count; i++)
        report_html_column_plain(columns, slots->costs.items[i].cost.weight);
}

static void put_names(struct page *page)
{
    struct json *json = &page->json;
    const struct report_dataset *dataset = &page->dataset;
    report_json_open_array(json, "functionNames");
    for (size_t i = 0; i < dataset->functions.count; i++)
        report_json_text(json, NULL, dataset->functions.items[i].name);
    report_json_close_array(json);
    report_json_open_array(json, "modules");
    for (size_t i = 0; i < dataset->modules.count; i++) {
        const struct report_module *module = &dataset->modules.items[i];
        report_json_open_object(json, NULL);
        report_json_text(json, "name", module->name);
        report_json_text(json, "path", module->path);
        report_json_text(json, "kind", model_kind_text(module->kind));
        report_json_close_object(json);
    }
    report_json_close_array(json);
    report_json_open_array(json, "files");
    report_json_text(json, NULL, "");
    for (size_t i = 0; i < page->file_names.count; i++)
        report_json_text(json, NULL, page->file_names.items[i]);
    report_json_close_array(json);
}

static int put_lanes(struct page *page)
{
    struct json *json = &page->json;
    report_json_open_array(json, "lanes");
    for (size_t i = 0; i < page->slots.lanes.count; i++) {
        const struct report_lane *lane = &page->slots.lanes.items[i];
        const uint64_t *event = sprof_map_get(&page->events, lane->event);
        const uint64_t *thread = sprof_map_get(&page->threads, lane->thread);
        if (!event || !thread)
            return SPROF_EFORMAT;
        report_json_open_array(json, NULL);
        report_json_count(json, NULL, *event);
        report_json_count(json, NULL, *thread);
        report_json_close_array(json);
    }
    report_json_close_array(json);
    return 0;
}

/* == The page == */

static void put_pruned(struct page *page)
{
    const struct report_slots *slots = &page->slots;
    char number[NUMBER_BYTES], text[256] = "";
    if (slots->folded)
        snprintf(text, sizeof text,
                 "To keep the page small, %s rare call paths are folded into [pruned] below their "
                 "callers; all sums stay exact.",
                 report_number_grouped(number, slots->folded));
    report_json_text(&page->json, "pruned", text);
}

static int put_header(struct page *page, struct html_columns *columns)
{
    struct json *json = &page->json;
    report_json_open_object(json, NULL);
    int result = put_runs(page);
    if (result)
        return result;
    page->outside_function = page->dataset.outside_function;
    if (!page->outside_function)
        page->outside_function = add_pseudo(page, "[outside the application]");
    page->pruned_function = add_pseudo(page, "[pruned]");
    if (!page->outside_function || !page->pruned_function)
        return SPROF_ENOMEM;
    result = put_function_columns(page, columns);
    if (!result)
        result = put_path_columns(page, columns);
    if (result)
        return result;
    put_cost_columns(&page->slots, columns);
    put_names(page);
    put_pruned(page);
    report_json_count(json, "firstEvent", page->events.count ? page->events.count - 1 : 0);
    report_json_count(json, "outsideFunction", page->outside_function - 1);
    if (page->dataset.not_sampled_function)
        report_json_count(json, "notSampledFunction", page->dataset.not_sampled_function - 1);
    report_json_open_object(json, "counts");
    report_json_count(json, "functions", page->dataset.functions.count);
    report_json_count(json, "nodes", page->slots.paths.count);
    report_json_count(json, "cells", page->slots.costs.count);
    report_json_close_object(json);
    result = put_lanes(page);
    report_json_close_object(json);
    return result || !columns->failed ? result : SPROF_ENOMEM;
}

/* Writes the frame of the page with its parts in their places. */
static int put_page(FILE *out, const char *header, size_t header_size,
                    const struct html_columns *columns)
{
    const char *rest = (const char *)report_html_page;
    for (const char *at; (at = strchr(rest, '@')); rest = strchr(at + 1, '@') + 1) {
        int result = 0;
        fwrite(rest, 1, (size_t)(at - rest), out);
        if (!strncmp(at, "@STYLE@", 7))
            fputs((const char *)report_html_style, out);
        else if (!strncmp(at, "@SCRIPT@", 8))
            fputs((const char *)report_html_script, out);
        else if (!strncmp(at, "@HEADER@", 8))
            result = report_html_packed(out, header, header_size);
        else
            result = report_html_packed(out, columns->bytes.items, columns->bytes.count);
        if (result)
            return result;
    }
    fputs(rest, out);
    return 0;
}

static int take_run(void *context, const struct store_run *row)
{
    struct page *page = context;
    return sprof_vec_push(&page->runs, row->id);
}

static int load(struct page *page)
{
    static const struct report_slots_limits limits = {.paths = PATHS_MOST, .costs = COSTS_MOST};
    const int result = store_each_run(page->store, take_run, page, page->error);
    if (result)
        return result;
    if (!page->runs.count)
        return sprof_error_set(page->error, SPROF_ENOTFOUND, 0, "the recording holds no run");
    return report_slots_load(&page->slots, page->store, &limits, page->error);
}

static int write_page(struct page *page, FILE *out)
{
    char *header = NULL;
    size_t size = 0;
    struct html_columns columns = {0};
    FILE *memory = open_memstream(&header, &size);
    if (!memory)
        return SPROF_ENOMEM;
    int result = report_json_begin(&page->json, memory);
    if (!result) {
        result = put_header(page, &columns);
        const int ended = report_json_end(&page->json);
        result = result ? result : ended;
    }
    if (fclose(memory) && !result)
        result = SPROF_ENOMEM;
    if (!result)
        result = put_page(out, header, size, &columns);
    free(header);
    sprof_vec_release(&columns.bytes);
    return result;
}

int report_html(FILE *out, struct store *store, struct sprof_error *error)
{
    struct page page = {.store = store, .error = error};
    int result = load(&page);
    if (!result)
        result = write_page(&page, out);
    report_dataset_release(&page.dataset);
    report_slots_release(&page.slots);
    sprof_map_release(&page.events);
    sprof_map_release(&page.threads);
    sprof_map_release(&page.files);
    sprof_vec_release(&page.file_names);
    sprof_vec_release(&page.runs);
    return result ? report_error_code(result, error) : report_output_close(out, error);
}
