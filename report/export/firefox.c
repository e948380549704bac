/* The Firefox Profiler's processed format, version 66 (which its page upgrades by itself): stacks
 * are the call paths, each sample has its time. */
#include "report/error_text.h"
#include "report/export/firefox_markers.h"

#include <stdio.h>
#include <string.h>

enum { PROCESSED_VERSION = 66, GECKO_VERSION = 24 };

static const struct {
    const char *name, *color;
} categories[] = {
    [FIREFOX_OTHER] = {"Other", "grey"},
    [FIREFOX_APPLICATION] = {"Application", "orange"},
    [FIREFOX_SYSTEM] = {"System libraries", "blue"},
    [FIREFOX_KERNEL] = {"Kernel", "purple"},
    [FIREFOX_RUN_TIME] = {"Run-time code", "green"},
};

static void put_ms(struct json *json, const char *key, uint64_t time_ns)
{
    report_json_decimal(json, key, time_ns, 6);
}

/* A column of `count` equal values: null where `value` is negative. */
static void put_column(struct json *json, const char *key, size_t count, int value)
{
    report_json_open_array(json, key);
    for (size_t i = 0; i < count; i++)
        if (value < 0)
            report_json_null(json, NULL);
        else
            report_json_count(json, NULL, (uint64_t)value);
    report_json_close_array(json);
}

static void put_empty_lists(struct json *json, const char *const *keys)
{
    for (; *keys; keys++) {
        report_json_open_array(json, *keys);
        report_json_close_array(json);
    }
}

/* What the page shows beside the profile's name: markers are not all calls. */
static void put_extra(struct json *json, const struct firefox_markers *markers)
{
    const char *const labels[] = {!markers->are_logged ? "Calls kept, with callers"
                                                    : "Calls written down",
                                  "… that are markers"};
    const uint64_t counts[] = {markers->calls, markers->items.count};
    report_json_open_array(json, "extra");
    report_json_open_object(json, NULL);
    report_json_text(json, "label", !markers->are_logged ? "Kept calls" : "Log");
    report_json_open_array(json, "entries");
    for (int i = 0; i < 2; i++) {
        report_json_open_object(json, NULL);
        report_json_text(json, "label", labels[i]);
        report_json_text(json, "format", "integer");
        report_json_count(json, "value", counts[i]);
        report_json_close_object(json);
    }
    report_json_close_array(json);
    report_json_close_object(json);
    report_json_close_array(json);
}

static void put_meta(struct json *json, const struct report_dataset *dataset,
                     const struct firefox_markers *markers)
{
    const struct store_run *run = &dataset->run;
    report_json_open_object(json, "meta");
    report_json_count(json, "preprocessedProfileVersion", PROCESSED_VERSION);
    report_json_count(json, "version", GECKO_VERSION);
    put_ms(json, "interval", run->frequency_hz ? 1000000000 / run->frequency_hz : 1000000);
    put_ms(json, "startTime", run->start_realtime_ns);
    report_json_count(json, "processType", 0);
    report_json_count(json, "stackwalk", 1);
    report_json_bool(json, "debug", false);
    report_json_text(json, "product", report_export_title(dataset));
    report_json_text(json, "oscpu", run->kernel ? run->kernel : "Linux");
    report_json_text(json, "importedFrom", "sprof");
    report_json_bool(json, "symbolicated", true);
    report_json_bool(json, "usesOnlyOneStackType", true);
    report_json_bool(json, "sourceCodeIsNotOnSearchfox", true);
    report_json_open_array(json, "categories");
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        report_json_open_object(json, NULL);
        report_json_text(json, "name", categories[i].name);
        report_json_text(json, "color", categories[i].color);
        report_json_open_array(json, "subcategories");
        report_json_text(json, NULL, "Other");
        report_json_close_array(json);
        report_json_close_object(json);
    }
    report_json_close_array(json);
    report_json_open_array(json, "markerSchema");
    if (markers->calls)
        firefox_markers_put_schema(json, markers);
    report_json_close_array(json);
    put_empty_lists(json, (const char *const[]){"pausedRanges", NULL});
    if (markers->calls)
        put_extra(json, markers);
    report_json_open_object(json, "sampleUnits");
    report_json_text(json, "time", "ms");
    report_json_text(json, "eventDelay", "ms");
    report_json_text(json, "threadCPUDelta", "ns");
    report_json_close_object(json);
    report_json_open_object(json, "extensions");
    report_json_count(json, "length", 0);
    put_empty_lists(json, (const char *const[]){"baseURL", "id", "name", NULL});
    report_json_close_object(json);
    report_json_close_object(json);
}

static void put_libraries(struct json *json, const struct report_dataset *dataset)
{
    report_json_open_array(json, "libs");
    for (size_t i = 0; i < dataset->modules.count; i++) {
        const struct report_module *module = &dataset->modules.items[i];
        char id[34];
        /* 32 digits and an age: the first bytes of the build id, as Breakpad writes them. */
        memset(id, '0', sizeof id - 1);
        id[sizeof id - 1] = '\0';
        for (size_t k = 0; module->build_id && k < 32 && module->build_id[k]; k++)
            id[k] = (char)(module->build_id[k] >= 'a' ? module->build_id[k] - 'a' + 'A'
                                                      : module->build_id[k]);
        report_json_open_object(json, NULL);
        report_json_text(json, "name", module->name);
        report_json_text(json, "path", module->path);
        report_json_text(json, "debugName", module->name);
        report_json_text(json, "debugPath", module->path);
        report_json_text(json, "breakpadId", id);
        report_json_text(json, "codeId", module->build_id);
        report_json_text(json, "arch", dataset->run.architecture);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

/* Texts of the profile: names of functions, then of modules, then of files. */
struct texts {
    SPROF_VEC(const char *) files; /* in order; [i] is text functions + modules + i */
    uint32_t *file_of;             /* [function - 1] → index + 1 */
    struct sprof_map indexes;      /* hash → index + 1 */
};

static int collect_files(struct texts *texts, const struct report_dataset *dataset)
{
    texts->file_of = calloc(dataset->functions.count + 1, sizeof *texts->file_of);
    if (!texts->file_of)
        return SPROF_ENOMEM;
    for (size_t i = 0; i < dataset->functions.count; i++) {
        const char *file = dataset->functions.items[i].file;
        const uint64_t key = file ? sprof_hash_text(file) : 0;
        const uint64_t *known = file ? sprof_map_get(&texts->indexes, key) : NULL;
        if (!file)
            continue;
        if (!known && (sprof_vec_push(&texts->files, file) ||
                       sprof_map_put(&texts->indexes, key, texts->files.count)))
            return SPROF_ENOMEM;
        texts->file_of[i] = known ? (uint32_t)*known : (uint32_t)texts->files.count;
    }
    return 0;
}

static void put_strings(struct json *json, const struct report_dataset *dataset,
                        const struct texts *texts)
{
    report_json_open_array(json, "stringArray");
    for (size_t i = 0; i < dataset->functions.count; i++)
        report_json_text(json, NULL, dataset->functions.items[i].name);
    for (size_t i = 0; i < dataset->modules.count; i++)
        report_json_text(json, NULL, dataset->modules.items[i].name);
    for (size_t i = 0; i < texts->files.count; i++)
        report_json_text(json, NULL, texts->files.items[i]);
    report_json_close_array(json);
}

static void put_numbers(struct json *json, const char *key, size_t count, size_t first)
{
    report_json_open_array(json, key);
    for (size_t i = 0; i < count; i++)
        report_json_count(json, NULL, first + i);
    report_json_close_array(json);
}

static void put_stacks(struct json *json, const struct report_dataset *dataset)
{
    const size_t count = dataset->paths.items.count;
    report_json_open_object(json, "stackTable");
    report_json_open_array(json, "frame");
    for (size_t i = 0; i < count; i++)
        report_json_count(json, NULL, dataset->paths.items.items[i].function - 1);
    report_json_close_array(json);
    report_json_open_array(json, "prefixOffset");
    for (size_t i = 0; i < count; i++) {
        const uint32_t parent = dataset->paths.items.items[i].parent;
        report_json_count(json, NULL, parent ? i + 1 - parent : 0);
    }
    report_json_close_array(json);
    report_json_count(json, "length", count);
    report_json_close_object(json);
}

static void put_frames(struct json *json, const struct report_dataset *dataset)
{
    const size_t count = dataset->functions.count;
    report_json_open_object(json, "frameTable");
    put_numbers(json, "func", count, 0);
    report_json_open_array(json, "category");
    for (size_t i = 0; i < count; i++)
        report_json_count(json, NULL, firefox_category(dataset->facts.items[i].kind));
    report_json_close_array(json);
    put_column(json, "subcategory", count, 0);
    put_column(json, "line", count, -1);
    put_column(json, "column", count, -1);
    report_json_open_array(json, "address");
    for (size_t i = 0; i < count; i++)
        report_json_number(json, NULL, "-1");
    report_json_close_array(json);
    put_column(json, "nativeSymbol", count, -1);
    put_column(json, "inlineDepth", count, 0);
    put_column(json, "innerWindowID", count, -1);
    put_column(json, "originalLocation", count, -1);
    report_json_count(json, "length", count);
    report_json_close_object(json);
}

static void put_functions(struct json *json, const struct report_dataset *dataset,
                          const struct texts *texts)
{
    const size_t count = dataset->functions.count;
    report_json_open_object(json, "funcTable");
    put_numbers(json, "name", count, 0);
    report_json_open_array(json, "isJS");
    for (size_t i = 0; i < count; i++)
        report_json_bool(json, NULL, false);
    report_json_close_array(json);
    report_json_open_array(json, "relevantForJS");
    for (size_t i = 0; i < count; i++)
        report_json_bool(json, NULL, false);
    report_json_close_array(json);
    report_json_open_array(json, "resource");
    for (size_t i = 0; i < count; i++)
        report_json_count(json, NULL, dataset->facts.items[i].module - 1);
    report_json_close_array(json);
    report_json_open_array(json, "source");
    for (size_t i = 0; i < count; i++)
        if (texts->file_of[i])
            report_json_count(json, NULL, texts->file_of[i] - 1);
        else
            report_json_null(json, NULL);
    report_json_close_array(json);
    report_json_open_array(json, "lineNumber");
    for (size_t i = 0; i < count; i++)
        if (dataset->functions.items[i].line)
            report_json_count(json, NULL, dataset->functions.items[i].line);
        else
            report_json_null(json, NULL);
    report_json_close_array(json);
    put_column(json, "columnNumber", count, -1);
    put_column(json, "originalLocation", count, -1);
    report_json_count(json, "length", count);
    report_json_close_object(json);
}

static void put_modules_and_sources(struct json *json, const struct report_dataset *dataset,
                                    const struct texts *texts)
{
    const size_t modules = dataset->modules.count, files = texts->files.count;
    report_json_open_object(json, "resourceTable");
    put_numbers(json, "name", modules, dataset->functions.count);
    put_numbers(json, "lib", modules, 0);
    put_column(json, "host", modules, -1);
    put_column(json, "type", modules, 1);
    report_json_count(json, "length", modules);
    report_json_close_object(json);
    report_json_open_object(json, "nativeSymbols");
    put_empty_lists(json,
                    (const char *const[]){"libIndex", "address", "name", "functionSize", NULL});
    report_json_count(json, "length", 0);
    report_json_close_object(json);
    report_json_open_object(json, "sources");
    put_column(json, "id", files, -1);
    put_numbers(json, "filename", files, dataset->functions.count + modules);
    put_column(json, "startLine", files, 1);
    put_column(json, "startColumn", files, 1);
    put_column(json, "sourceMapURL", files, -1);
    put_column(json, "content", files, -1);
    report_json_count(json, "length", files);
    report_json_close_object(json);
    report_json_open_object(json, "sourceLocationTable");
    put_empty_lists(json, (const char *const[]){"source", "line", "column", NULL});
    report_json_count(json, "length", 0);
    report_json_close_object(json);
}

/* The page shows the time that samples cover. A log has one for each function and phase, at no time
 * of a call: before and behind them stand empty ones, so that all of the run is shown. */
static void put_samples(struct json *json, const struct report_dataset *dataset,
                        const struct export_thread *thread, bool is_log)
{
    uint64_t last_ns = 0;
    report_json_open_object(json, "samples");
    report_json_count(json, "length", thread->count + (is_log ? 2 : 0));
    report_json_text(json, "weightType", report_counts_calls(dataset) ? "tracing-ms" : "samples");
    report_json_open_array(json, "stack");
    if (is_log)
        report_json_null(json, NULL);
    for (struct export_cursor at = {0}; report_export_next(thread, &at);)
        report_json_count(json, NULL, at.sample.path - 1);
    if (is_log)
        report_json_null(json, NULL);
    report_json_close_array(json);
    report_json_open_array(json, "timeDeltas");
    if (is_log)
        put_ms(json, NULL, 0);
    for (struct export_cursor at = {0}; report_export_next(thread, &at);) {
        put_ms(json, NULL, at.sample.time_ns - last_ns);
        last_ns = at.sample.time_ns;
    }
    if (is_log)
        put_ms(json, NULL,
               dataset->run.duration_ns > last_ns ? dataset->run.duration_ns - last_ns : 0);
    report_json_close_array(json);
    report_json_open_array(json, "weight");
    if (is_log)
        report_json_count(json, NULL, 0);
    for (struct export_cursor at = {0}; report_export_next(thread, &at);)
        if (report_counts_calls(dataset))
            put_ms(json, NULL, at.sample.weight);
        else
            report_json_count(json, NULL, at.sample.count);
    if (is_log)
        report_json_count(json, NULL, 0);
    report_json_close_array(json);
    report_json_open_array(json, "threadCPUDelta");
    if (is_log)
        report_json_count(json, NULL, 0);
    for (struct export_cursor at = {0}; report_export_next(thread, &at);)
        report_json_count(json, NULL, at.sample.weight);
    if (is_log)
        report_json_count(json, NULL, 0);
    report_json_close_array(json);
    report_json_close_object(json);
}

static void put_thread(struct json *json, const struct report_dataset *dataset, uint32_t number,
                       const struct export_thread *samples, struct firefox_markers *markers)
{
    const struct report_thread *thread = &dataset->threads.items[number - 1];
    const struct report_process *process = &dataset->processes.items[thread->process - 1];
    report_json_open_object(json, NULL);
    report_json_text(json, "name", thread->name ? thread->name : "?");
    report_json_text(json, "processName", process->name ? process->name : "?");
    report_json_text(json, "processType", "default");
    report_json_text(json, "pid", report_export_number(process->pid, process).text);
    report_json_count(json, "tid", (uint64_t)thread->tid);
    report_json_bool(json, "isMainThread", thread->tid == process->pid);
    report_json_bool(json, "showMarkersInTimeline", false);
    put_ms(json, "processStartupTime", process->start_ns);
    put_ms(json, "registerTime", thread->start_ns);
    if (process->end_ns)
        put_ms(json, "processShutdownTime", process->end_ns);
    else
        report_json_null(json, "processShutdownTime");
    if (thread->end_ns)
        put_ms(json, "unregisterTime", thread->end_ns);
    else
        report_json_null(json, "unregisterTime");
    put_empty_lists(json, (const char *const[]){"pausedRanges", NULL});
    put_samples(json, dataset, samples, markers->calls > 0);
    firefox_markers_put(json, markers, dataset, thread->id);
    report_json_close_object(json);
}

static void put_profile(struct json *json, const struct report_dataset *dataset,
                        const struct texts *texts, const struct export_threads *threads,
                        struct firefox_markers *markers)
{
    report_json_open_object(json, NULL);
    put_meta(json, dataset, markers);
    put_libraries(json, dataset);
    report_json_open_object(json, "shared");
    put_strings(json, dataset, texts);
    put_stacks(json, dataset);
    put_frames(json, dataset);
    put_functions(json, dataset, texts);
    put_modules_and_sources(json, dataset, texts);
    report_json_close_object(json);
    report_json_open_array(json, "threads");
    for (size_t i = 0; i < threads->count; i++)
        if (threads->items[i].count)
            put_thread(json, dataset, (uint32_t)i + 1, &threads->items[i], markers);
    report_json_close_array(json);
    put_empty_lists(json, (const char *const[]){"pages", "profilerOverhead", "counters", NULL});
    report_json_close_object(json);
}

int report_firefox_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct export_threads threads = {0};
    struct texts texts = {0};
    struct firefox_markers markers = {0};
    struct json json;
    int result = report_export_threads(content, &threads, error);
    if (!result)
        result = collect_files(&texts, content->dataset);
    if (!result)
        result = firefox_markers_read(&markers, content, error);
    if (!result && report_counts_calls(content->dataset) && !markers.calls)
        result = report_error_counted(content->dataset, error);
    if (!result)
        result = report_json_begin_dense(&json, out);
    if (!result) {
        put_profile(&json, content->dataset, &texts, &threads, &markers);
        result = report_json_end(&json);
    }
    firefox_markers_release(&markers);
    free(texts.file_of);
    sprof_vec_release(&texts.files);
    sprof_map_release(&texts.indexes);
    report_export_threads_release(&threads);
    return result;
}
