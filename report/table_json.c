/* A table as one JSON object. */
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
    char number[NUMBER_BYTES];
    report_json_open_object(json, "run");
    report_json_count(json, "id", run->id);
    report_json_count(json, "number", profile->run_number);
    report_json_count(json, "runs", profile->run_count);
    report_json_text(json, "sprof_version", run->sprof_version);
    report_json_text(json, "host", run->host);
    report_json_text(json, "kernel", run->kernel);
    report_json_text(json, "architecture", run->architecture);
    report_json_count(json, "cpus", run->cpus);
    report_json_text(json, "command", run->command);
    report_json_text(json, "targets", run->targets);
    report_json_text(json, "source", run->source);
    report_json_text(json, "recorded_mode", run->mode);
    report_json_text(json, "mode", mode_word(profile->mode));
    report_json_bool(json, "frame_app", profile->frame_app);
    report_json_text(json, "event", profile->event.name);
    report_json_bool(json, "event_is_clock", profile->event.is_clock);
    report_json_text(json, "process_filter", profile->process);
    report_json_text(json, "thread_filter", profile->thread);
    report_json_number(json, "start_seconds_since_1970",
                       report_number_seconds(number, run->start_realtime_ns));
    report_json_number(json, "duration_seconds", report_number_seconds(number, run->duration_ns));
    report_json_close_object(json);
}

static void write_columns(struct json *json, const struct table *table)
{
    report_json_open_array(json, "columns");
    for (size_t c = 0; c < table->column_count; c++) {
        report_json_open_object(json, NULL);
        report_json_text(json, "key", table->columns[c].key);
        if (table->columns[c].base)
            report_json_text(json, "percent_of", table->columns[c].base);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static void write_rows(struct json *json, const struct table *table)
{
    char number[NUMBER_BYTES];
    report_json_open_array(json, "rows");
    for (size_t r = 0; r < table->rows.count; r++) {
        report_json_open_object(json, NULL);
        for (size_t c = 0; c < table->column_count; c++) {
            const struct table_cell *cell = &table->rows.items[r].cells[c];
            const char *value = report_table_cell_number(number, table->columns[c].kind, cell);
            if (value)
                report_json_number(json, table->columns[c].key, value);
            else
                report_json_text(json, table->columns[c].key, cell->text);
        }
        report_json_close_object(json);
    }
    report_json_close_array(json);
    report_json_text(json, "left_out", table->left_out);
}

static void real(struct json *json, const char *key, double value)
{
    char number[NUMBER_BYTES];
    snprintf(number, sizeof number, "%.10g", value);
    report_json_number(json, key, number);
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
        report_json_count(json, counts[i].key, counts[i].value);
    if (quality->has_user_stacks) {
        report_json_count(json, "user_stacks", quality->user_stacks);
        report_json_count(json, "whole_stacks", quality->whole_stacks);
    }
}

static int write_quality(struct json *json, struct profile *profile)
{
    struct quality_parts notes = {0};
    if (report_quality_notes(profile, &notes))
        return SPROF_ENOMEM;
    report_json_open_object(json, "quality");
    write_counts(json, profile);
    real(json, "requested_hz", profile->quality.requested_hz);
    real(json, "reached_hz", profile->quality.reached_hz);
    real(json, "effective_samples", profile->effective_samples);
    report_json_text(json, "percent_from", profile->weighted ? "weight" : "samples");
    report_json_open_array(json, "notes");
    for (size_t i = 0; i < notes.count; i++)
        report_json_text(json, NULL, notes.items[i]);
    report_json_close_array(json);
    report_json_close_object(json);
    return 0;
}

int report_table_write_json(FILE *out, const struct table *table, struct profile *profile)
{
    struct json json;
    if (report_json_begin(&json, out))
        return SPROF_ENOMEM;
    report_json_open_object(&json, NULL);
    report_json_text(&json, "table", table->title);
    write_run(&json, profile);
    write_columns(&json, table);
    write_rows(&json, table);
    const int result = write_quality(&json, profile);
    report_json_close_object(&json);
    const int ended = report_json_end(&json);
    return result ? result : ended;
}
