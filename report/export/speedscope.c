/* speedscope's own JSON (its file-format-spec.ts): one profile of all threads with equal stacks
 * merged, and one a thread in the order of time; of a log of calls one a thread with its calls. */
#include "report/export/speedscope_calls.h"

#include <inttypes.h>

static void put_frames(struct json *json, const struct report_dataset *dataset,
                       const struct speedscope_calls *calls)
{
    report_json_open_object(json, "shared");
    report_json_open_array(json, "frames");
    for (size_t i = 0; i < dataset->functions.count; i++) {
        const struct report_function *function = &dataset->functions.items[i];
        report_json_open_object(json, NULL);
        report_json_text(json, "name", function->name);
        if (function->file)
            report_json_text(json, "file", function->file);
        if (function->file && function->line)
            report_json_count(json, "line", function->line);
        report_json_close_object(json);
    }
    speedscope_calls_put_frames(json, calls);
    report_json_close_array(json);
    report_json_close_object(json);
}

/* The stacks as JSON, each written once: ten million samples share them. */
struct stacks {
    const struct report_dataset *dataset;
    struct export_chain chain;
    struct sprof_str text;
    const char **texts; /* [path] */
};

static const char *stack_text(struct stacks *stacks, struct sprof_arena *arena, uint32_t path)
{
    if (stacks->texts[path])
        return stacks->texts[path];
    if (report_export_chain(stacks->dataset, path, &stacks->chain))
        return NULL;
    sprof_str_clear(&stacks->text);
    int result = sprof_str_append(&stacks->text, "[");
    for (size_t i = 0; i < stacks->chain.functions.count && !result; i++)
        result = sprof_str_appendf(&stacks->text, "%s%" PRIu32, i ? "," : "",
                                   stacks->chain.functions.items[i] - 1);
    if (result || sprof_str_append(&stacks->text, "]"))
        return NULL;
    return stacks->texts[path] = sprof_arena_copy(arena, stacks->text.text, stacks->text.length);
}

/* Where the samples of a profile come from: a thread, or all paths where that is NULL. Equal
 * neighbours are one sample of both weights. */
struct speedscope_walk {
    const struct report_dataset *dataset;
    const struct export_thread *thread;
    struct export_cursor cursor;
    size_t path;
    bool waits; /* cursor.sample belongs to the next */
};

static uint64_t value_of(const struct report_dataset *dataset, uint64_t count, uint64_t weight)
{
    return dataset->event.is_clock || dataset->weighted ? weight : count;
}

static bool next_of_thread(struct speedscope_walk *walk, uint32_t *path, uint64_t *value)
{
    const struct export_sample *sample = &walk->cursor.sample;
    if (!walk->waits && !report_export_next(walk->thread, &walk->cursor))
        return false;
    *path = sample->path;
    *value = 0;
    do
        *value += value_of(walk->dataset, sample->count, sample->weight);
    while ((walk->waits = report_export_next(walk->thread, &walk->cursor)) &&
           sample->path == *path);
    return true;
}

static bool next_of_all(struct speedscope_walk *walk, uint32_t *path, uint64_t *value)
{
    const struct report_dataset *dataset = walk->dataset;
    while (walk->path < dataset->paths.items.count) {
        const struct model_path *item = &dataset->paths.items.items[walk->path++];
        *path = item->id;
        *value = value_of(dataset, item->costs.exclusive.samples, item->costs.exclusive.weight);
        if (*value)
            return true;
    }
    return false;
}

static bool next(struct speedscope_walk *walk, uint32_t *path, uint64_t *value)
{
    return walk->thread ? next_of_thread(walk, path, value) : next_of_all(walk, path, value);
}

static int put_profile(struct json *json, struct report_dataset *dataset, struct stacks *stacks,
                       const char *name, const struct export_thread *thread)
{
    uint64_t value, total = 0;
    uint32_t path;
    int result = 0;
    report_json_open_object(json, NULL);
    report_json_text(json, "type", "sampled");
    report_json_text(json, "name", name);
    report_json_text(json, "unit", dataset->event.is_clock ? "nanoseconds" : "none");
    report_json_open_array(json, "samples");
    for (struct speedscope_walk walk = {.dataset = dataset, .thread = thread};
         !result && next(&walk, &path, &value);) {
        const char *text = stack_text(stacks, &dataset->arena, path);
        if (text)
            report_json_number(json, NULL, text);
        result = text ? 0 : SPROF_ENOMEM;
    }
    report_json_close_array(json);
    report_json_open_array(json, "weights");
    for (struct speedscope_walk walk = {.dataset = dataset, .thread = thread};
         next(&walk, &path, &value); total += value)
        report_json_count(json, NULL, value);
    report_json_close_array(json);
    report_json_count(json, "startValue", 0);
    report_json_count(json, "endValue", total);
    report_json_close_object(json);
    return result;
}

static int put_profiles(struct json *json, struct report_dataset *dataset,
                        const struct export_threads *threads, bool are_single)
{
    struct stacks stacks = {.dataset = dataset,
                            .texts = calloc(dataset->paths.items.count + 1, sizeof *stacks.texts)};
    struct sprof_str name = {0};
    int result =
        stacks.texts ? put_profile(json, dataset, &stacks, "all threads", NULL) : SPROF_ENOMEM;
    for (size_t i = 0; i < threads->count && !result && are_single; i++) {
        if (!threads->items[i].count)
            continue;
        result = report_export_thread_name(dataset, (uint32_t)i + 1, &name);
        if (!result)
            result = put_profile(json, dataset, &stacks, name.text, &threads->items[i]);
    }
    free(stacks.texts);
    sprof_vec_release(&stacks.chain.functions);
    sprof_str_release(&stacks.text);
    sprof_str_release(&name);
    return result;
}

int report_speedscope_write(FILE *out, const struct report_content *content,
                            struct sprof_error *error)
{
    struct report_dataset *dataset = content->dataset;
    struct export_threads threads = {0};
    struct speedscope_calls calls = {0};
    struct json json;
    int result = report_export_threads(content, &threads, error);
    if (!result)
        result = speedscope_calls_open(&calls, content, error);
    if (!result)
        result = report_json_begin_dense(&json, out);
    if (!result) {
        report_json_open_object(&json, NULL);
        report_json_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
        report_json_text(&json, "exporter", "sprof");
        report_json_text(&json, "name", report_export_title(dataset));
        report_json_count(&json, "activeProfileIndex", calls.calls != 0);
        report_json_open_array(&json, "profiles");
        result = put_profiles(&json, dataset, &threads, !calls.calls);
        if (!result)
            result = speedscope_calls_put(&json, &calls, content, error);
        report_json_close_array(&json);
        put_frames(&json, dataset, &calls);
        report_json_close_object(&json);
        const int ended = report_json_end(&json);
        result = result ? result : ended;
    }
    speedscope_calls_release(&calls);
    report_export_threads_release(&threads);
    return result;
}
