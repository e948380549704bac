/* Writes what ended the waits of threads, and finds waits for work, which the page leaves out. */
#include "report/html/page.h"

#include <stdlib.h>

enum { WAKES_MOST = 2000 }; /* of a run, the longest waits: more lines than a picture can show */

/* == Waits for work == */

static int find_idle_of_run(struct html_part *part, uint32_t run_id, struct sprof_error *error)
{
    struct report_dataset dataset = {0};
    const struct report_selection selection = {
        .run_id = run_id, .event = MODEL_EVENT_ON_AND_OFF, .fold_idle = true};
    struct sprof_error none = {0};
    int result = report_dataset_load(&dataset, part->input->store, &selection, 0, &none);
    const bool has_none = result == SPROF_ENOTFOUND; /* it measured no waits */
    for (size_t i = 0; i < dataset.idle.places.count && !result; i++) {
        const struct report_idle_place *place = &dataset.idle.places.items[i];
        result = sprof_map_put(&part->idle,
                               report_slots_idle_key(place->event, place->thread, place->path), 1);
    }
    report_dataset_release(&dataset);
    if (result && !has_none)
        *error = none;
    return has_none ? 0 : result;
}

int report_html_find_idle(struct html_part *part, struct sprof_error *error)
{
    int result = 0;
    for (size_t i = 0; i < part->runs.count && !result; i++)
        result = find_idle_of_run(part, part->runs.items[i], error);
    return result;
}

/* == What ended waits == */

struct wakes {
    struct json *json;
    const struct html_part *part;
    uint64_t shown;
};

/* [thread, when it was woken, when it ran again, the thread that woke it or -1], times in ns. */
static int put_wake(void *context, int columns, char *const *values, char *const *names)
{
    struct wakes *wakes = context;
    (void)names;
    if (columns != 4 || !values[0] || !values[1] || !values[2])
        return SPROF_EFORMAT;
    const struct sprof_map *threads = &wakes->part->threads;
    const uint64_t *thread = sprof_map_get(threads, strtoull(values[0], NULL, 10));
    const uint64_t *waker =
        values[3] ? sprof_map_get(threads, strtoull(values[3], NULL, 10)) : NULL;
    if (!thread)
        return 0;
    report_json_open_array(wakes->json, NULL);
    report_json_count(wakes->json, NULL, *thread);
    report_json_count(wakes->json, NULL, strtoull(values[1], NULL, 10));
    report_json_count(wakes->json, NULL, strtoull(values[2], NULL, 10));
    if (waker)
        report_json_count(wakes->json, NULL, *waker);
    report_json_close_array(wakes->json);
    wakes->shown++;
    return 0;
}

static int put_wakes(struct html_page *page, const struct html_part *part, uint32_t run_id,
                     uint64_t *shown)
{
    struct wakes wakes = {.json = &page->json, .part = part};
    char sql[400];
    snprintf(sql, sizeof sql,
             "SELECT w.thread_id, w.woken_ns, w.time_ns, w.waker_thread_id FROM wake w "
             "JOIN sample s ON s.run_id = w.run_id AND s.thread_id = w.thread_id "
             "AND s.time_ns = w.time_ns WHERE w.run_id = %u GROUP BY w.id "
             "ORDER BY sum(s.weight) DESC LIMIT %d",
             run_id, WAKES_MOST);
    report_json_open_array(&page->json, "wakes");
    const int result = store_query(part->input->store, sql, put_wake, &wakes, page->error);
    report_json_close_array(&page->json);
    *shown = wakes.shown;
    return result;
}

static int put_run(struct html_page *page, const struct html_part *part, uint32_t run_id,
                   size_t run)
{
    uint64_t shown = 0;
    report_json_open_object(&page->json, NULL);
    report_json_count(&page->json, "run", run);
    int result = put_wakes(page, part, run_id, &shown);
    struct report_request request = {.selection = {.run_id = run_id, .event = MODEL_EVENT_OFF_CPU},
                                     .table = {.view = REPORT_WAKERS, .limit = WAKES_MOST}};
    if (!result && shown)
        result = report_html_report(page, part, "wakers", &request);
    request.table.view = REPORT_CHAINS;
    if (!result && shown)
        result = report_html_report(page, part, "chains", &request);
    report_json_close_object(&page->json);
    return result;
}

int report_html_waits(struct html_page *page)
{
    size_t run = 0;
    int result = 0;
    report_json_open_array(&page->json, "waits");
    for (size_t i = 0; i < page->part_count && !result; i++)
        for (size_t k = 0; k < page->parts[i].runs.count && !result; k++)
            result = put_run(page, &page->parts[i], page->parts[i].runs.items[k], run++);
    report_json_close_array(&page->json);
    return result;
}
