/* A table as one JSON object. */
#include "report/data.h"
#include "report/json.h"
#include "report/quality.h"
#include "report/table.h"

static const char *mode_word(enum model_mode mode)
{
    static const char *const words[] = {
        [MODEL_MODE_PC] = "pc", [MODEL_MODE_FULL] = "full", [MODEL_MODE_APP] = "app"};
    return words[mode];
}

static void write_run(struct json *json, const struct profile *profile)
{
    const struct store_run *run = &profile->run;
    char number[DATA_BYTES];
    json_open_object(json, "run");
    json_count(json, "id", run->id);
    json_count(json, "number", profile->run_number);
    json_count(json, "runs", profile->run_count);
    json_text(json, "sprof_version", run->sprof_version);
    json_text(json, "host", run->host);
    json_text(json, "kernel", run->kernel);
    json_text(json, "architecture", run->architecture);
    json_count(json, "cpus", run->cpus);
    json_text(json, "command", run->command);
    json_text(json, "targets", run->targets);
    json_text(json, "source", run->source);
    json_text(json, "recorded_mode", run->mode);
    json_text(json, "mode", mode_word(profile->mode));
    json_bool(json, "frame_app", profile->frame_app);
    json_text(json, "event", profile->event.name);
    json_bool(json, "event_is_clock", profile->event.is_clock);
    json_text(json, "process_filter", profile->process);
    json_text(json, "thread_filter", profile->thread);
    json_number(json, "start_seconds_since_1970", data_seconds(number, run->start_realtime_ns));
    json_number(json, "duration_seconds", data_seconds(number, run->duration_ns));
    json_close_object(json);
}

static void write_columns(struct json *json, const struct table *table)
{
    json_open_array(json, "columns");
    for (size_t c = 0; c < table->column_count; c++) {
        json_open_object(json, NULL);
        json_text(json, "key", table->columns[c].key);
        if (table->columns[c].base)
            json_text(json, "percent_of", table->columns[c].base);
        json_close_object(json);
    }
    json_close_array(json);
}

static void write_rows(struct json *json, const struct table *table)
{
    char number[DATA_BYTES];
    json_open_array(json, "rows");
    for (size_t r = 0; r < table->rows.count; r++) {
        json_open_object(json, NULL);
        for (size_t c = 0; c < table->column_count; c++) {
            const struct table_cell *cell = &table->rows.items[r].cells[c];
            const char *value = data_number(number, table->columns[c].kind, cell);
            if (value)
                json_number(json, table->columns[c].key, value);
            else
                json_text(json, table->columns[c].key, cell->text);
        }
        json_close_object(json);
    }
    json_close_array(json);
    json_text(json, "left_out", table->left_out);
}

static void real(struct json *json, const char *key, double value)
{
    char number[DATA_BYTES];
    snprintf(number, sizeof number, "%.10g", value);
    json_number(json, key, number);
}

static void write_counts(struct json *json, const struct profile *profile)
{
    const struct store_quality *quality = &profile->quality;
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
        {"samples_in_table", profile->total.samples},
        {"weight_in_table", profile->total.weight},
        {"weight_not_sampled", profile->not_sampled.weight},
        {"samples_outside_the_application", profile->outside.samples},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        json_count(json, counts[i].key, counts[i].value);
    if (quality->has_user_stacks) {
        json_count(json, "user_stacks", quality->user_stacks);
        json_count(json, "whole_stacks", quality->whole_stacks);
    }
}

static int write_quality(struct json *json, struct profile *profile)
{
    struct quality_parts notes = {0};
    if (quality_notes(profile, &notes))
        return SPROF_ENOMEM;
    json_open_object(json, "quality");
    write_counts(json, profile);
    real(json, "requested_hz", profile->quality.requested_hz);
    real(json, "reached_hz", profile->quality.reached_hz);
    real(json, "effective_samples", profile->effective_samples);
    json_text(json, "percent_from", profile->weighted ? "weight" : "samples");
    json_open_array(json, "notes");
    for (size_t i = 0; i < notes.count; i++)
        json_text(json, NULL, notes.items[i]);
    json_close_array(json);
    json_close_object(json);
    return 0;
}

int table_write_json(FILE *out, const struct table *table, struct profile *profile)
{
    struct json json;
    if (json_begin(&json, out))
        return SPROF_ENOMEM;
    json_open_object(&json, NULL);
    json_text(&json, "table", table->title);
    write_run(&json, profile);
    write_columns(&json, table);
    write_rows(&json, table);
    const int result = write_quality(&json, profile);
    json_close_object(&json);
    const int ended = json_end(&json);
    return result ? result : ended;
}
