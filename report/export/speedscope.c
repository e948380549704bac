/* speedscope's own JSON (its file-format-spec.ts): one profile of all threads with equal stacks
 * merged, and one a thread in the order of time. */
#include "report/export/export.h"
#include "report/json.h"

#include <inttypes.h>

static void put_frames(struct json *json, const struct report_dataset *dataset)
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
    report_json_close_array(json);
    report_json_close_object(json);
}

static int put_stack(struct json *json, const struct report_dataset *dataset, uint32_t path,
                     struct export_chain *chain)
{
    if (report_export_chain(dataset, path, chain))
        return SPROF_ENOMEM;
    report_json_open_array(json, NULL);
    for (size_t i = 0; i < chain->functions.count; i++)
        report_json_count(json, NULL, chain->functions.items[i] - 1);
    report_json_close_array(json);
    return 0;
}

/* Equal neighbours are one sample of both weights. */
struct run_of_samples {
    uint32_t path;
    uint64_t value;
};
struct profile {
    const char *name;
    SPROF_VEC(struct run_of_samples) runs;
};

static int add_value(struct profile *profile, uint32_t path, uint64_t value)
{
    struct run_of_samples *last =
        profile->runs.count ? &profile->runs.items[profile->runs.count - 1] : NULL;
    if (last && last->path == path) {
        last->value += value;
        return 0;
    }
    return sprof_vec_push(&profile->runs, (struct run_of_samples){path, value});
}

static int put_profile(struct json *json, const struct report_dataset *dataset,
                       const struct profile *profile, struct export_chain *chain)
{
    uint64_t total = 0;
    int result = 0;
    report_json_open_object(json, NULL);
    report_json_text(json, "type", "sampled");
    report_json_text(json, "name", profile->name);
    report_json_text(json, "unit", dataset->event.is_clock ? "nanoseconds" : "none");
    report_json_open_array(json, "samples");
    for (size_t i = 0; i < profile->runs.count && !result; i++)
        result = put_stack(json, dataset, profile->runs.items[i].path, chain);
    report_json_close_array(json);
    report_json_open_array(json, "weights");
    for (size_t i = 0; i < profile->runs.count; i++) {
        report_json_count(json, NULL, profile->runs.items[i].value);
        total += profile->runs.items[i].value;
    }
    report_json_close_array(json);
    report_json_count(json, "startValue", 0);
    report_json_count(json, "endValue", total);
    report_json_close_object(json);
    return result;
}

static uint64_t value_of(const struct report_dataset *dataset, uint64_t count, uint64_t weight)
{
    return dataset->event.is_clock || dataset->weighted ? weight : count;
}

static int put_all_threads(struct json *json, const struct report_dataset *dataset,
                           struct export_chain *chain)
{
    struct profile all = {.name = "all threads"};
    int result = 0;
    for (size_t i = 0; i < dataset->paths.items.count && !result; i++) {
        const struct model_path *path = &dataset->paths.items.items[i];
        const uint64_t value =
            value_of(dataset, path->costs.exclusive.samples, path->costs.exclusive.weight);
        result = value ? add_value(&all, path->id, value) : 0;
    }
    if (!result)
        result = put_profile(json, dataset, &all, chain);
    sprof_vec_release(&all.runs);
    return result;
}

static int put_thread(struct json *json, const struct report_dataset *dataset, uint32_t thread,
                      const struct export_thread *own, struct export_chain *chain)
{
    struct sprof_str name = {0};
    struct profile profile = {0};
    int result = report_export_thread_name(dataset, thread, &name);
    for (size_t i = 0; i < own->samples.count && !result; i++) {
        const struct export_sample *sample = &own->samples.items[i];
        result =
            add_value(&profile, sample->path, value_of(dataset, sample->count, sample->weight));
    }
    profile.name = name.text;
    if (!result)
        result = put_profile(json, dataset, &profile, chain);
    sprof_str_release(&name);
    sprof_vec_release(&profile.runs);
    return result;
}

int report_speedscope_write(FILE *out, const struct report_content *content,
                            struct sprof_error *error)
{
    const struct report_dataset *dataset = content->dataset;
    struct export_threads threads = {0};
    struct export_chain chain = {0};
    struct json json;
    int result = report_export_threads(content, &threads, error);
    if (!result)
        result = report_json_begin_dense(&json, out);
    if (!result) {
        report_json_open_object(&json, NULL);
        report_json_text(&json, "$schema", "https://www.speedscope.app/file-format-schema.json");
        report_json_text(&json, "exporter", "sprof");
        report_json_text(&json, "name", report_export_title(dataset));
        report_json_count(&json, "activeProfileIndex", 0);
        put_frames(&json, dataset);
        report_json_open_array(&json, "profiles");
        result = put_all_threads(&json, dataset, &chain);
        for (size_t i = 0; i < threads.count && !result; i++)
            if (threads.items[i].samples.count)
                result = put_thread(&json, dataset, (uint32_t)i + 1, &threads.items[i], &chain);
        report_json_close_array(&json);
        report_json_close_object(&json);
        const int ended = report_json_end(&json);
        result = result ? result : ended;
    }
    report_export_threads_release(&threads);
    sprof_vec_release(&chain.functions);
    return result;
}
