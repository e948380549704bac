/* Writes recordings as one HTML page that holds all it needs and loads nothing. */
#include "report/dataset.h"
#include "report/error_text.h"
#include "report/html/parts.h"
#include "report/html/source.h"
#include "report/json.h"
#include "report/output_close.h"
#include "report/quality.h"
#include "report/slots.h"
#include "report/utf8_text.h"

#include <string.h>
#include <time.h>

/* A page of this size opens within a second, and has at most 6 MB. */
enum { PATHS_MOST = 200 * 1000, COSTS_MOST = 600 * 1000 };

/* Flags of a function, as report/html/data.js names them. */
enum { FLAG_STARTUP = 1, FLAG_INLINED = 2, FLAG_UNNAMED = 4 };

/* A recording in the page. What it holds follows what the recordings before it hold. */
struct part {
    const struct report_html_input *input;
    struct report_slots slots;
    struct report_dataset dataset;    /* of the run at hand; in the end of the last */
    struct sprof_map events, threads; /* database id → index in the page */
    SPROF_VEC(uint32_t) runs;         /* database ids */
    SPROF_VEC(struct html_source_event) source_events;
    size_t first_function, first_module, first_path, first_lane; /* indexes in the page */
    uint32_t pruned_function, outside_function;                  /* numbers */
    size_t newest_event; /* index of the first event of the newest run */
};

struct page {
    const struct report_html_options *options;
    struct sprof_error *error;
    struct part *parts;
    size_t part_count;
    struct sprof_map files;                  /* hash of a name → index + 1 */
    SPROF_VEC(const char *) file_names;      /* in the datasets' arenas */
    size_t runs, events, threads, processes; /* so far */
    struct json json;
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

static void put_processes(struct json *json, const struct report_dataset *dataset)
{
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
static void put_threads(struct page *page, const struct report_dataset *dataset,
                        const uint64_t *sampled)
{
    struct json *json = &page->json;
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

static int put_events(struct page *page, struct part *part)
{
    struct json *json = &page->json;
    const struct report_dataset *dataset = &part->dataset;
    part->newest_event = page->events;
    report_json_open_array(json, "events");
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        /* The dataset knows of its own event whether rows without samples make it weighted. */
        const bool own = event->id == dataset->event.id;
        report_json_open_object(json, NULL);
        const bool varying = event->varying || (own && dataset->weighted);
        report_json_count(json, "run", page->runs);
        report_json_text(json, "name", event->name);
        report_json_bool(json, "clock", event->is_clock);
        report_json_bool(json, "varying", varying);
        report_json_close_object(json);
        const struct html_source_event source = {dataset->run.id, event->id, varying};
        if (sprof_map_put(&part->events, event->id, page->events++) ||
            sprof_vec_push(&part->source_events, source))
            return SPROF_ENOMEM;
    }
    report_json_close_array(json);
    return 0;
}

/* How many samples each thread of the dataset has, and the last slot that has any. */
static uint64_t *count_samples(const struct part *part, uint32_t *slots)
{
    const struct report_slots *all = &part->slots;
    uint64_t *sampled = calloc(part->dataset.threads.count + 1, sizeof *sampled);
    *slots = 1;
    for (size_t i = 0; sampled && i < all->costs.count; i++) {
        const struct report_slot_cost *cost = &all->costs.items[i];
        const struct report_lane *lane = &all->lanes.items[cost->lane];
        if (lane->run != part->dataset.run.id)
            continue;
        const uint32_t thread = report_dataset_number(&part->dataset.thread_numbers, lane->thread);
        if (thread)
            sampled[thread - 1] += cost->cost.samples;
        if (cost->slot >= *slots)
            *slots = cost->slot + 1;
    }
    return sampled;
}

static const char *name_of(const struct store_run *run)
{
    return run->command ? run->command : run->targets ? run->targets : "recording";
}

/* Which stretches of the run have a mode, a rate or a mark of their own. */
static void put_phases(struct json *json, const struct report_dataset *dataset)
{
    report_json_open_array(json, "phases");
    for (size_t i = 0; i < dataset->phases.count; i++) {
        const struct report_phase *phase = &dataset->phases.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "number", phase->number);
        report_json_text(json, "mark", phase->mark);
        report_json_count(json, "from", phase->start_ns);
        report_json_count(json, "to",
                          phase->end_ns && phase->end_ns < dataset->run.duration_ns
                              ? phase->end_ns
                              : dataset->run.duration_ns);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

/* "run 2", of several recordings "new.db, run 2". */
static void put_label(struct page *page, const struct part *part)
{
    struct sprof_str label = {0};
    if (page->part_count > 1)
        report_utf8_clean(&label, part->input->name);
    if (page->part_count == 1 || part->runs.count > 1)
        sprof_str_appendf(&label, "%srun %u", label.length ? ", " : "", part->dataset.run_number);
    report_json_text(&page->json, "label", label.text);
    sprof_str_release(&label);
}

static int put_run(struct page *page, struct part *part)
{
    struct json *json = &page->json;
    struct report_dataset *dataset = &part->dataset;
    const struct store_run *run = &dataset->run;
    uint32_t slots;
    uint64_t *sampled = count_samples(part, &slots);
    if (!sampled)
        return SPROF_ENOMEM;
    const uint64_t whole = (run->duration_ns + part->slots.slot_ns - 1) / part->slots.slot_ns;
    report_json_open_object(json, NULL);
    put_label(page, part);
    report_json_count(json, "part", (uint64_t)(part - page->parts));
    report_json_text(json, "name", name_of(run));
    report_json_text(json, "command", name_of(run));
    report_json_text(json, "mode", run->mode);
    report_json_text(json, "frame", run->frame);
    report_json_text(json, "interior", run->app_interior);
    report_json_count(json, "slots", whole > slots ? whole : slots);
    report_json_count(json, "slotNs", part->slots.slot_ns);
    report_json_count(json, "durationNs", run->duration_ns);
    int result = put_quality(json, dataset);
    put_cards(json, dataset);
    put_facts(json, dataset);
    put_phases(json, dataset);
    put_processes(json, dataset);
    if (!result)
        result = put_events(page, part);
    put_threads(page, dataset, sampled);
    report_json_close_object(json);
    free(sampled);
    return result;
}

/* Finds the threads of the run's lanes in the page. */
static int index_threads(const struct page *page, struct part *part)
{
    for (size_t i = 0; i < part->slots.lanes.count; i++) {
        const struct report_lane *lane = &part->slots.lanes.items[i];
        const uint32_t number = report_dataset_number(&part->dataset.thread_numbers, lane->thread);
        if (lane->run == part->dataset.run.id && number &&
            sprof_map_put(&part->threads, lane->thread, page->threads + number - 1))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int put_runs(struct page *page, struct part *part)
{
    for (size_t i = 0; i < part->runs.count; i++) {
        const struct report_selection selection = {.run_id = part->runs.items[i]};
        report_dataset_release(&part->dataset);
        int result =
            report_dataset_load(&part->dataset, part->input->store, &selection, 0, page->error);
        if (!result)
            result = index_threads(page, part);
        if (!result)
            result = put_run(page, part);
        if (result)
            return result;
        page->runs++;
        page->threads += part->dataset.threads.count;
        page->processes += part->dataset.processes.count;
    }
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
static uint32_t add_pseudo(struct report_dataset *dataset, const char *name)
{
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
    const bool pseudo = dataset->facts.items[i].kind == MODEL_KIND_NONE;
    const bool inlined =
        function->named && !function->start && !function->size && function->line && !pseudo;
    return (dataset->facts.items[i].startup ? FLAG_STARTUP : 0u) | (inlined ? FLAG_INLINED : 0u) |
           (function->named || pseudo ? 0u : FLAG_UNNAMED);
}

static int put_function_columns(struct page *page, struct html_columns *columns)
{
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(columns,
                                     part->first_module + part->dataset.facts.items[i].module - 1);
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++) {
            uint64_t file;
            if (file_index(page, part->dataset.functions.items[i].file, &file))
                return SPROF_ENOMEM;
            report_html_column_plain(columns, file);
        }
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(columns, part->dataset.functions.items[i].line);
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_html_column_plain(columns, flags_of(&part->dataset, i));
    return 0;
}

static int put_path_columns(struct page *page, struct html_columns *columns)
{
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->slots.paths.count; i++) {
            const uint32_t parent = part->slots.paths.items[i].parent;
            report_html_column_plain(columns, parent ? i + 1 - parent : 0);
        }
    report_html_column_begin(columns);
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->slots.paths.count; i++) {
            const uint32_t id = part->slots.paths.items[i].function;
            const uint32_t number = report_dataset_number(&part->dataset.function_numbers, id);
            if (id && !number)
                return SPROF_EFORMAT;
            report_html_column_difference(
                columns, part->first_function + (number ? number : part->pruned_function) - 1);
        }
    return 0;
}

static void put_cost_columns(const struct page *page, struct html_columns *columns)
{
    const struct part *end = page->parts + page->part_count;
    report_html_column_begin(columns);
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_difference(columns,
                                          part->first_lane + part->slots.costs.items[i].lane);
    report_html_column_begin(columns);
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_difference(columns, part->slots.costs.items[i].slot);
    report_html_column_begin(columns);
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_difference(columns,
                                          part->first_path + part->slots.costs.items[i].path);
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_plain(columns, part->slots.costs.items[i].cost.samples);
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->slots.costs.count; i++)
            report_html_column_plain(columns, part->slots.costs.items[i].cost.weight);
}

static void put_names(struct page *page)
{
    struct json *json = &page->json;
    const struct part *end = page->parts + page->part_count;
    report_json_open_array(json, "functionNames");
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.functions.count; i++)
            report_json_text(json, NULL, part->dataset.functions.items[i].name);
    report_json_close_array(json);
    report_json_open_array(json, "modules");
    for (const struct part *part = page->parts; part < end; part++)
        for (size_t i = 0; i < part->dataset.modules.count; i++) {
            const struct report_module *module = &part->dataset.modules.items[i];
            char key[24];
            snprintf(key, sizeof key, "%llx", (unsigned long long)module->key);
            report_json_open_object(json, NULL);
            report_json_text(json, "name", module->name);
            report_json_text(json, "path", module->path);
            report_json_text(json, "kind", model_kind_text(module->kind));
            report_json_text(json, "build", key);
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
    for (const struct part *part = page->parts; part < page->parts + page->part_count; part++)
        for (size_t i = 0; i < part->slots.lanes.count; i++) {
            const struct report_lane *lane = &part->slots.lanes.items[i];
            const uint64_t *event = sprof_map_get(&part->events, lane->event);
            const uint64_t *thread = sprof_map_get(&part->threads, lane->thread);
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
    char number[NUMBER_BYTES], text[256] = "";
    size_t folded = 0;
    for (size_t i = 0; i < page->part_count; i++)
        folded += page->parts[i].slots.folded;
    if (folded)
        snprintf(text, sizeof text,
                 "To keep the page small, %s rare call paths are folded: [pruned] stands for the "
                 "frames between their callers and the function they end in. All sums stay exact.",
                 report_number_grouped(number, folded));
    report_json_text(&page->json, "pruned", text);
}

/* Functions that only the page may know. */
static int add_functions(struct part *part)
{
    part->outside_function = part->dataset.outside_function;
    if (!part->outside_function)
        part->outside_function = add_pseudo(&part->dataset, "[outside the application]");
    part->pruned_function = add_pseudo(&part->dataset, "[pruned]");
    return part->outside_function && part->pruned_function ? 0 : SPROF_ENOMEM;
}

/* Where the rows of each recording begin, and how many there are. */
static void put_counts(struct page *page)
{
    struct json *json = &page->json;
    size_t functions = 0, modules = 0, paths = 0, lanes = 0, cells = 0;
    for (struct part *part = page->parts; part < page->parts + page->part_count; part++) {
        part->first_function = functions;
        part->first_module = modules;
        part->first_path = paths;
        part->first_lane = lanes;
        functions += part->dataset.functions.count;
        modules += part->dataset.modules.count;
        paths += part->slots.paths.count;
        lanes += part->slots.lanes.count;
        cells += part->slots.costs.count;
    }
    const struct part *last = &page->parts[page->part_count - 1];
    report_json_count(json, "outsideFunction", last->first_function + last->outside_function - 1);
    report_json_open_array(json, "notSampledFunctions");
    for (const struct part *part = page->parts; part <= last; part++)
        if (part->dataset.not_sampled_function)
            report_json_count(json, NULL,
                              part->first_function + part->dataset.not_sampled_function - 1);
    report_json_close_array(json);
    report_json_count(json, "firstEvent", last->newest_event);
    if (page->part_count > 1)
        report_json_count(json, "firstBase", page->parts[0].newest_event);
    report_json_open_object(json, "counts");
    report_json_count(json, "functions", functions);
    report_json_count(json, "nodes", paths);
    report_json_count(json, "cells", cells);
    report_json_close_object(json);
}

static int put_sources(struct page *page)
{
    int result = 0;
    report_json_open_array(&page->json, "sources");
    for (struct part *part = page->parts;
         part < page->parts + page->part_count && !result && !page->options->no_source; part++) {
        const struct html_source_request request = {
            .store = part->input->store,
            .dataset = &part->dataset,
            .events = part->source_events.items,
            .event_count = part->source_events.count,
            .first_function = (uint32_t)part->first_function,
            .directory = page->options->source_directory,
        };
        result = report_html_source(&page->json, &request, page->error);
    }
    report_json_close_array(&page->json);
    return result;
}

static int put_header(struct page *page, struct html_columns *columns)
{
    int result = 0;
    report_json_open_object(&page->json, NULL);
    report_json_open_array(&page->json, "runs");
    for (size_t i = 0; i < page->part_count && !result; i++) {
        result = put_runs(page, &page->parts[i]);
        if (!result)
            result = add_functions(&page->parts[i]);
    }
    report_json_close_array(&page->json);
    put_counts(page);
    if (!result)
        result = put_function_columns(page, columns);
    if (!result)
        result = put_path_columns(page, columns);
    if (result)
        return result;
    put_cost_columns(page, columns);
    put_names(page);
    put_pruned(page);
    result = put_lanes(page);
    if (!result)
        result = put_sources(page);
    report_json_close_object(&page->json);
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
    struct part *part = context;
    return sprof_vec_push(&part->runs, row->id);
}

static int load(const struct page *page, struct part *part)
{
    const struct report_slots_limits limits = {.paths = PATHS_MOST / page->part_count,
                                               .costs = COSTS_MOST / page->part_count};
    const int result = store_each_run(part->input->store, take_run, part, page->error);
    if (result)
        return result;
    if (!part->runs.count)
        return sprof_error_set(page->error, SPROF_ENOTFOUND, 0, "the recording holds no run");
    return report_slots_load(&part->slots, part->input->store, &limits, page->error);
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

static void release(struct page *page)
{
    for (size_t i = 0; page->parts && i < page->part_count; i++) {
        struct part *part = &page->parts[i];
        report_dataset_release(&part->dataset);
        report_slots_release(&part->slots);
        sprof_map_release(&part->events);
        sprof_map_release(&part->threads);
        sprof_vec_release(&part->runs);
        sprof_vec_release(&part->source_events);
    }
    free(page->parts);
    sprof_map_release(&page->files);
    sprof_vec_release(&page->file_names);
}

int report_html(FILE *out, const struct report_html_input *inputs, size_t count,
                const struct report_html_options *options, struct sprof_error *error)
{
    struct page page = {.options = options, .error = error, .part_count = count};
    page.parts = calloc(count + 1, sizeof *page.parts);
    int result = page.parts && count ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        page.parts[i].input = &inputs[i];
        result = load(&page, &page.parts[i]);
    }
    if (!result)
        result = write_page(&page, out);
    release(&page);
    return result ? report_error_code(result, error) : report_output_close(out, error);
}
