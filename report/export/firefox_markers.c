/* Calls that were logged or kept as markers of the Firefox Profiler: a row of its marker chart for
 * each function; in the tooltip the exit, and the first words of arguments or the rules. */
#include "report/export/firefox_markers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each is some 200 bytes of text, and an object in the browser. */
enum { MOST_MARKERS = 500000 };
enum { INTERVAL = 1, INTERVAL_START = 2 }; /* phases */

static int take_call(void *context, const struct export_call *call)
{
    struct firefox_markers *markers = context;
    const uint64_t kept = call->function_row;
    const uint64_t *function =
        call->kept ? &kept : sprof_map_get(&markers->functions, sprof_hash_text(call->function));
    struct firefox_marker marker = {
        .start_ns = call->start_ns,
        .duration_ns = call->duration_ns,
        .function = function ? (uint32_t)*function : 0,
        .thread = call->thread_row,
    };
    for (int i = 0; i < 6 && call->words[i]; i++)
        marker.words[i] = strtoull(call->words[i], NULL, 16);
    marker.is_logged = !call->kept;
    marker.why = call->why;
    marker.arguments = call->arguments;
    marker.result = call->result;
    marker.beside = call->beside;
    markers->are_logged |= !call->kept;
    markers->have_kept |= call->why != NULL;
    snprintf(marker.exit, sizeof marker.exit, "%s", call->exit);
    if (!marker.function) /* left out of the dataset by what was selected */
        return 0;
    return sprof_vec_push(&markers->items, marker);
}

int firefox_markers_read(struct firefox_markers *markers, const struct report_content *content,
                         struct sprof_error *error)
{
    const struct report_dataset *dataset = content->dataset;
    int result = report_export_calls(content, 0, &markers->calls, take_call, markers, error);
    for (size_t i = 0; i < dataset->functions.count && markers->calls && !result; i++)
        if (sprof_map_put(&markers->functions, sprof_hash_text(dataset->functions.items[i].name),
                          i + 1))
            result = sprof_error_memory(error);
    if (!result && markers->calls)
        result = report_export_calls(content, MOST_MARKERS, NULL, take_call, markers, error);
    return result;
}

void firefox_markers_release(struct firefox_markers *markers)
{
    sprof_vec_release(&markers->items);
    sprof_map_release(&markers->functions);
}

static void put_field(struct json *json, const char *key, const char *label)
{
    report_json_open_object(json, NULL);
    report_json_text(json, "key", key);
    report_json_text(json, "label", label);
    report_json_text(json, "format", "string");
    report_json_close_object(json);
}

void firefox_markers_put_schema(struct json *json, const struct firefox_markers *markers)
{
    const bool are_kept = !markers->are_logged;
    report_json_open_object(json, NULL);
    report_json_text(json, "name", "call");
    report_json_open_array(json, "display");
    report_json_text(json, NULL, "marker-chart");
    report_json_text(json, NULL, "marker-table");
    report_json_close_array(json);
    report_json_text(json, "chartLabel", "{marker.name}");
    report_json_text(json, "tooltipLabel", "{marker.name}");
    report_json_text(json, "tableLabel",
                     are_kept ? "{marker.data.why} {marker.data.exit}"
                              : "{marker.data.words} {marker.data.exit}");
    report_json_open_array(json, "fields");
    put_field(json, "exit", "How it ended");
    if (markers->have_kept) {
        put_field(json, "why", "Why it was kept");
        put_field(json, "arguments", "Arguments");
        put_field(json, "result", "Result");
        put_field(json, "values", "Other values");
    }
    if (markers->are_logged)
        put_field(json, "words", "What was in the registers of arguments");
    report_json_close_array(json);
    report_json_close_object(json);
}

/* == The table of a thread == */

static void put_category(struct json *json, const struct report_dataset *dataset,
                         const struct firefox_marker *marker)
{
    report_json_count(json, NULL,
                      firefox_category(dataset->facts.items[marker->function - 1].kind));
}

static void put_words(struct json *json, const struct firefox_marker *marker)
{
    char words[128];
    size_t length = 0;
    for (int i = 0; i < 6; i++)
        length += (size_t)snprintf(words + length, sizeof words - length, "%s0x%llx", i ? " " : "",
                                   (unsigned long long)marker->words[i]);
    report_json_text(json, "words", words);
}

static void put_data(struct json *json, const struct report_dataset *dataset,
                     const struct firefox_marker *marker)
{
    (void)dataset;
    report_json_open_object(json, NULL);
    report_json_text(json, "type", "call");
    report_json_text(json, "exit", marker->exit);
    if (marker->why)
        report_json_text(json, "why", marker->why);
    if (marker->is_logged)
        put_words(json, marker);
    if (marker->arguments)
        report_json_text(json, "arguments", marker->arguments);
    if (marker->result)
        report_json_text(json, "result", marker->result);
    if (marker->beside)
        report_json_text(json, "values", marker->beside);
    report_json_close_object(json);
}

static void put_end(struct json *json, const struct report_dataset *dataset,
                    const struct firefox_marker *marker)
{
    (void)dataset;
    if (marker->duration_ns)
        report_json_decimal(json, NULL, marker->start_ns + marker->duration_ns, 6);
    else
        report_json_null(json, NULL);
}

/* Names of functions are the first texts of the profile. */
static void put_name(struct json *json, const struct report_dataset *dataset,
                     const struct firefox_marker *marker)
{
    (void)dataset;
    report_json_count(json, NULL, marker->function - 1);
}

static void put_phase(struct json *json, const struct report_dataset *dataset,
                      const struct firefox_marker *marker)
{
    (void)dataset;
    report_json_count(json, NULL, marker->duration_ns ? INTERVAL : INTERVAL_START);
}

static void put_start(struct json *json, const struct report_dataset *dataset,
                      const struct firefox_marker *marker)
{
    (void)dataset;
    report_json_decimal(json, NULL, marker->start_ns, 6);
}

void firefox_markers_put(struct json *json, struct firefox_markers *markers,
                         const struct report_dataset *dataset, uint32_t thread)
{
    static const struct {
        const char *name;
        void (*put)(struct json *, const struct report_dataset *, const struct firefox_marker *);
    } columns[] = {{"category", put_category}, {"data", put_data},   {"endTime", put_end},
                   {"name", put_name},         {"phase", put_phase}, {"startTime", put_start}};
    const struct firefox_marker *items = markers->items.items;
    size_t at = markers->next, count = 0;
    while (at < markers->items.count && items[at].thread != thread)
        at++;
    while (at + count < markers->items.count && items[at + count].thread == items[at].thread)
        count++;
    markers->next = count ? at + count : markers->next;
    report_json_open_object(json, "markers");
    report_json_count(json, "length", count);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        report_json_open_array(json, columns[i].name);
        for (size_t k = 0; k < count; k++)
            columns[i].put(json, dataset, &items[at + k]);
        report_json_close_array(json);
    }
    report_json_close_object(json);
}
