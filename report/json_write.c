/* JSON: a table is one object, samples and rows of statements are an array of objects. */
#include "report/format.h"
#include "report/json.h"
#include "report/quality.h"

#include <inttypes.h>

static void write_run(struct json *json, const struct report_dataset *dataset)
{
    const struct store_run *run = &dataset->run;
    char number[NUMBER_BYTES];
    report_json_open_object(json, "run");
    report_json_count(json, "id", run->id);
    report_json_count(json, "number", dataset->run_number);
    report_json_count(json, "runs", dataset->run_count);
    report_json_text(json, "sprof_version", run->sprof_version);
    report_json_text(json, "host", run->host);
    report_json_text(json, "kernel", run->kernel);
    report_json_text(json, "architecture", run->architecture);
    report_json_count(json, "cpus", run->cpus);
    report_json_text(json, "command", run->command);
    report_json_text(json, "targets", run->targets);
    report_json_text(json, "source", run->source);
    report_json_text(json, "recorded_mode", run->mode);
    report_json_text(json, "mode", model_mode_text(dataset->reading.mode));
    report_json_bool(json, "frame_app", dataset->reading.frame_app);
    report_json_text(json, "event", dataset->event.name);
    report_json_bool(json, "event_is_clock", dataset->event.is_clock);
    report_json_text(json, "process_filter", dataset->chosen.process);
    report_json_text(json, "thread_filter", dataset->chosen.thread);
    report_json_number(json, "start_seconds_since_1970",
                       report_number_seconds(number, run->start_realtime_ns));
    report_json_number(json, "duration_seconds", report_number_seconds(number, run->duration_ns));
    if (dataset->running)
        report_json_bool(json, "running", true);
    report_json_close_object(json);
}

static void write_columns(struct json *json, const struct table *table)
{
    report_json_open_array(json, "columns");
    for (size_t c = 0; c < table->shown_count; c++) {
        const struct table_column *column = &table->columns[table->shown[c]];
        report_json_open_object(json, NULL);
        report_json_text(json, "key", column->key);
        if (column->base)
            report_json_text(json, "percent_of", column->base);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static void write_rows(struct json *json, const char *key, const struct table *table)
{
    char number[NUMBER_BYTES];
    report_json_open_array(json, key);
    for (size_t r = 0; r < report_table_rows(table); r++) {
        report_json_open_object(json, NULL);
        for (size_t c = 0; c < table->shown_count; c++) {
            const struct table_column *column = &table->columns[table->shown[c]];
            const union table_cell *cell = report_table_cell(table, r, table->shown[c]);
            const char *value = report_table_number(number, column, cell);
            if (value && !*value)
                report_json_text(json, column->key, NULL);
            else if (value && column->kind == TABLE_ADDRESS)
                report_json_text(json, column->key, value);
            else if (value)
                report_json_number(json, column->key, value);
            else
                report_json_text(json, column->key, cell->text);
        }
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static void real(struct json *json, const char *key, double value)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%.10g", value);
    report_json_number(json, key, number);
}

static void write_counts(struct json *json, const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {
        {"samples", quality->samples},
        {"lost", quality->lost},
        {"stitched", quality->stitched},
        {"guessed_frames", quality->guessed_frames},
        {"frames", quality->frames},
        {"named_frames", quality->named_frames},
        {"own_cpu_ns", quality->own_cpu_ns},
        {"target_cpu_ns", quality->target_cpu_ns},
        {"samples_in_table", dataset->total.samples},
        {"weight_in_table", dataset->total.weight},
        {"weight_not_sampled", dataset->apart.not_sampled.weight},
        {"samples_outside_the_application", dataset->apart.outside.samples},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        report_json_count(json, counts[i].key, counts[i].value);
    if (quality->has_user_stacks) {
        report_json_count(json, "user_stacks", quality->user_stacks);
        report_json_count(json, "whole_stacks", quality->whole_stacks);
    }
}

static int write_quality(struct json *json, struct report_dataset *dataset)
{
    struct quality_parts notes = {0};
    if (report_quality_notes(dataset, &notes))
        return SPROF_ENOMEM;
    report_json_open_object(json, "quality");
    write_counts(json, dataset);
    real(json, "requested_hz", dataset->quality.requested_hz);
    real(json, "reached_hz", dataset->quality.reached_hz);
    real(json, "effective_samples", dataset->effective_samples);
    report_json_text(json, "percent_from", dataset->weighted ? "weight" : "samples");
    report_json_open_array(json, "notes");
    for (size_t i = 0; i < notes.count; i++)
        report_json_text(json, NULL, notes.items[i]);
    report_json_close_array(json);
    report_json_close_object(json);
    return 0;
}

static int write_table(struct json *json, const struct report_content *content)
{
    if (!content->dataset) {
        write_rows(json, NULL, content->table);
        return 0;
    }
    report_json_open_object(json, NULL);
    report_json_text(json, "table", content->table->title);
    write_run(json, content->dataset);
    write_columns(json, content->table);
    write_rows(json, "rows", content->table);
    report_json_text(json, "left_out", content->table->left_out);
    const int result = write_quality(json, content->dataset);
    report_json_close_object(json);
    return result;
}

/* == Samples == */

struct samples {
    struct json *json;
    const struct report_dataset *dataset;
};

static void put_signed(struct json *json, const char *key, int32_t value)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRId32, value);
    report_json_number(json, key, number);
}

static void put_place(struct json *json, const struct report_place *place)
{
    char number[32];
    snprintf(number, sizeof number, "0x%" PRIx64, place->address);
    report_json_open_object(json, NULL);
    report_json_text(json, place->address_known ? "address" : "module_offset", number);
    report_json_text(json, "function", place->function);
    report_json_text(json, "module", place->module);
    if (place->file) {
        report_json_text(json, "file", place->file);
        report_json_count(json, "line", place->line);
    }
    if (place->inlined)
        report_json_bool(json, "inlined", true);
    report_json_close_object(json);
}

static int put_sample(void *context, const struct report_sample *sample)
{
    struct samples *samples = context;
    struct json *json = samples->json;
    const struct store_sample *row = &sample->row->sample;
    report_json_open_object(json, NULL);
    report_json_count(json, "time_ns", row->time_ns);
    put_signed(json, "pid", sample->row->pid);
    put_signed(json, "tid", sample->row->tid);
    put_signed(json, "cpu", row->cpu);
    report_json_text(json, "process", sample->process);
    report_json_text(json, "thread", sample->thread);
    report_json_text(json, "event", sample->event);
    report_json_count(json, "weight", row->weight);
    report_json_count(json, "count", row->count);
    report_json_text(json, "end_reason", model_end_text((enum model_end)row->end_reason));
    report_json_bool(json, "stitched", row->stitched);
    report_json_open_array(json, "stack");
    for (size_t i = 0; i < sample->stack->frames.count; i++) {
        const struct report_place place = report_sample_place(samples->dataset, sample, i);
        put_place(json, &place);
    }
    report_json_close_array(json);
    report_json_close_object(json);
    return json->failed ? SPROF_ENOMEM : 0;
}

/* == Rows of a statement == */

struct rows {
    struct json *json;
    uint64_t numbers;
};

static int put_row(void *context, int columns, char *const *values, char *const *names)
{
    struct rows *rows = context;
    struct json *json = rows->json;
    report_json_open_object(json, NULL);
    for (int c = 0; c < columns; c++)
        if (values[c] && rows->numbers >> c & 1)
            report_json_number(json, names[c], values[c]);
        else
            report_json_text(json, names[c], values[c]);
    report_json_close_object(json);
    return json->failed ? SPROF_ENOMEM : 0;
}

int report_json_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct json json;
    if (report_json_begin(&json, out))
        return SPROF_ENOMEM;
    int result;
    if (content->kind == REPORT_TABLE) {
        result = write_table(&json, content);
    } else {
        struct samples samples = {&json, content->dataset};
        struct rows rows = {&json, content->numbers};
        report_json_open_array(&json, NULL);
        result = content->kind == REPORT_SAMPLES
                     ? report_each_sample(content, put_sample, &samples, error)
                     : store_query(content->store, content->sql, put_row, &rows, error);
        report_json_close_array(&json);
    }
    const int ended = report_json_end(&json);
    return result ? result : ended;
}
