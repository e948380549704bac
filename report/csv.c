/* Comma-separated values (RFC 4180): tables, samples, and rows of statements. */
#include "report/format.h"

#include "report/dataset.h"
#include "report/number_format.h"

#include <inttypes.h>

/* A comma before it unless it is the first. NULL is empty. */
static void put_field(FILE *out, size_t index, const char *text)
{
    if (index)
        fputc(',', out);
    if (text)
        sprof_utf8_put_csv(out, text);
}

static void end_record(FILE *out)
{
    fputs("\r\n", out);
}

static int write_table(FILE *out, const struct table *table)
{
    char number[NUMBER_BYTES];
    for (size_t c = 0; c < table->shown_count; c++)
        put_field(out, c, table->columns[table->shown[c]].key);
    end_record(out);
    for (size_t r = 0; r < report_table_rows(table); r++) {
        for (size_t c = 0; c < table->shown_count; c++) {
            const union table_cell *cell = report_table_cell(table, r, table->shown[c]);
            const char *value = report_table_number(number, &table->columns[table->shown[c]], cell);
            put_field(out, c, value ? value : cell->text);
        }
        end_record(out);
    }
    return 0;
}

/* == Samples: a record each, its stack as one field == */

struct samples {
    FILE *out;
    const struct report_dataset *dataset;
    struct sprof_str stack;
};

static int put_stack(struct samples *samples, const struct report_sample *sample)
{
    int result = 0;
    sprof_str_clear(&samples->stack);
    for (size_t i = 0; i < sample->stack->frames.count && !result; i++) {
        const struct report_place place = report_sample_place(samples->dataset, sample, i);
        result = sprof_str_append(&samples->stack, i ? ";" : "");
        if (!result)
            result = place.function ? sprof_str_append(&samples->stack, place.function)
                                    : sprof_str_appendf(&samples->stack, "%s+0x%" PRIx64,
                                                        place.module, place.address);
    }
    return result;
}

static int put_sample(void *context, const struct report_sample *sample)
{
    struct samples *samples = context;
    const struct store_sample *row = &sample->row->sample;
    FILE *out = samples->out;
    if (put_stack(samples, sample))
        return SPROF_ENOMEM;
    fprintf(out, "%" PRIu64 ",%d,%d,%d", row->time_ns, sample->row->pid, sample->row->tid,
            row->cpu);
    put_field(out, 4, sample->process);
    put_field(out, 5, sample->thread);
    put_field(out, 6, sample->event);
    fprintf(out, ",%" PRIu64 ",%" PRIu64, row->weight, row->count);
    put_field(out, 9, model_end_text((enum model_end)row->end_reason));
    fprintf(out, ",%d", row->stitched);
    put_field(out, 11, samples->stack.text);
    end_record(out);
    return 0;
}

static int write_samples(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    static const char *const titles[] = {"time_ns", "pid",        "tid",      "cpu",
                                         "process", "thread",     "event",    "weight",
                                         "count",   "end_reason", "stitched", "stack_leaf_first"};
    struct samples samples = {.out = out, .dataset = content->dataset};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        put_field(out, i, titles[i]);
    end_record(out);
    const int result = report_each_sample(content, put_sample, &samples, error);
    sprof_str_release(&samples.stack);
    return result;
}

/* == Rows of a statement == */

struct rows {
    FILE *out;
    bool begun;
};

static int put_row(void *context, int columns, char *const *values, char *const *names)
{
    struct rows *rows = context;
    for (int c = 0; !rows->begun && c < columns; c++)
        put_field(rows->out, (size_t)c, names[c]);
    if (!rows->begun)
        end_record(rows->out);
    rows->begun = true;
    for (int c = 0; c < columns; c++)
        put_field(rows->out, (size_t)c, values[c]);
    end_record(rows->out);
    return 0;
}

int report_csv_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct rows rows = {.out = out};
    switch (content->kind) {
    case REPORT_SAMPLES: return write_samples(out, content, error);
    case REPORT_ROWS: return store_query(content->store, content->sql, put_row, &rows, error);
    default: return write_table(out, content->table);
    }
}
