/* Chrome's trace events (JSON, as Perfetto and speedscope read them): a function is a slice from
 * the first sample that shows it to the first that does not. That is an inference: between two
 * samples there is no data. A pause of more than two periods ends all slices. Where stacks have
 * little in common there would be a page of text for each sample, far more than any viewer opens:
 * then only each second, third … sample of a thread is shown, as many as make MOST_SLICES. */
#include "report/error_text.h"
#include "report/export/export.h"
#include "report/json.h"

#include <stdio.h>

/* About 400 MB of text: browsers hold at most 512 MB in one string, and viewers read the file into
 * one. */
enum { MOST_SLICES = 2000000 };

struct drawing {
    struct json json; /* begun once `stride` is known */
    bool counts;      /* only counts slices */
    uint64_t stride;  /* one sample in so many is shown */
    uint64_t slices;
    const struct report_dataset *dataset;
    uint64_t period_ns;
    int32_t pid, tid;
    uint32_t thread;          /* of calls: id of the row of the one that is drawn */
    struct export_chain open; /* what the slices that are open show, root first */
};

static void put_event(struct drawing *drawing, const char *phase, const char *name,
                      uint64_t time_ns)
{
    report_json_open_object(&drawing->json, NULL);
    report_json_text(&drawing->json, "ph", phase);
    if (name)
        report_json_text(&drawing->json, "name", name);
    report_json_text(&drawing->json, "cat", "sample");
    report_json_decimal(&drawing->json, "ts", time_ns, 3);
    report_json_count(&drawing->json, "pid", (uint64_t)drawing->pid);
    report_json_count(&drawing->json, "tid", (uint64_t)drawing->tid);
    report_json_close_object(&drawing->json);
}

static void close_above(struct drawing *drawing, size_t depth, uint64_t time_ns)
{
    while (drawing->open.functions.count > depth) {
        const uint32_t function = drawing->open.functions.items[--drawing->open.functions.count];
        if (!drawing->counts)
            put_event(drawing, "E", report_dataset_function_name(drawing->dataset, function),
                      time_ns);
    }
}

/* Ends the slices that a sample does not show, and begins those that it shows first. */
static int draw_sample(struct drawing *drawing, const struct export_sample *sample,
                       struct export_chain *chain)
{
    int result = report_export_chain(drawing->dataset, sample->path, chain);
    size_t same = 0;
    if (result)
        return result;
    while (same < chain->functions.count && same < drawing->open.functions.count &&
           chain->functions.items[same] == drawing->open.functions.items[same])
        same++;
    close_above(drawing, same, sample->time_ns);
    drawing->slices += chain->functions.count - same;
    for (; same < chain->functions.count && !result; same++) {
        const uint32_t function = chain->functions.items[same];
        result = sprof_vec_push(&drawing->open.functions, function);
        if (!drawing->counts)
            put_event(drawing, "B", report_dataset_function_name(drawing->dataset, function),
                      sample->time_ns);
    }
    return result;
}

static int draw_thread(struct drawing *drawing, const struct export_thread *thread)
{
    struct export_chain chain = {0};
    uint64_t last_ns = 0, since_drawn = 0;
    int result = 0;
    struct export_cursor cursor = {0};
    const struct export_sample *sample = &cursor.sample;
    while (!result && report_export_next(thread, &cursor)) {
        if (sample->time_ns > last_ns + 2 * drawing->period_ns)
            close_above(drawing, 0, last_ns + drawing->period_ns);
        last_ns = sample->time_ns;
        if (since_drawn == 0)
            result = draw_sample(drawing, sample, &chain);
        since_drawn = (since_drawn + 1) % drawing->stride;
    }
    close_above(drawing, 0, last_ns + drawing->period_ns);
    sprof_vec_release(&chain.functions);
    return result;
}

/* Finds the stride that keeps the slices below their limit; the first sample of a thread is shown
 * in any case. */
static int choose_stride(struct drawing *drawing, const struct export_threads *threads)
{
    uint64_t longest = 1;
    int result = 0;
    for (size_t i = 0; i < threads->count; i++)
        longest = threads->items[i].count > longest ? threads->items[i].count : longest;
    drawing->counts = true;
    drawing->stride = 1;
    for (;;) {
        drawing->slices = 0;
        for (size_t i = 0; i < threads->count && !result; i++)
            result = draw_thread(drawing, &threads->items[i]);
        if (result || drawing->slices <= MOST_SLICES || drawing->stride >= longest)
            break;
        drawing->stride *= 1 + drawing->slices / MOST_SLICES;
    }
    drawing->counts = false;
    return result;
}

/* The format has numbers alone: of the next process that bears one, behind all that the kernel
 * gives. */
static int32_t number_of(const struct report_process *process)
{
    enum { PID_MAX_LIMIT = 1 << 22, BEARERS = 256 };
    return process->pid + (int32_t)(process->bearer % BEARERS) * PID_MAX_LIMIT;
}

static void put_name(struct drawing *drawing, const char *kind, const char *name)
{
    report_json_open_object(&drawing->json, NULL);
    report_json_text(&drawing->json, "ph", "M");
    report_json_text(&drawing->json, "name", kind);
    report_json_count(&drawing->json, "pid", (uint64_t)drawing->pid);
    report_json_count(&drawing->json, "tid", (uint64_t)drawing->tid);
    report_json_open_object(&drawing->json, "args");
    report_json_text(&drawing->json, "name", name ? name : "?");
    report_json_close_object(&drawing->json);
    report_json_close_object(&drawing->json);
}

/* Its true number stands in the name where it is not the one of the format. */
static void put_process_name(struct drawing *drawing, const struct report_process *process)
{
    const char *name = process->name ? process->name : "?";
    struct sprof_str text = {0};
    if (process->bearer)
        sprof_str_appendf(&text, "%s (%s)", name, report_export_number(process->pid, process).text);
    put_name(drawing, "process_name", text.text ? text.text : name);
    sprof_str_release(&text);
}

/* Of clocks the period, of other events what lies between two samples at the rate reached. */
static uint64_t period_of(const struct report_dataset *dataset)
{
    if (dataset->event.is_clock && dataset->event.period)
        return dataset->event.period;
    const double hz = dataset->quality.reached_hz > 0 ? dataset->quality.reached_hz : 1000;
    return (uint64_t)(1e9 / hz);
}

/* == Calls that were logged or kept: nothing is inferred == */

static void begin_call_thread(struct drawing *drawing, const struct export_call *call)
{
    const struct report_dataset *dataset = drawing->dataset;
    const uint32_t thread = report_dataset_number(&dataset->numbers.threads, call->thread_row);
    drawing->thread = call->thread_row;
    drawing->pid =
        thread
            ? number_of(&dataset->processes.items[dataset->threads.items[thread - 1].process - 1])
            : call->pid;
    drawing->tid = call->tid;
    put_name(drawing, "thread_name", call->thread);
}

static void put_arguments(struct json *json, const struct export_call *call)
{
    static const char *const keys[] = {"word1", "word2", "word3", "word4", "word5", "word6"};
    report_json_open_object(json, "args");
    report_json_text(json, "exit", call->exit);
    for (size_t i = 0; i < 6; i++)
        if (call->words[i])
            report_json_text(json, keys[i], call->words[i]);
    if (call->has_states) {
        report_json_count(json, "running_ns", call->running_ns);
        report_json_count(json, "waiting_ns", call->waiting_ns);
        report_json_count(json, "ready_ns", call->ready_ns);
    }
    if (call->why)
        report_json_text(json, "why", call->why);
    if (call->kept) {
        const struct report_kept_call *kept = call->kept->call;
        report_json_count(json, "id", kept->number);
        report_json_count(json, "caller_id", kept->caller);
        report_json_count(json, "duration_ns", kept->duration_ns);
        report_json_count(json, "self_ns", kept->self_ns);
        report_json_bool(json, "suspended", kept->is_apart);
        if (kept->request)
            report_json_count(json, "request", kept->request);
    }
    if (call->arguments)
        report_json_text(json, "arguments", call->arguments);
    if (call->result)
        report_json_text(json, "result", call->result);
    if (call->beside)
        report_json_text(json, "values", call->beside);
    report_json_close_object(json);
}

/* A slice; or the beginning or end of one that need not lie in others (phases b and e). */
static void put_slice(struct drawing *drawing, const struct export_call *call, const char *phase)
{
    struct json *json = &drawing->json;
    const bool is_end = *phase == 'e';
    report_json_open_object(json, NULL);
    report_json_text(json, "ph", phase);
    report_json_text(json, "name", call->function);
    report_json_text(json, "cat", "call");
    report_json_decimal(json, "ts", call->start_ns + (is_end ? call->duration_ns : 0), 3);
    if (*phase == 'X')
        report_json_decimal(json, "dur", call->duration_ns, 3);
    if (*phase == 'b' || is_end)
        report_json_count(json, "id", call->kept->call->number);
    report_json_count(json, "pid", (uint64_t)drawing->pid);
    report_json_count(json, "tid", (uint64_t)call->tid);
    if (!is_end)
        put_arguments(json, call);
    report_json_close_object(json);
}

/* A call whose coroutine was suspended lasts longer than the one that it was called in. */
static int put_call(void *context, const struct export_call *call)
{
    struct drawing *drawing = context;
    const bool is_apart = call->kept && call->kept->call->is_apart && call->duration_ns;
    if (drawing->thread != call->thread_row)
        begin_call_thread(drawing, call);
    put_slice(drawing, call, is_apart ? "b" : call->duration_ns ? "X" : "B");
    if (is_apart)
        put_slice(drawing, call, "e");
    return 0;
}

static int write_calls(FILE *out, const struct report_content *content, uint64_t count,
                       struct sprof_error *error)
{
    struct drawing drawing = {.dataset = content->dataset};
    int result = report_json_begin_dense(&drawing.json, out);
    if (result)
        return result;
    report_json_open_object(&drawing.json, NULL);
    report_json_text(&drawing.json, "displayTimeUnit", "ns");
    report_json_open_object(&drawing.json, "otherData");
    report_json_text(&drawing.json, "command", report_export_title(content->dataset));
    report_json_count(&drawing.json, "calls", count);
    report_json_count(&drawing.json, "calls_shown", count < MOST_SLICES ? count : MOST_SLICES);
    report_json_close_object(&drawing.json);
    report_json_open_array(&drawing.json, "traceEvents");
    result = report_export_calls(content, MOST_SLICES, NULL, put_call, &drawing, error);
    report_json_close_array(&drawing.json);
    report_json_close_object(&drawing.json);
    const int ended = report_json_end(&drawing.json);
    return result ? result : ended;
}

int report_chrome_write(FILE *out, const struct report_content *content, struct sprof_error *error)
{
    const struct report_dataset *dataset = content->dataset;
    uint64_t calls = 0;
    int known = report_export_calls(content, 0, &calls, put_call, NULL, error);
    if (known || calls)
        return known ? known : write_calls(out, content, calls, error);
    if (report_counts_calls(dataset))
        return report_error_counted(dataset, error);
    struct drawing drawing = {.dataset = dataset, .period_ns = period_of(dataset)};
    struct export_threads threads = {0};
    int result = report_export_threads(content, &threads, error);
    if (!result)
        result = choose_stride(&drawing, &threads);
    if (!result)
        result = report_json_begin_dense(&drawing.json, out);
    if (!result) {
        report_json_open_object(&drawing.json, NULL);
        report_json_text(&drawing.json, "displayTimeUnit", "ns");
        report_json_open_object(&drawing.json, "otherData");
        report_json_text(&drawing.json, "command", report_export_title(dataset));
        report_json_text(&drawing.json, "note",
                         "made from samples: a slice lasts from the first sample that shows the "
                         "function to the first that does not");
        report_json_count(&drawing.json, "one_sample_shown_in", drawing.stride);
        report_json_close_object(&drawing.json);
        report_json_open_array(&drawing.json, "traceEvents");
        for (size_t i = 0; i < threads.count && !result; i++) {
            const struct report_thread *thread = &dataset->threads.items[i];
            const struct report_process *process = &dataset->processes.items[thread->process - 1];
            if (!threads.items[i].count)
                continue;
            drawing.pid = number_of(process);
            drawing.tid = thread->tid;
            put_process_name(&drawing, process);
            put_name(&drawing, "thread_name", thread->name ? thread->name : process->name);
            result = draw_thread(&drawing, &threads.items[i]);
        }
        report_json_close_array(&drawing.json);
        report_json_close_object(&drawing.json);
        const int ended = report_json_end(&drawing.json);
        result = result ? result : ended;
    }
    sprof_vec_release(&drawing.open.functions);
    report_export_threads_release(&threads);
    return result;
}
