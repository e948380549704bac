/* Writes what a page says of each run. */
#include "report/html/page.h"
#include "report/quality.h"
#include "report/utf8_text.h"
#include "report/waits.h"

#include <string.h>
#include <time.h>

static void put_card(struct json *json, const char *value, const char *title, const char *note)
{
    report_json_open_object(json, NULL);
    report_json_text(json, "value", value);
    report_json_text(json, "title", title);
    report_json_text(json, "note", note);
    report_json_close_object(json);
}

/* "in 3.80 s of wall time, 66 % of it" */
static void put_time_card(struct json *json, const struct report_dataset *dataset)
{
    const uint64_t cpu_ns = report_quality_used_ns(dataset), wall_ns = dataset->run.duration_ns;
    char number[NUMBER_BYTES], other[NUMBER_BYTES], note[160];
    if (!wall_ns)
        return;
    report_number_time(number, cpu_ns, report_number_time_unit(cpu_ns));
    report_number_time(other, wall_ns, report_number_time_unit(wall_ns));
    snprintf(note, sizeof note, "%.0f %% of %s of wall time",
             100 * (double)cpu_ns / (double)wall_ns, other);
    put_card(json, number, "CPU time", note);
}

/* The program's own numbers. */
static void put_cards(struct json *json, const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    const size_t threads = dataset->threads.count, processes = dataset->processes.count;
    char number[NUMBER_BYTES], note[160];
    report_json_open_array(json, "cards");
    put_time_card(json, dataset);
    snprintf(note, sizeof note, "in %s process%s", sprof_digits_of(processes).text,
             processes == 1 ? "" : "es");
    if (threads)
        put_card(json, sprof_digits_of(threads).text, threads == 1 ? "thread" : "threads", note);
    const bool calls = report_counts_calls(dataset);
    snprintf(note, sizeof note, "%s%s%s", dataset->event.name ? dataset->event.name : "no event",
             quality->requested_hz > 0 ? ", " : "", report_quality_rate(number, quality));
    if (dataset->counted.coverage.called) { /* mode coverage counts no calls */
        snprintf(note, sizeof note, "%s of %s",
                 sprof_digits_of(dataset->counted.coverage.called).text,
                 sprof_digits_of(dataset->counted.coverage.functions).text);
        put_card(json, note, "functions were called", "");
    } else {
        const bool one = quality->samples == 1;
        put_card(json, sprof_digits_of(quality->samples).text,
                 calls ? (one ? "call" : "calls") : (one ? "sample" : "samples"),
                 calls ? "" : note);
    }
    report_json_close_array(json);
}

/* A statement on how far the numbers can be trusted; a warning where they can be less than usual.
 */
static void put_trust(struct json *json, const char *text, const char *note, bool warn)
{
    report_json_open_object(json, NULL);
    report_json_text(json, "text", text);
    report_json_text(json, "note", note);
    report_json_bool(json, "warn", warn);
    report_json_close_object(json);
}

static void put_share(struct json *json, uint64_t part, uint64_t whole, const char *title,
                      const char *note, unsigned least_percent)
{
    char number[NUMBER_BYTES], text[NUMBER_BYTES + 32];
    if (!whole)
        return;
    snprintf(text, sizeof text, "%s %s", report_number_quality(number, part, whole), title);
    put_trust(json, text, note, report_number_share(part, whole) < least_percent);
}

static void put_trusts(struct json *json, const struct report_dataset *dataset)
{
    const struct store_quality *quality = &dataset->quality;
    const bool calls = report_counts_calls(dataset);
    char number[NUMBER_BYTES], text[NUMBER_BYTES + 32], note[160];
    report_json_open_array(json, "trust");
    snprintf(note, sizeof note, "of %s that were due",
             sprof_digits_of(quality->samples + quality->lost).text);
    snprintf(text, sizeof text, "%s lost", sprof_digits_of(quality->lost).text);
    if (!calls)
        put_trust(json, text, note, quality->lost * 100 > quality->samples);
    snprintf(note, sizeof note, "followed to the thread's root; %s guessed frames",
             sprof_digits_of(quality->guessed_frames).text);
    if (quality->has_user_stacks && !calls)
        put_share(json, quality->whole_stacks, quality->user_stacks, "whole stacks", note, 99);
    put_share(json, quality->named_frames, quality->frames, "named",
              "frames with a name, by symbols or debug information", REPORT_NAMED_PERCENT);
    snprintf(text, sizeof text, "own cost %s", report_quality_own_cost(number, quality));
    if (quality->own_cpu_ns)
        put_trust(json, text, "CPU time of sprof while it recorded",
                  report_quality_is_costly(quality));
    report_json_close_array(json);
}

static void put_fact(struct json *json, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    report_json_open_array(json, NULL);
    report_json_text(json, NULL, name);
    report_json_text(json, NULL, value);
    report_json_close_array(json);
}

static void put_facts(struct json *json, const struct report_dataset *dataset)
{
    const struct store_run *run = &dataset->run;
    char number[NUMBER_BYTES];
    char text[64] = "";
    struct tm local;
    const time_t started = (time_t)(run->start_realtime_ns / 1000000000);
    if (run->start_realtime_ns && localtime_r(&started, &local))
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %z", &local);
    report_json_open_array(json, "facts");
    put_fact(json, "started", text);
    put_fact(json, "host", run->host);
    put_fact(json, "kernel", run->kernel);
    put_fact(json, "processors", run->cpus ? sprof_digits_of(run->cpus).text : NULL);
    put_fact(json, "directory", run->working_directory);
    put_fact(json, "attached to", run->targets);
    put_fact(json, "source", run->source);
    put_fact(json, "kernel not sampled", run->kernel_excluded);
    if (run->stack_bytes)
        put_fact(json, "stack copied", report_number_size(number, run->stack_bytes));
    put_fact(json, "sprof", run->sprof_version);
    report_json_close_array(json);
}

static int put_quality(struct json *json, struct report_dataset *dataset)
{
    struct quality_parts parts = {0};
    if (report_quality_part(dataset, &parts, "%s %s%s",
                            sprof_digits_of(dataset->quality.samples).text,
                            report_counts_calls(dataset) ? "call" : "sample",
                            sprof_plural(dataset->quality.samples)) ||
        report_quality_of_samples(dataset, &parts) || report_quality_notes(dataset, &parts))
        return SPROF_ENOMEM;
    report_json_open_array(json, "quality");
    for (size_t i = 0; i < parts.count; i++)
        report_json_text(json, NULL, parts.items[i]);
    report_json_close_array(json);
    return 0;
}

static void put_processes(struct json *json, const struct report_dataset *dataset)
{
    report_json_open_array(json, "processes");
    for (size_t i = 0; i < dataset->processes.count; i++) {
        const struct report_process *process = &dataset->processes.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "pid", (uint64_t)process->pid);
        if (process->bearer)
            report_json_count(json, "bearer", process->bearer);
        report_json_text(json, "name", process->name);
        report_json_text(json, "command", report_dataset_command(dataset, (uint32_t)i + 1));
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

/* Threads of a run, by their indexes among all threads of the page. What imports call a thread can
 * be several of one name, and so are idle CPUs, and what runs outside a container: number 0. */
static void put_threads(struct html_page *page, const struct report_dataset *dataset,
                        const uint64_t *sampled)
{
    struct json *json = &page->json;
    report_json_open_array(json, "threads");
    for (size_t i = 0; i < dataset->threads.count; i++) {
        const struct report_thread *thread = &dataset->threads.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "process", thread->process - 1 + page->processes);
        report_json_count(json, "tid", (uint64_t)thread->tid);
        report_json_text(json, "name", thread->name);
        report_json_count(json, "samples", sampled[i]);
        report_json_bool(json, "single", thread->tid > 0 && !report_quality_is_imported(dataset));
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

static int put_events(struct html_page *page, struct html_part *part)
{
    struct json *json = &page->json;
    const struct report_dataset *dataset = &part->dataset;
    part->newest_event = page->events;
    report_json_open_array(json, "events");
    for (size_t i = 0; i < dataset->events.count; i++) {
        const struct store_event *event = &dataset->events.items[i];
        /* dataset->weighted includes rows without samples, but is about its own event only. */
        const bool own = event->id == dataset->event.id;
        report_json_open_object(json, NULL);
        const bool varying = event->varying || (own && dataset->weighted);
        report_json_count(json, "run", page->runs);
        report_json_text(json, "name", event->name);
        report_json_bool(json, "clock", event->is_clock);
        report_json_bool(json, "calls", event->unit == STORE_UNIT_CALL);
        report_json_text(json, "base",
                         event->unit == STORE_UNIT_CALL                ? "in probed functions"
                         : model_event_wait(event->name)               ? "without a CPU"
                         : own && report_quality_sees_waiting(dataset) ? "of threads' time"
                                                                       : "of CPU time");
        report_json_bool(json, "varying", varying);
        report_json_text(json, "time",
                         model_event_wait(event->name)            ? "off"
                         : !strcmp(event->name, MODEL_EVENT_WALL) ? ""
                         : report_dataset_is_time(dataset, event) ? "on"
                                                                  : "");
        report_json_close_object(json);
        const struct html_source_event source = {dataset->run.id, event->id, varying,
                                                 event->unit == STORE_UNIT_CALL};
        if (sprof_map_put(&part->events, event->id, page->events++) ||
            sprof_vec_push(&part->source_events, source))
            return SPROF_ENOMEM;
    }
    report_json_close_array(json);
    return 0;
}

/* How many samples each thread of the dataset has, and the last slot that has any. */
static uint64_t *count_samples(const struct html_part *part, uint32_t *slots)
{
    const struct report_slots *all = &part->slots;
    uint64_t *sampled = calloc(part->dataset.threads.count + 1, sizeof *sampled);
    *slots = 1;
    for (size_t i = 0; sampled && i < all->costs.count; i++) {
        const struct report_slot_cost *cost = &all->costs.items[i];
        const struct report_lane *lane = &all->lanes.items[cost->lane];
        if (lane->run != part->dataset.run.id)
            continue;
        const uint32_t thread = report_dataset_number(&part->dataset.numbers.threads, lane->thread);
        if (thread)
            sampled[thread - 1] += cost->cost.samples;
        if (cost->slot >= *slots)
            *slots = cost->slot + 1;
    }
    return sampled;
}

/* "redis-server *:6379 (4242)" of an attached process. */
static void put_names(struct json *json, const struct report_dataset *dataset)
{
    const struct store_run *run = &dataset->run;
    const char *name = run->command ? run->command : run->targets ? run->targets : "recording";
    const char *command =
        !run->command && dataset->processes.count == 1 ? report_dataset_command(dataset, 1) : NULL;
    struct sprof_str text = {0};
    sprof_utf8_clean(&text, command && *command ? command : name);
    while (command && text.length > 3 && !strcmp(text.text + text.length - 3, " ''"))
        text.text[text.length -= 3] = '\0'; /* what a title of setproctitle() leaves of arguments */
    if (command && *command)
        sprof_str_appendf(&text, " (%s)", name);
    report_json_text(json, "name", text.text);
    report_json_text(json, "command", text.text);
    sprof_str_release(&text);
}

/* Which stretches of the run have a mode, a rate or a mark of their own. */
static void put_phases(struct json *json, const struct report_dataset *dataset)
{
    const uint64_t run_end_ns =
        report_dataset_begin_ns(dataset, &dataset->run) + dataset->run.duration_ns;
    report_json_open_array(json, "phases");
    for (size_t i = 0; i < dataset->phases.count; i++) {
        const struct report_phase *phase = &dataset->phases.items[i];
        report_json_open_object(json, NULL);
        report_json_count(json, "number", phase->number);
        report_json_text(json, "mark", phase->mark);
        report_json_count(json, "from", phase->start_ns);
        report_json_count(json, "to", phase->end_ns < run_end_ns ? phase->end_ns : run_end_ns);
        report_json_close_object(json);
    }
    report_json_close_array(json);
}

/* "run 2", of several recordings "new.db, run 2". */
static void put_label(struct html_page *page, const struct html_part *part)
{
    struct sprof_str label = {0};
    if (page->part_count > 1)
        sprof_utf8_clean(&label, part->input->name);
    if (page->part_count == 1 || part->runs.count > 1)
        sprof_str_appendf(&label, "%srun %u", label.length ? ", " : "", part->dataset.run_number);
    report_json_text(&page->json, "label", label.text);
    sprof_str_release(&label);
}

static int put_run(struct html_page *page, struct html_part *part)
{
    struct json *json = &page->json;
    struct report_dataset *dataset = &part->dataset;
    const struct store_run *run = &dataset->run;
    uint32_t slots;
    uint64_t *sampled = count_samples(part, &slots);
    if (!sampled)
        return SPROF_ENOMEM;
    const uint64_t whole = (run->duration_ns + part->slots.slot_ns - 1) / part->slots.slot_ns;
    report_json_open_object(json, NULL);
    put_label(page, part);
    report_json_count(json, "part", (uint64_t)(part - page->parts));
    report_json_count(json, "number", dataset->run_number);
    put_names(json, dataset);
    report_json_text(json, "mode", run->mode);
    report_json_text(json, "frame", run->frame);
    report_json_text(json, "interior", run->app_interior);
    report_json_count(json, "slots", whole > slots ? whole : slots);
    report_json_count(json, "slotNs", part->slots.slot_ns);
    report_json_count(json, "durationNs", run->duration_ns);
    report_json_count(json, "cpuNs", report_quality_used_ns(dataset));
    report_json_count(json, "samples", dataset->quality.samples);
    report_json_text(json, "empty", report_quality_empty(dataset));
    report_json_bool(json, "allTime", report_dataset_is_by_looks(dataset));
    int result = put_quality(json, dataset);
    put_cards(json, dataset);
    put_trusts(json, dataset);
    put_facts(json, dataset);
    put_phases(json, dataset);
    put_processes(json, dataset);
    if (!result)
        result = put_events(page, part);
    put_threads(page, dataset, sampled);
    report_json_close_object(json);
    free(sampled);
    return result;
}

/* Finds the threads of the run's lanes in the page. */
static int index_threads(const struct html_page *page, struct html_part *part)
{
    for (size_t i = 0; i < part->slots.lanes.count; i++) {
        const struct report_lane *lane = &part->slots.lanes.items[i];
        const uint32_t number = report_dataset_number(&part->dataset.numbers.threads, lane->thread);
        if (lane->run == part->dataset.run.id && number &&
            sprof_map_put(&part->threads, lane->thread, page->threads + number - 1))
            return SPROF_ENOMEM;
    }
    return 0;
}

/* Without waits for work, which the page leaves out, too. */
static int sum_up_waits(struct html_page *page, struct html_part *part,
                        const struct report_selection *selection)
{
    struct report_selection working = *selection;
    working.fold_idle = true;
    return report_waits_sum_up(&part->dataset, part->input->store, &working, page->error);
}

int report_html_runs(struct html_page *page, struct html_part *part)
{
    for (size_t i = 0; i < part->runs.count; i++) {
        const struct report_selection selection = {.run_id = part->runs.items[i],
                                                   .parts_apart = page->options->parts_apart};
        report_dataset_release(&part->dataset);
        int result =
            report_dataset_load(&part->dataset, part->input->store, &selection, 0, page->error);
        if (!result)
            result = sum_up_waits(page, part, &selection);
        if (!result)
            result = index_threads(page, part);
        if (!result)
            result = put_run(page, part);
        if (result)
            return result;
        page->runs++;
        page->threads += part->dataset.threads.count;
        page->processes += part->dataset.processes.count;
    }
    return 0;
}
