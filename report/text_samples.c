/* Samples as text, in the form people know from perf. */
#include "report/format.h"

#include <inttypes.h>

struct samples {
    FILE *out;
    const struct report_dataset *dataset;
};

static void put_place(FILE *out, const struct report_place *place)
{
    const char *function = place->function ? place->function : "[unknown]";
    if (place->address_known)
        fprintf(out, "\t%16" PRIx64 " %s (%s)", place->address, function, place->module);
    else
        fprintf(out, "\t%16s %s (%s+0x%" PRIx64 ")", "-", function, place->module, place->address);
    if (place->file)
        fprintf(out, " %s:%" PRIu32, place->file, place->line);
    fputs(place->inlined ? " (inlined)\n" : "\n", out);
}

static int put_sample(void *context, const struct report_sample *sample)
{
    struct samples *samples = context;
    FILE *out = samples->out;
    const struct store_sample *row = &sample->row->sample;
    const uint64_t time_us = row->time_ns / 1000;
    char cpu[16] = "---";
    if (row->cpu >= 0)
        snprintf(cpu, sizeof cpu, "%03d", row->cpu);
    fprintf(out, "%-15s %5d/%-5d [%s] %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " %s: %s%s",
            sample->thread, sample->row->pid, sample->row->tid, cpu, time_us / 1000000,
            time_us % 1000000, row->weight, sample->event,
            model_end_text((enum model_end)row->end_reason), row->stitched ? " stitched" : "");
    if (row->count != 1)
        fprintf(out, " × %" PRIu64, row->count);
    fputc('\n', out);
    for (size_t i = 0; i < sample->stack->frames.count; i++) {
        const struct report_place place = report_sample_place(samples->dataset, sample, i);
        put_place(out, &place);
    }
    fputc('\n', out);
    return 0;
}

int report_text_samples(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    struct samples samples = {out, content->dataset};
    return report_each_sample(content, put_sample, &samples, error);
}
