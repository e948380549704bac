/* Writes recordings as one HTML page that holds all it needs and loads nothing. */
#include "report/html/page.h"
#include "report/error_text.h"
#include "report/output_close.h"

#include <string.h>

/* A page of this size answers a click within a tenth of a second, and has at most 6 MB. */
enum { PATHS_MOST = 200 * 1000, COSTS_MOST = 600 * 1000 };

static void put_pruned(struct html_page *page)
{
    char text[256] = "";
    size_t folded = 0;
    for (size_t i = 0; i < page->part_count; i++)
        folded += page->parts[i].slots.folded;
    if (folded)
        snprintf(text, sizeof text,
                 "To keep the page small, %s rare call paths are folded: [pruned] stands for the "
                 "frames between their callers and the function they end in. All sums stay exact.",
                 sprof_digits_of(folded).text);
    report_json_text(&page->json, "pruned", text);
}

static int put_sources(struct html_page *page)
{
    int result = 0;
    report_json_open_array(&page->json, "sources");
    for (struct html_part *part = page->parts;
         part < page->parts + page->part_count && !result && !page->options->no_source; part++) {
        const struct html_source_request request = {
            .store = part->input->store,
            .dataset = &part->dataset,
            .events = part->source_events.items,
            .event_count = part->source_events.count,
            .first_function = (uint32_t)part->first_function,
            .directory = page->options->source_directory,
        };
        result = report_html_source(&page->json, &request, page->error);
    }
    report_json_close_array(&page->json);
    return result;
}

static int put_header(struct html_page *page, struct html_columns *columns)
{
    int result = 0;
    report_json_open_object(&page->json, NULL);
    report_json_open_array(&page->json, "runs");
    for (size_t i = 0; i < page->part_count && !result; i++) {
        result = report_html_runs(page, &page->parts[i]);
        if (!result)
            result = report_slots_join(&page->parts[i].slots, &page->parts[i].dataset);
        if (!result)
            result = report_html_add_functions(&page->parts[i]);
    }
    report_json_close_array(&page->json);
    report_html_counts(page);
    if (!result)
        result = report_html_shorten(page);
    if (!result)
        result = report_html_columns(page, columns);
    if (!result)
        result = report_html_names(page);
    if (!result)
        result = report_html_calls(page);
    if (!result)
        result = report_html_coverage(page);
    if (!result)
        result = report_html_single_calls(page, columns);
    if (!result)
        result = report_html_drills(page);
    if (!result)
        result = report_html_waits(page);
    if (!result)
        result = report_html_differences(page);
    if (!result)
        result = report_html_lines(page);
    put_pruned(page);
    if (!result)
        result = put_sources(page);
    report_json_close_object(&page->json);
    return result || !columns->failed ? result : SPROF_ENOMEM;
}

/* Writes the frame of the page with its parts in their places. */
static int put_page(FILE *out, const char *header, size_t header_size,
                    const struct html_columns *columns)
{
    const char *rest = (const char *)report_html_page;
    for (const char *at; (at = strchr(rest, '@')); rest = strchr(at + 1, '@') + 1) {
        int result = 0;
        fwrite(rest, 1, (size_t)(at - rest), out);
        if (!strncmp(at, "@STYLE@", 7))
            fputs((const char *)report_html_style, out);
        else if (!strncmp(at, "@SCRIPT@", 8))
            fputs((const char *)report_html_script, out);
        else if (!strncmp(at, "@HEADER@", 8))
            result = report_html_packed(out, header, header_size);
        else
            result = report_html_packed(out, columns->bytes.items, columns->bytes.count);
        if (result)
            return result;
    }
    fputs(rest, out);
    return 0;
}

static int take_run(void *context, const struct store_run *row)
{
    struct html_part *part = context;
    return sprof_vec_push(&part->runs, row->id);
}

static int load(const struct html_page *page, struct html_part *part)
{
    const struct report_slots_limits limits = {.paths = PATHS_MOST / page->part_count,
                                               .costs = COSTS_MOST / page->part_count,
                                               .idle = &part->idle};
    int result = store_each_run(part->input->store, take_run, part, page->error);
    if (!result && !part->runs.count)
        result = sprof_error_set(page->error, SPROF_ENOTFOUND, 0, "the recording holds no run");
    if (!result)
        result = report_html_find_idle(part, page->error);
    if (result)
        return result;
    return report_slots_load(&part->slots, part->input->store, &limits, page->error);
}

static int write_page(struct html_page *page, FILE *out)
{
    char *header = NULL;
    size_t size = 0;
    struct html_columns columns = {0};
    FILE *memory = open_memstream(&header, &size);
    if (!memory)
        return SPROF_ENOMEM;
    int result = report_json_begin(&page->json, memory);
    if (!result) {
        result = put_header(page, &columns);
        const int ended = report_json_end(&page->json);
        result = result ? result : ended;
    }
    if (fclose(memory) && !result)
        result = SPROF_ENOMEM;
    if (!result)
        result = put_page(out, header, size, &columns);
    free(header);
    sprof_vec_release(&columns.bytes);
    return result;
}

static void release(struct html_page *page)
{
    for (size_t i = 0; page->parts && i < page->part_count; i++) {
        struct html_part *part = &page->parts[i];
        report_dataset_release(&part->dataset);
        report_slots_release(&part->slots);
        sprof_map_release(&part->events);
        sprof_map_release(&part->threads);
        sprof_map_release(&part->idle);
        sprof_vec_release(&part->runs);
        sprof_vec_release(&part->source_events);
    }
    free(page->parts);
    free(page->shown);
    sprof_map_release(&page->files);
    sprof_vec_release(&page->file_names);
}

int report_html(FILE *out, const struct report_html_input *inputs, size_t count,
                const struct report_html_options *options, struct sprof_error *error)
{
    struct html_page page = {.options = options, .error = error, .part_count = count};
    page.parts = calloc(count + 1, sizeof *page.parts);
    int result = page.parts && count ? 0 : SPROF_ENOMEM;
    for (size_t i = 0; i < count && !result; i++) {
        page.parts[i].input = &inputs[i];
        result = load(&page, &page.parts[i]);
    }
    if (!result)
        result = write_page(&page, out);
    release(&page);
    return result ? report_error_code(result, error) : report_output_close(out, error);
}
