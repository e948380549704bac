/* The samples themselves, in time order. */
#include "report/csv.h"
#include "report/error_text.h"
#include "report/json.h"
#include "report/output_close.h"
#include "report/report.h"
#include "report/select.h"
#include "report/stacks.h"
#include "report/utf8_text.h"

#include <inttypes.h>
#include <string.h>

/* enum unwind_end, in the words the recording itself uses. */
static const char *const end_reasons[] = {
    "root", "truncated", "no-cfi", "bad-memory", "depth-limit", "pending", "no-stack",
};

struct script {
    FILE *out;
    struct stacks stacks;
    size_t left; /* samples still to be written */
    struct json json;
    struct sprof_str line;
};

enum { SCRIPT_FULL = 1 }; /* ends the iteration: enough samples were written */

static const char *end_reason_text(uint8_t reason)
{
    return reason < sizeof end_reasons / sizeof *end_reasons ? end_reasons[reason] : "?";
}

static const char *function_text(const struct stacks *stacks, const struct stacks_frame *frame)
{
    return frame->function ? stacks->functions.items[frame->function - 1] : NULL;
}

static const char *module_text(const struct stacks *stacks, const struct stacks_frame *frame)
{
    return stacks->modules.items[frame->module - 1];
}

/* Calls `put` for every frame of a sample's stack, innermost first, inlined functions too. */
static int each_frame(struct script *script, const struct store_sample_row *row,
                      int (*put)(struct script *, const struct stacks_frame *, bool inlined,
                                 uint64_t address, bool known))
{
    const struct stacks *stacks = &script->stacks;
    const struct stacks_node *node = stacks_node_of(stacks, row->sample.node_id);
    int result = node ? 0 : SPROF_EFORMAT;
    while (node && !result) {
        const struct stacks_frame *frame = &stacks->frames.items[node->frame - 1];
        uint64_t address = frame->file_offset;
        const bool known =
            stacks_address(stacks, frame, row->sample.thread_id, row->sample.time_ns, &address);
        for (; frame && !result;
             frame = frame->outer ? &stacks->frames.items[frame->outer - 1] : NULL)
            result = put(script, frame, frame->outer != 0, address, known);
        node = node->parent ? &stacks->nodes.items[node->parent - 1] : NULL;
    }
    return result;
}

/* ---- Text, as people know it from perf
 * ------------------------------------------------------------ */

static int text_frame(struct script *script, const struct stacks_frame *frame, bool inlined,
                      uint64_t address, bool known)
{
    const char *function = function_text(&script->stacks, frame);
    const char *name = function ? function : "[unknown]";
    const char *module = module_text(&script->stacks, frame);
    if (known)
        fprintf(script->out, "\t%16" PRIx64 " %s (%s)", address, name, module);
    else
        fprintf(script->out, "\t%16s %s (%s+0x%" PRIx64 ")", "-", name, module, address);
    if (frame->file)
        fprintf(script->out, " %s:%" PRIu32, frame->file, frame->line);
    fputs(inlined ? " (inlined)\n" : "\n", script->out);
    return 0;
}

static int text_sample(void *context, const struct store_sample_row *row)
{
    struct script *script = context;
    const struct store_sample *sample = &row->sample;
    const uint64_t time_us = sample->time_ns / 1000;
    sprof_str_clear(&script->line);
    if (report_utf8_clean(&script->line, row->thread ? row->thread : "?"))
        return SPROF_ENOMEM;
    char cpu[16] = "---";
    if (sample->cpu >= 0)
        snprintf(cpu, sizeof cpu, "%03d", sample->cpu);
    fprintf(script->out, "%-15s %5d/%-5d [%s] %5" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " %s: %s%s",
            script->line.text, row->pid, row->tid, cpu, time_us / 1000000, time_us % 1000000,
            sample->weight, row->event ? row->event : "?", end_reason_text(sample->end_reason),
            sample->stitched ? " stitched" : "");
    if (sample->count != 1)
        fprintf(script->out, " × %" PRIu64, sample->count);
    fputc('\n', script->out);
    const int result = each_frame(script, row, text_frame);
    fputc('\n', script->out);
    return result || --script->left ? result : SCRIPT_FULL;
}

/* ---- CSV: a record per sample, its stack as one field
 * ---------------------------------------------- */

static int csv_frame(struct script *script, const struct stacks_frame *frame, bool inlined,
                     uint64_t address, bool known)
{
    (void)inlined, (void)known;
    const char *function = function_text(&script->stacks, frame);
    const int result = sprof_str_append(&script->line, script->line.length ? ";" : "");
    if (result || function)
        return result ? result : sprof_str_append(&script->line, function);
    return sprof_str_appendf(&script->line, "%s+0x%" PRIx64, module_text(&script->stacks, frame),
                             address);
}

static void csv_number(FILE *out, size_t index, uint64_t value)
{
    fprintf(out, "%s%" PRIu64, index ? "," : "", value);
}

static void csv_clean(struct script *script, size_t index, const char *text)
{
    sprof_str_clear(&script->line);
    if (text && !report_utf8_clean(&script->line, text))
        report_csv_field(script->out, index, script->line.text);
    else
        report_csv_field(script->out, index, NULL);
}

static int csv_sample(void *context, const struct store_sample_row *row)
{
    struct script *script = context;
    const struct store_sample *sample = &row->sample;
    csv_number(script->out, 0, sample->time_ns);
    fprintf(script->out, ",%d,%d,%d", row->pid, row->tid, sample->cpu);
    csv_clean(script, 4, row->process);
    csv_clean(script, 5, row->thread);
    csv_clean(script, 6, row->event);
    csv_number(script->out, 7, sample->weight);
    csv_number(script->out, 8, sample->count);
    report_csv_field(script->out, 9, end_reason_text(sample->end_reason));
    csv_number(script->out, 10, sample->stitched);
    sprof_str_clear(&script->line);
    const int result = each_frame(script, row, csv_frame);
    report_csv_field(script->out, 11, script->line.text);
    report_csv_end(script->out);
    return result || --script->left ? result : SCRIPT_FULL;
}

static void csv_titles(FILE *out)
{
    static const char *const titles[] = {"time_ns", "pid",        "tid",      "cpu",
                                         "process", "thread",     "event",    "weight",
                                         "count",   "end_reason", "stitched", "stack_leaf_first"};
    for (size_t i = 0; i < sizeof titles / sizeof *titles; i++)
        report_csv_field(out, i, titles[i]);
    report_csv_end(out);
}

/* ---- JSON: an array of samples
 * --------------------------------------------------------------------- */

static int json_frame(struct script *script, const struct stacks_frame *frame, bool inlined,
                      uint64_t address, bool known)
{
    char number[32];
    snprintf(number, sizeof number, "0x%" PRIx64, address);
    report_json_open_object(&script->json, NULL);
    report_json_text(&script->json, known ? "address" : "module_offset", number);
    report_json_text(&script->json, "function", function_text(&script->stacks, frame));
    report_json_text(&script->json, "module", module_text(&script->stacks, frame));
    if (frame->file) {
        report_json_text(&script->json, "file", frame->file);
        report_json_count(&script->json, "line", frame->line);
    }
    if (inlined)
        report_json_bool(&script->json, "inlined", true);
    report_json_close_object(&script->json);
    return script->json.failed ? SPROF_ENOMEM : 0;
}

static void json_signed(struct json *json, const char *key, int32_t value)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRId32, value);
    report_json_number(json, key, number);
}

static int json_sample(void *context, const struct store_sample_row *row)
{
    struct script *script = context;
    const struct store_sample *sample = &row->sample;
    struct json *json = &script->json;
    report_json_open_object(json, NULL);
    report_json_count(json, "time_ns", sample->time_ns);
    json_signed(json, "pid", row->pid);
    json_signed(json, "tid", row->tid);
    json_signed(json, "cpu", sample->cpu);
    report_json_text(json, "process", row->process);
    report_json_text(json, "thread", row->thread);
    report_json_text(json, "event", row->event);
    report_json_count(json, "weight", sample->weight);
    report_json_count(json, "count", sample->count);
    report_json_text(json, "end_reason", end_reason_text(sample->end_reason));
    report_json_bool(json, "stitched", sample->stitched);
    report_json_open_array(json, "stack");
    const int result = each_frame(script, row, json_frame);
    report_json_close_array(json);
    report_json_close_object(json);
    if (result || json->failed)
        return result ? result : SPROF_ENOMEM;
    return --script->left ? 0 : SCRIPT_FULL;
}

static int write_samples(struct script *script, struct store *store,
                         const struct store_filter *filter, enum report_format format,
                         struct sprof_error *error)
{
    if (format == REPORT_TEXT)
        return store_each_sample(store, filter, text_sample, script, error);
    if (format == REPORT_CSV) {
        csv_titles(script->out);
        return store_each_sample(store, filter, csv_sample, script, error);
    }
    if (report_json_begin(&script->json, script->out))
        return SPROF_ENOMEM;
    report_json_open_array(&script->json, NULL);
    const int result = store_each_sample(store, filter, json_sample, script, error);
    report_json_close_array(&script->json);
    const int ended = report_json_end(&script->json);
    return result ? result : ended;
}

/* Checks run and filters with the same messages as the tables do. */
static int choose(struct store *store, const struct report_script_options *options,
                  uint32_t *run_id, struct sprof_error *error)
{
    const struct report_options selection = {
        .thread = options->thread, .process = options->process, .run_id = options->run_id};
    struct profile profile = {0};
    const int result = profile_select(&profile, store, &selection, error);
    *run_id = profile.run.id;
    profile_release(&profile);
    return result;
}

int report_script(FILE *out, struct store *store, const struct report_script_options *options,
                  struct sprof_error *error)
{
    struct script script = {.out = out, .left = options->limit ? options->limit : (size_t)-1};
    struct store_filter filter = {.thread = options->thread, .process = options->process};
    int result = choose(store, options, &filter.run_id, error);
    if (!result)
        result = stacks_load(&script.stacks, store, filter.run_id, error);
    if (!result)
        result = write_samples(&script, store, &filter, options->format, error);
    stacks_release(&script.stacks);
    sprof_str_release(&script.line);
    return result < 0 ? report_error_code(result, error) : report_output_close(out, error);
}
